"""`drover status`, `history` and `explain`: what a run is doing, what it decided, and why a unit is on its node."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import click

from drover.cli.headroom import table
from drover.cli.proposals import Json, describe_move, describe_run_state, units_by_node
from drover.control.engine_choice import EngineInUse, engine_choice
from drover.errors import visible
from drover.flow.breadcrumbs import Breadcrumb
from drover.flow.parking import ParkedOperator, describe_parked
from drover.spark.caller import ask
from drover.spark.hanging import describe_running
from drover.spark.row_totals import sentences, totals_from
from drover.wording import count

LAST: Final = 20  # decisions
MOVES: Final = 3  # shown of a decision
DECISIONS: Final = 10  # shown of a unit

F = TypeVar("F", bound=Callable[..., Any])
json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
from_option: Final = click.option(
    "--from", "checkpoint", metavar="CHECKPOINT", required=True, help="Checkpoint directory of the run."
)


def print_answer(answer: Mapping[str, Any], lines: Iterator[str], as_json: bool) -> None:  # Any: JSON
    """Print an answer, for programs or for people."""
    click.echo(json.dumps(answer, indent=2) if as_json else "\n".join(lines))


@click.command()
@click.argument("checkpoint")
@json_option
def status(checkpoint: str, as_json: bool) -> None:
    """Show what the run on CHECKPOINT is doing: its plan, the load of every node, and the last decision.

    If the run has an endpoint, the answer comes from the run itself. If it is stopped or has no endpoint, the answer
    comes from its checkpoint. Loads are means over the last periods, as a share of the node's capacity.
    """
    answer = ask(checkpoint, "status")
    print_answer(answer, _status_lines(answer, checkpoint), as_json)


def _status_lines(answer: Json, checkpoint: str) -> Iterator[str]:
    plan = answer["plan"]
    last = answer["last"]
    name = visible(answer["network"])
    yield from health_lines(last)
    yield (
        f"{name}: {describe_run_state(answer)}, mode {answer['mode']}, period {answer['period']}; "
        f"plan {plan['number']} on {count(plan['nodes'], 'node')}"
    )
    if (engine := answer.get("engine")) is not None:
        yield str(EngineInUse(engine_choice(engine["name"]), engine["why"], engine.get("encrypted_by")))
    if answer["failure"] is not None:
        yield f"the control loop has failed and makes no more decisions: {visible(answer['failure'])}"
    for one in answer["running_long"]:
        crumb = Breadcrumb(**{key: value for key, value in one.items() if key != "seconds"})
        yield visible(describe_running(crumb, one["seconds"]))
    yield from _parked_lines(answer, checkpoint)
    yield from map(visible, sentences(totals_from(answer.get("totals", {}))))
    for what, words in (("waiting", "waits"), ("approved", "is approved and will be applied when the run starts")):
        if (found := answer[what]) is not None:
            moves = count(len(found["moves"]), "move")
            yield f"proposal {visible(found['id'])} ({moves}) {words}: drover plan --from {visible(checkpoint)}"
    yield ""
    yield from _node_lines(answer)
    yield ""
    if last is None:
        yield "nothing was measured yet"
    else:
        yield f"last decision, in period {last['period']}: {last['kind']}, {visible(last['reason'])}"


def _node_lines(answer: Json) -> Iterator[str]:
    """Yield the load and the units of each node."""
    plan = answer["plan"]
    loads = [] if answer["last"] is None else answer["last"]["loads"]
    capacity = answer.get("capacity", [])
    units = units_by_node(plan["node_of"], plan["nodes"])
    rows = [
        [
            str(node),
            f"{loads[node]:.1%}" if node < len(loads) else "-",
            (units[node] or "-") + (", drained" if node in answer["drained"] else ""),
        ]
        for node in range(plan["nodes"])
    ]
    yield from table(["node", "load", "units"], rows)
    if any(each != 1 for each in capacity):
        several = ", ".join(dict.fromkeys(f"{each:.3g}" for each in capacity))
        yield f"loads are shares of what a node can spend: {several} busy seconds per second"


def health_lines(record: Json | None) -> Iterator[str]:
    """Yield whether a run keeps up and, if nothing is done about an overload, why not; nothing for older records."""
    if record is not None and record.get("health"):
        why = f" ({record['obstacle']})" if record.get("obstacle") else ""
        yield visible(f"{record['health']}{why}")


def _parked_lines(answer: Json, checkpoint: str) -> Iterator[str]:
    for one in answer["parked"]:
        details = {key: value for key, value in one.items() if key != "operator"}
        yield visible(describe_parked(one["operator"], ParkedOperator(**details)))
        yield f"  to run it again: drover resume {visible(one['operator'])} --from {visible(checkpoint)}"


@click.command()
@click.argument("checkpoint")
@click.option("--last", type=click.IntRange(1, 100_000), default=LAST, show_default=True, help="Number of decisions.")
@json_option
def history(checkpoint: str, last: int, as_json: bool) -> None:
    """Show the decisions of the run on CHECKPOINT and their reasons, one line per period, oldest first.

    A decision is one of: watched (nothing to decide), steady (no move is worth its cost), on trial (a plan has to prove
    itself first), proposed (a plan waits until you apply it), moved, or refused. `fullest` is the load of the fullest
    node over its capacity, `batch` the mean time of a batch. drover keeps the last 6,000 periods.
    """
    answer = ask(checkpoint, "history", last=last)
    print_answer(answer, _history_lines(answer), as_json)


def _history_lines(answer: Json) -> Iterator[str]:
    records = answer["records"]
    name = visible(answer["network"])
    if not records:
        yield f"{name}, {describe_run_state(answer)}: nothing was decided yet"
        return
    yield from health_lines(records[-1])
    moved = sum(len(record["proposal"]["moves"]) for record in records if record["kind"] == "moved")
    yield f"{name}, {describe_run_state(answer)}: {count(len(records), 'decision')}, {count(moved, 'move')} made"
    yield ""
    yield from table(["period", "plan", "fullest", "batch", "what"], [_history_row(record) for record in records])


def _history_row(record: Json) -> list[str]:
    fullest = f"{max(record['loads']):.1%}" if record["loads"] else "-"
    seconds = record["figures"].get("batch_seconds")
    moves = record["proposal"]["moves"] if record["kind"] == "moved" else []
    made = "".join(f"; {describe_move(move)}" for move in moves[:MOVES])
    more = f"; and {len(moves) - MOVES} more" if len(moves) > MOVES else ""
    said = "".join(f"; {visible(record[name])}" for name in ("obstacle", "kept") if record.get(name))
    what = f"{record['kind']}: {visible(record['reason'])}{made}{more}{said}"
    return [str(record["period"]), str(record["plan"]), fullest, "-" if seconds is None else f"{seconds:.2f} s", what]


@click.command()
@click.argument("unit")
@from_option
@json_option
def explain(unit: str, checkpoint: str, as_json: bool) -> None:
    """Explain why UNIT is on its node: its load, the decisions about it, and what other nodes would offer.

    \b
      drover explain counts --from /data/checkpoint
    """  # noqa: D301 - click wants the character itself
    answer = ask(checkpoint, "explain", unit=unit)
    print_answer(answer, _explain_lines(answer), as_json)


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
    yield from (visible(decision) for decision in answer["decisions"][:DECISIONS])
    if len(answer["decisions"]) > DECISIONS:
        yield f"... and {len(answer['decisions']) - DECISIONS} earlier ones"
