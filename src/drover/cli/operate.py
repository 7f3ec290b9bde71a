"""`drover apply`, `drain`, `mode`, `move`, `resume` and `spread`: commands that change a run."""

from __future__ import annotations

from collections.abc import Iterator

import click

from drover.cli.inspect import from_option, json_option, print_answer
from drover.cli.proposals import Json, describe_move
from drover.errors import visible
from drover.spark.caller import ask
from drover.wording import count, plural

MODES = ("observe", "propose", "auto")


@click.command()
@click.argument("proposal", metavar="PLAN-ID")
@from_option
@json_option
def apply(proposal: str, checkpoint: str, as_json: bool) -> None:
    """Apply the proposal PLAN-ID, exactly as `drover plan --from CHECKPOINT` showed it.

    A running network moves the units from its next batch on. A stopped one does so when it starts again, before its
    first new batch. Nothing moves if the proposal no longer fits: the plan, the number of nodes or the load has
    changed, a node is lost or drained, or a unit was pinned elsewhere. The command then prints the reason.

    \b
      drover plan --from /data/checkpoint
      drover apply p57 --from /data/checkpoint
    """  # noqa: D301 - click wants the character itself
    answer = ask(checkpoint, "apply", id=proposal)
    print_answer(answer, _apply_lines(answer), as_json)


def _apply_lines(answer: Json) -> Iterator[str]:
    if "approved" in answer:
        moves = answer["proposal"]["moves"]
        yield f"{visible(answer['approved'])} is approved: {count(len(moves), 'unit')} will move when the run starts"
    else:
        moves = answer["record"]["proposal"]["moves"]
        what = f"{count(len(moves), 'unit')} moved, from the next batch on"
        yield f"{visible(answer['applied'])} is applied as plan {answer['plan']}: {what}"
    yield from map(describe_move, moves)


@click.command()
@click.argument("node", type=click.IntRange(0))
@from_option
@click.option("--undo", is_flag=True, help="Use the node again.")
@json_option
def drain(node: int, checkpoint: str, undo: bool, as_json: bool) -> None:
    """Empty NODE and keep it empty, across restarts, until you run the command with --undo.

    The units of NODE move to other nodes in the next period, and nothing else moves. In mode auto, the run moves them.
    In the modes propose and observe, you apply a proposal.
    """
    answer = ask(checkpoint, "drain", node=node, empty=not undo)
    print_answer(answer, _drain_lines(answer, checkpoint), as_json)


def _drain_lines(answer: Json, checkpoint: str) -> Iterator[str]:
    node = answer["node"]
    units = answer["units"]
    if not answer["empty"]:
        yield f"node {node} may be used again"
        return
    if not units:
        yield f"node {node} is empty and stays empty"
        return
    yield f"{count(len(units), 'unit')} will leave node {node}: {', '.join(map(visible, units))}"
    if not answer["running"]:
        yield "the run is stopped; they move when it starts again"
    if answer["mode"] != "auto":
        see = f"drover plan --from {visible(checkpoint)}"
        yield f"in mode {answer['mode']} they move when you apply the proposal: {see}"


@click.command()
@click.argument("mode", type=click.Choice(MODES))
@from_option
@json_option
def mode(mode: str, checkpoint: str, as_json: bool) -> None:
    """Set the mode of a running control loop until the run ends.

    In mode observe it only reports. In mode propose its plans wait until you apply them. In mode auto it moves units
    without asking. A stopped run gets its mode when it starts.
    """
    answer = ask(checkpoint, "mode", mode=mode)
    print_answer(answer, iter([f"mode {answer['mode']}, from the next period on; it was {answer['before']}"]), as_json)


@click.command()
@click.argument("name")
@click.argument("node", type=click.IntRange(0))
@from_option
@json_option
def move(name: str, node: int, checkpoint: str, as_json: bool) -> None:
    """Move unit NAME of a running network to NODE, with its state, from the next batch on.

    drover does not ask the judge. The control loop does not move the unit again during its cool-down. If the network
    has no unit NAME, the command moves the submitted query of that name.
    """
    answer = ask(checkpoint, "move", unit=name, node=node)
    if "query" in answer:
        done = f"query {visible(answer['query'])} is on node {answer['node']} from the next batch on"
    else:
        done = f"{visible(answer['unit'])} is on node {answer['node']} from the next batch on, in plan {answer['plan']}"
    print_answer(answer, iter([done]), as_json)


@click.command()
@click.argument("name")
@from_option
@json_option
def resume(name: str, checkpoint: str, as_json: bool) -> None:
    """Run the parked operator NAME again, with the state it had before it failed.

    The operator first processes the rows that it holds, and then continues as usual. A running network does this with
    its next batch, even if no rows arrive. A stopped one does so when it starts again. If the operator fails again,
    drover parks it again, and it keeps its rows. `drover status` lists the parked operators.

    To fix a function of your own, stop the run, correct the function, resume its operator, and start the run.

    \b
      drover status /data/checkpoint
      drover resume scored --from /data/checkpoint
    """  # noqa: D301 - click wants the character itself
    answer = ask(checkpoint, "resume", operator=name)
    when = "with the next batch" if answer["running"] else "when the run starts"
    held = f": it works off {count(answer['rows'], 'row')} that it holds" if answer["holds"] else ""
    print_answer(answer, iter([f"{visible(answer['operator'])} runs again {when}{held}"]), as_json)


@click.command()
@click.argument("join")
@click.argument("shape", nargs=-1, required=True)
@from_option
@json_option
def spread(join: str, shape: tuple[str, ...], checkpoint: str, as_json: bool) -> None:
    """Spread JOIN of a running network over several instances from the next batch on; its results stay the same.

    SHAPE is a number of instances (4), rows and columns of a grid (2x3), or auto. With auto, the control loop decides
    from its measurements. The shape survives a restart and holds until you set another one. The join must have
    `spread` in the network.

    \b
      drover spread fraud 2x3 --from /data/checkpoint
      drover spread fraud auto --from /data/checkpoint
    """  # noqa: D301 - click wants the character itself
    answer = ask(checkpoint, "spread", join=join, spread=" ".join(shape))
    rows, columns = answer["grid"]
    nodes = sorted(set(answer["nodes"]))
    where = f"{count(rows * columns, 'instance')} on {plural(len(nodes), 'node')} {', '.join(map(str, nodes))}"
    who = "; the control loop decides on its shape" if answer["spread"] == "auto" else ""
    done = f"{visible(answer['join'])} is spread {rows} x {columns} from the next batch on, in plan {answer['plan']}"
    print_answer(answer, iter([f"{done}: {where}{who}"]), as_json)
