"""The page: sections in order, each a function of the story.

Rule 1: everything is in one file, and nothing in it is fetched, run or sent. Rule 2: a section that has nothing to show
says so, and stays: a reader looks for it. Submitted queries alone, which many runs never have, have none then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from drover.web.report.colours import STYLE, policy
from drover.web.report.drawing import MOST, draw_network
from drover.web.report.figures import count
from drover.web.report.lists import headroom, moves, refusals, settings, units
from drover.web.report.markup import Content, Markup, element
from drover.web.report.measured import batch_time, node_loads, replication
from drover.web.report.queries import queries
from drover.web.report.story import Story
from drover.web.report.summary import sentences
from drover.web.report.tables import region

Section = Callable[[Story], Content]


def network(story: Story) -> Content:
    """Return the drawing of the network."""
    given = story.material.network
    if given is None:
        return element("p", "The checkpoint does not say what the network is, so it cannot be drawn.")
    if len(given.operators) > MOST:
        return element(
            "p", f"{count(len(given.operators), 'operator')} are too many for a drawing here; see the table of units."
        )
    legend = (
        "Colour and words: the node of each operator, and its load (of an operator that shares a unit, the load of the "
        "whole unit). Thick lines lead to another node. A double left edge means state; dashed lines lead from and to "
        "tables."
    )
    return element(
        "figure", region("Network with its placement", draw_network(story, given)), element("figcaption", legend)
    )


SECTIONS: Final[Mapping[str, Section]] = {
    "Node loads": node_loads,
    "Batch time": batch_time,
    "Replication": replication,
    "Headroom": headroom,
    "Network": network,
    "Units": units,
    "Moves": moves,
    "Refusals": refusals,
    "Settings": settings,
}


def sections_of(story: Story) -> Mapping[str, Section]:
    """Return the sections of a report."""
    herds = story.herds
    return SECTIONS if herds is None else {**SECTIONS, "Queries": lambda _: queries(herds)}


def page(story: Story) -> str:
    """Return the report as the text of an HTML file."""
    name = story.material.name or "a network without a name"
    head = element(
        "head",
        Markup('<meta charset="utf-8"/>'),
        element("meta", http_equiv="Content-Security-Policy", content=Markup(policy())),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"drover report: {name}"),
        Markup(f"<style>{STYLE}</style>"),
    )
    body = element(
        "body",
        element("a", "Skip to the summary", href="#summary", class_="skip"),
        element("header", element("h1", f"Report on {name}"), _origin(story), _contents(story)),
        element("main", _summary(story), _sections(story)),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{_broken(head)}\n{_broken(body)}</html>\n'


def _origin(story: Story) -> Markup:
    written = story.material.written
    when = "" if written is None else f", last written {written:%Y-%m-%d %H:%M:%S} UTC"
    return element("p", f"From the checkpoint {story.material.place}{when}.", class_="soft")


def _id(title: str) -> str:
    return title.lower().replace(" ", "-")


def _contents(story: Story) -> Markup:
    links = (element("li", element("a", title, href=f"#{_id(title)}")) for title in ("Summary", *sections_of(story)))
    return element("nav", element("ul", links), aria_label="Sections")


def _summary(story: Story) -> Markup:
    missing = (
        element(
            "div",
            element("h3", "Not shown, or only in part"),
            element("ul", (element("li", each) for each in story.missing)),
            class_="notice",
        )
        if story.missing
        else ()
    )
    lead = element("ul", (element("li", sentence) for sentence in sentences(story)), class_="lead")
    return element("section", element("h2", "Summary", id="summary"), lead, missing, aria_labelledby="summary")


def _sections(story: Story) -> Iterator[Markup]:
    for title, section in sections_of(story).items():
        heading = element("h2", title, id=_id(title))
        yield element("section", heading, section(story), aria_labelledby=_id(title))


def _broken(markup: str) -> str:
    """Return markup with line breaks where they change nothing, so that people can compare two reports."""
    for tag in ("section", "tr", "figure", "p", "h2", "li", "path", "g", "rect", "text"):
        markup = markup.replace(f"<{tag} ", f"\n<{tag} ").replace(f"<{tag}>", f"\n<{tag}>")
    return markup
