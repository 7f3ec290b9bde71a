"""`drover report`: a page about a run, made from its checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import click

from drover.errors import visible
from drover.network.files.disk import write_text


@click.command()
@click.argument("checkpoint")
@click.option("--out", default="report.html", show_default=True, metavar="FILE", help="Write the page to FILE.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Tell of the last N periods only.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def report(checkpoint: str, out: str, last: int | None, as_json: bool) -> None:
    """Write a report on the run in CHECKPOINT as one HTML file, and print its path.

    CHECKPOINT is the checkpoint directory of a run, which may be running. The page has node loads and batch times over
    time, the network with its placement, every move and refusal with its reason, replication, headroom and settings,
    and submitted queries. It needs no network and no script, and opens in any browser. What the checkpoint lacks is
    said; the rest is shown.

    \b
      drover report /data/traffic
      drover report /data/traffic --last 600 --out traffic.html
    """  # noqa: D301 - click wants the character itself
    from drover.web.report import as_data, page, read, story_of  # noqa: PLC0415 - placement takes a second

    story = story_of(read(checkpoint, last))
    write_text(out, page(story))
    where = str(Path(out).absolute())
    if as_json:
        click.echo(json.dumps({"report": where, **as_data(story)}, indent=2))
        return
    for each in story.missing:
        click.echo(f"not shown, or only in part: {visible(each)}", err=True)
    click.echo(visible(where, len(where)))
