"""`drover report`: an HTML page about a run, made from its checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import click

from drover.errors import visible
from drover.network.files.disk import write_text


@click.command()
@click.argument("checkpoint")
@click.option("--out", default="report.html", show_default=True, metavar="FILE", help="Write the page to FILE.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Show the last N periods only.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def report(checkpoint: str, out: str, last: int | None, as_json: bool) -> None:
    """Write a report on the run in CHECKPOINT as one HTML file, and print its path.

    CHECKPOINT is the checkpoint directory of a run, stopped or running. The page shows node loads and batch times over
    time, the network with its placement, every move and refusal with its reason, replication, headroom, settings and
    submitted queries. It opens in any browser, without network access or scripts. If the checkpoint lacks something,
    the command says so and shows the rest.

    \b
      drover report /data/traffic
      drover report /data/traffic --last 600 --out traffic.html
    """  # noqa: D301 - click wants the character itself
    from drover.web.report import build_report, read_run, render_page, summary_data  # noqa: PLC0415 - placement takes a second

    found = build_report(read_run(checkpoint, last))
    write_text(out, render_page(found))
    where = str(Path(out).absolute())
    if as_json:
        click.echo(json.dumps({"report": where, **summary_data(found)}, indent=2))
        return
    for each in found.missing:
        click.echo(f"not shown, or only in part: {visible(each)}", err=True)
    click.echo(visible(where, len(where)))
