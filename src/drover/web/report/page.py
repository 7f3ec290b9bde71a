"""The page: its sections in order, each a template.

Rule 1: everything is in one file, which fetches, runs and sends nothing. Rule 2: a section that has nothing to show
says so and stays, because readers look for it. Only the section on queries is left out if none was ever submitted.
"""

from __future__ import annotations

from typing import Final

from drover.web.report import network, sections
from drover.web.report.model import ReportModel
from drover.web.report.summary import growth_sentence, query_sentence, summary_sentences
from drover.web.templates import content_policy, render, style_sheet

# Title: template in templates/report/, without its suffix. The template gets `report`, `sections` and `limits`.
SECTIONS: Final = {
    "Node loads": "loads",
    "Batch time": "batches",
    "Replication": "replication",
    "Headroom": "headroom",
    "Network": "network",
    "Units": "units",
    "Moves": "moves",
    "Refusals": "refusals",
    "Settings": "settings",
}
QUERIES: Final = {"Queries": "queries"}
# Rows of each table; a longer one is cut at its least important end, and says so.
LIMITS: Final = {
    "units": 500,
    "changes": 200,
    "moves": 20,  # of one change
    "refusals": 200,
    "families": 50,
    "queries": 100,
    "parked": 100,
    "operators": network.MOST_OPERATORS,
}


def render_page(report: ReportModel) -> str:
    """Return the report as the text of an HTML file."""
    name = report.files.name or "an unnamed network"
    style = style_sheet("chart.css", "page.css")
    return render(
        "report.html.j2",
        title=f"drover report: {name}",
        heading=f"Report on {name}",
        style=style,
        policy=content_policy(style),
        contents=SECTIONS if report.queries is None else SECTIONS | QUERIES,
        report=report,
        sentences=summary_sentences(report),
        growth_sentence=growth_sentence,
        query_sentence=query_sentence,
        draw_network=network.draw_network,
        sections=sections,
        limits=LIMITS,
    )
