"""`drover status`, `history` and `explain`: what a run is doing, what was decided, and why a unit is where it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import click

from drover.cli.headroom import table
from drover.cli.proposals import Json, move_words, state_of, units_by_node
from drover.errors import visible
from drover.network.drawing.summary import count
from drover.spark.caller import ask

LAST: Final = 20  # decisions
MOVES: Final = 3  # of a decision, and what is said of a unit
SAID: Final = 10

F = TypeVar("F", bound=Callable[..., Any])
json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
from_option: Final = click.option(
    "--from", "checkpoint", metavar="CHECKPOINT", required=True, help="The checkpoint of the run."
)


def tell(answer: Mapping[str, Any], lines: Iterator[str], as_json: bool) -> None:  # Any: JSON
    """Print an answer, for people or for programs."""
    click.echo(json.dumps(answer, indent=2) if as_json else "\n".join(lines))


@click.command()
@click.argument("checkpoint")
@json_option
def status(checkpoint: str, as_json: bool) -> None:
    """Tell what the run on CHECKPOINT is doing: its plan, the load of every node, and what was decided last.

    A run that works is asked itself; of one that is stopped, or works without an endpoint, is told what it has written.
    Loads are means over the last periods, as a share of a node's capacity.
    """
    answer = ask(checkpoint, "status")
    tell(answer, _status_lines(answer, checkpoint), as_json)


def _status_lines(answer: Json, checkpoint: str) -> Iterator[str]:
    plan, last = answer["plan"], answer["last"]
    yield (
        f"{visible(answer['network'])}: {state_of(answer)}, mode {answer['mode']}, period {answer['period']}; "
        f"plan {plan['number']} on {count(plan['nodes'], 'node')}"
    )
    if answer["failure"] is not None:
        yield f"the control loop has failed and decides no more: {visible(answer['failure'])}"
    for what, words in (("waiting", "waits"), ("approved", "is approved, for when the run starts")):
        if (found := answer[what]) is not None:
            moves = count(len(found["moves"]), "move")
            yield f"proposal {visible(found['id'])} ({moves}) {words}: drover plan --from {visible(checkpoint)}"
    yield ""
    loads = [] if last is None else last["loads"]
    units = units_by_node(plan["node_of"], plan["nodes"])
    rows = [
        [
            str(node),
            f"{loads[node]:.1%}" if node < len(loads) else "-",
            (units[node] or "-") + (", to be kept empty" if node in answer["drained"] else ""),
        ]
        for node in range(plan["nodes"])
    ]
    yield from table(["node", "load", "units"], rows)
    yield ""
    if last is None:
        yield "nothing was measured yet"
    else:
        yield f"last, in period {last['period']}: {last['kind']}, {visible(last['reason'])}"


@click.command()
@click.argument("checkpoint")
@click.option("--last", type=click.IntRange(1, 100_000), default=LAST, show_default=True, help="How many decisions.")
@json_option
def history(checkpoint: str, last: int, as_json: bool) -> None:
    """Tell what was decided in the run on CHECKPOINT, period by period, oldest first, and why.

    A decision is: watched, steady (nothing is worth a move), on trial (a plan has to keep its promise first), proposed
    (a plan waits to be applied), moved, or refused. `fullest` is the load of the fullest node over its capacity,
    `batch` the mean time of a batch. The last 6,000 periods are kept.
    """
    answer = ask(checkpoint, "history", last=last)
    tell(answer, _history_lines(answer), as_json)


def _history_lines(answer: Json) -> Iterator[str]:
    records, name = answer["records"], visible(answer["network"])
    if not records:
        yield f"{name}, {state_of(answer)}: nothing was decided yet"
        return
    moved = sum(len(record["proposal"]["moves"]) for record in records if record["kind"] == "moved")
    yield f"{name}, {state_of(answer)}: {count(len(records), 'decision')}, {count(moved, 'move')} made"
    yield ""
    yield from table(["period", "plan", "fullest", "batch", "what"], [_history_row(record) for record in records])


def _history_row(record: Json) -> list[str]:
    fullest = f"{max(record['loads']):.1%}" if record["loads"] else "-"
    seconds = record["figures"].get("batch_seconds")
    moves = record["proposal"]["moves"] if record["kind"] == "moved" else []
    made = "".join(f"; {move_words(move)}" for move in moves[:MOVES])
    more = f"; and {len(moves) - MOVES} more" if len(moves) > MOVES else ""
    what = f"{record['kind']}: {visible(record['reason'])}{made}{more}"
    return [str(record["period"]), str(record["plan"]), fullest, "-" if seconds is None else f"{seconds:.2f} s", what]


@click.command()
@click.argument("unit")
@from_option
@json_option
def explain(unit: str, checkpoint: str, as_json: bool) -> None:
    """Tell why UNIT is on the node where it is: what it takes, what was decided about it, and what other nodes offer.

    \b
      drover explain counts --from /data/checkpoint
    """  # noqa: D301 - click wants the character itself
    answer = ask(checkpoint, "explain", unit=unit)
    tell(answer, _explain_lines(answer), as_json)


def _explain_lines(answer: Json) -> Iterator[str]:
    yield visible(answer["text"])
    yield f"It holds {answer['state_bytes']:,.0f} bytes of state."
    if answer["elsewhere"]:
        yield ""
        rows = [
            [str(node), f"{load:.1%}", "it is here" if node == answer["node"] else ""]
            for node, load in enumerate(answer["elsewhere"])
        ]
        yield from table(["on node", "slowest node would be loaded to", ""], rows)
    if answer["decisions"]:
        yield ""
    yield from (visible(said) for said in answer["decisions"][:SAID])
    if len(answer["decisions"]) > SAID:
        yield f"... and {len(answer['decisions']) - SAID} more before"
