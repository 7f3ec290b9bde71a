"""`drover apply`, `drain`, `mode`, `move` and `spread`: what a run is told to do."""

from __future__ import annotations

from collections.abc import Iterator

import click

from drover.cli.asking import from_option, json_option, tell
from drover.cli.proposals import Json, move_words
from drover.errors import visible
from drover.network.drawing.summary import count
from drover.spark.caller import ask

MODES = ("observe", "propose", "auto")


@click.command()
@click.argument("proposal", metavar="PLAN-ID")
@from_option
@json_option
def apply(proposal: str, checkpoint: str, as_json: bool) -> None:
    """Carry out the proposal PLAN-ID, exactly as `drover plan --from CHECKPOINT` has shown it.

    A run that works moves the units from its next batch on. A run that is stopped does so when it starts again, before
    its first new batch. If the world has changed since the proposal was made (another plan or number of nodes, a node
    that is lost or drained, a new pin, another load), nothing moves, and the reason is told.

    \b
      drover plan --from /data/checkpoint
      drover apply p57 --from /data/checkpoint
    """  # noqa: D301 - click wants the character itself
    answer = ask(checkpoint, "apply", id=proposal)
    tell(answer, _apply_lines(answer), as_json)


def _apply_lines(answer: Json) -> Iterator[str]:
    if "approved" in answer:
        moves = answer["proposal"]["moves"]
        yield f"{visible(answer['approved'])} is approved: {count(len(moves), 'unit')} will move when the run starts"
    else:
        moves = answer["record"]["proposal"]["moves"]
        what = f"{count(len(moves), 'unit')} moved, from the next batch on"
        yield f"{visible(answer['applied'])} is applied as plan {answer['plan']}: {what}"
    yield from map(move_words, moves)


@click.command()
@click.argument("node", type=click.IntRange(0))
@from_option
@click.option("--undo", is_flag=True, help="Use the node again.")
@json_option
def drain(node: int, checkpoint: str, undo: bool, as_json: bool) -> None:
    """Empty NODE and keep it empty, also after a restart, until it is told otherwise by --undo.

    Its units are placed elsewhere in the next period, with nothing else moved: by the run itself in mode auto, as a
    proposal to be applied in modes propose and observe.
    """
    answer = ask(checkpoint, "drain", node=node, empty=not undo)
    tell(answer, _drain_lines(answer, checkpoint), as_json)


def _drain_lines(answer: Json, checkpoint: str) -> Iterator[str]:
    node, units = answer["node"], answer["units"]
    if not answer["empty"]:
        yield f"node {node} may be used again"
        return
    if not units:
        yield f"node {node} is empty, and stays so"
        return
    yield f"node {node} is to be emptied of {count(len(units), 'unit')}: {', '.join(map(visible, units))}"
    if not answer["running"]:
        yield "the run is stopped; it does so when it runs again"
    if answer["mode"] != "auto":
        yield f"in mode {answer['mode']} they move only when you apply it: drover plan --from {visible(checkpoint)}"


@click.command()
@click.argument("mode", type=click.Choice(MODES))
@from_option
@json_option
def mode(mode: str, checkpoint: str, as_json: bool) -> None:
    """Let the control loop of a run that works observe, propose, or move by itself (auto), until the run ends.

    A run that is stopped is told its mode when it starts.
    """
    answer = ask(checkpoint, "mode", mode=mode)
    tell(answer, iter([f"mode {answer['mode']}, from the next period on; it was {answer['before']}"]), as_json)


@click.command()
@click.argument("name")
@click.argument("node", type=click.IntRange(0))
@from_option
@json_option
def move(name: str, node: int, checkpoint: str, as_json: bool) -> None:
    """Move unit NAME of a run that works to NODE, with its state, from the next batch on, whatever the judge would say.

    The control loop leaves it there for as long as a unit rests that it has moved itself. If the network has no unit
    NAME, the submitted query of that name is moved.
    """
    answer = ask(checkpoint, "move", unit=name, node=node)
    if "query" in answer:
        said = f"query {visible(answer['query'])} is on node {answer['node']} from the next batch on"
    else:
        said = f"{visible(answer['unit'])} is on node {answer['node']} from the next batch on, in plan {answer['plan']}"
    tell(answer, iter([said]), as_json)


@click.command()
@click.argument("join")
@click.argument("shape", nargs=-1, required=True)
@from_option
@json_option
def spread(join: str, shape: tuple[str, ...], checkpoint: str, as_json: bool) -> None:
    """Spread JOIN of a run that works over instances as SHAPE says, from the next batch on; its pairs stay the same.

    SHAPE is a number of instances (4), rows and columns of a grid (2x3), or auto: then the control loop decides from
    what it measures. It holds until something else is asked, also after a restart. The join must have `spread` in the
    network.

    \b
      drover spread fraud 2x3 --from /data/checkpoint
      drover spread fraud auto --from /data/checkpoint
    """  # noqa: D301 - click wants the character itself
    answer = ask(checkpoint, "spread", join=join, spread=" ".join(shape))
    rows, columns = answer["grid"]
    many = "instance" if rows * columns == 1 else "instances"
    where = f"{many} on {'node' if len(set(answer['nodes'])) == 1 else 'nodes'} {_nodes(answer['nodes'])}"
    who = "; the control loop decides on its shape" if answer["spread"] == "auto" else ""
    said = f"{visible(answer['join'])} is spread {rows} x {columns} from the next batch on, in plan {answer['plan']}"
    tell(answer, iter([f"{said}: {rows * columns} {where}{who}"]), as_json)


def _nodes(nodes: list[int]) -> str:
    return ", ".join(map(str, sorted(set(nodes))))
