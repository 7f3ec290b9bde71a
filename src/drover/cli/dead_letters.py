"""`drover dead-letters`: the rows that fit no source, with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from drover.cli.headroom import table
from drover.cli.inspect import json_option
from drover.errors import visible
from drover.wording import count

if TYPE_CHECKING:
    from drover.spark.unused_rows import UnusedRows

LAST: Final = 20  # rows


@click.command("dead-letters")
@click.argument("checkpoint")
@click.option("--last", type=click.IntRange(0), default=LAST, show_default=True, help="Number of rows to show.")
@json_option
def dead_letters(checkpoint: str, last: int, as_json: bool) -> None:
    """Show the rows that did not fit their source in the run on CHECKPOINT, with the reasons.

    If the run names no sink for dead letters, its checkpoint keeps the newest 10,000 of them, up to 16 MB. Otherwise
    they are in the sink, and the command shows their number. --json prints all rows that are kept.

    \b
      drover dead-letters /data/traffic
    """  # noqa: D301 - click wants the character itself
    from drover.spark.row_totals import to_json  # noqa: PLC0415 - Polars takes a moment to import
    from drover.spark.unused_rows import read_unused  # noqa: PLC0415 - as above

    found = read_unused(checkpoint)
    if as_json:
        totals = to_json(found.totals)["deadLetters"]
        rows = found.letters.to_dicts()
        click.echo(json.dumps({"totals": totals, "notKept": found.discarded, "rows": rows}, indent=2))
        return
    click.echo("\n".join(_lines(found, last)))


def _lines(found: UnusedRows, last: int) -> Iterator[str]:
    if not found.totals.dead:
        yield "no dead letters: every row fits its source"
        return
    rows = [
        [visible(source), f"{number:,}", visible(reason)]
        for source, one in sorted(found.totals.dead.items())
        for reason, number in one.reasons.items()
    ]
    yield from table(["source", "rows", "reason"], rows)
    shown = found.letters.tail(last)
    kept = f"the last {shown.height} of {found.letters.height:,} that are kept" if shown.height else "none is kept"
    elsewhere = f"; {count(found.discarded, 'row')} went to a sink or were discarded" if found.discarded else ""
    yield ""
    yield f"{kept}{elsewhere}"
    for batch, source, _, row in shown.iter_rows():
        yield f"  batch {batch}, {visible(source)}: {visible(row)}"
