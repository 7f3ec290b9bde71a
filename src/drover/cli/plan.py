"""`drover plan`: which node is to run which unit, by which policy, and why."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import click
from click.core import ParameterSource
from rich.console import Console

from drover.cli.asking import tell
from drover.cli.inputs import network_of
from drover.cli.loads import load_options
from drover.cli.plans import NODES, plan_of
from drover.cli.proposals import lines
from drover.errors import visible
from drover.network.files.disk import write_text
from drover.spark.caller import ask


def print_policies(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Print what policies there are, and stop."""
    if asked and not context.resilient_parsing:
        from drover.placement.policy import WORDS  # noqa: PLC0415 - numba takes a second to import

        click.echo("\n".join(f"{name:24} {words}" for name, words in WORDS.items()))
        context.exit()


@click.command()
@click.argument("network", metavar="[NETWORK]", required=False)
@load_options
@click.option("--nodes", type=click.IntRange(1, 10_000), help=f"How many nodes; {NODES} if not said, or as in --from.")
@click.option("--policy", default="searched", show_default=True, metavar="NAME", help="How to place; see --policies.")
@click.option(
    "--from",
    "current",
    metavar="PLAN|CHECKPOINT",
    help="The plan at present: round-robin, hash, or a YAML or JSON file with nodes and node_of. Without NETWORK: the "
    "checkpoint of a run, to see what it proposes.",
)
@click.option("--pin", "pins", multiple=True, metavar="UNIT=NODE", help="Keep a unit on a node. Repeat it for several.")
@click.option("--together", multiple=True, metavar="UNIT,UNIT", help="Keep units on one node. Repeat it for groups.")
@click.option(
    "--apart", multiple=True, metavar="UNIT,UNIT", help="Keep units on different nodes. Repeat it for groups."
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of every choice left to chance.")
@click.option("--out", metavar="FILE", help="Write the plan to FILE, for --from and for `drover headroom --plan`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs; it is a plan file, too.")
@click.option(
    "--policies",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_policies,
    help="List the policies, and stop.",
)
def plan(
    network: str | None, rates: tuple[str, ...], statistics: str | None, capacity: tuple[str, ...], nodes: int | None,
    policy: str, current: str | None, pins: tuple[str, ...], together: tuple[str, ...], apart: tuple[str, ...],
    seed: int, out: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Work out which node is to run which unit of a network, or show what a run proposes, and explain it.

    NETWORK is a network file, or a run file, of which only the network counts; - is standard input. Nothing is run:
    loads follow from rates, costs and selectivities, as in `drover headroom`. Policies that look at how loads vary
    need `series` in the statistics file; see docs/statistics.md.

    \b
      drover plan traffic.yaml --nodes 3
      drover plan traffic.yaml --from hash --policy thrifty --statistics measured.yaml
      drover plan traffic.yaml --pin counts=0 --apart busy,small --json

    Told are: the load of every node; every goal before and after, before being the plan in --from, or units dealt out
    in turn; the moves, each with what would be worse without it; and whether the judge accepts the change.
    """  # noqa: D301 - click wants the character itself
    if network is None:
        show_proposal(current, as_json)
        return
    if current is not None and Path(current).is_dir():
        raise click.UsageError(f"--from {visible(current)} is a folder. For what a run proposes, leave NETWORK out.")
    from drover.cli import planning  # noqa: PLC0415 - numba takes a second to import

    read = network_of(network)
    before = None if current is None else plan_of(current, read, nodes)
    count = before.nodes if before is not None else nodes or NODES
    question = planning.ask(read, rates, statistics, capacity, count)
    problem = planning.with_rules(question, pins, together, apart)
    # The first time on a machine, a policy is compiled, which takes seconds.
    with _patience(f"placing by {visible(policy)} ..."):
        answer = planning.find(question, problem, before, policy, seed)
    if out is not None:
        write_text(out, json.dumps(planning.plan_data(answer), indent=2) + "\n")
        click.echo(f"written to {visible(out)}", err=True)
    click.echo(json.dumps(planning.as_data(answer), indent=2) if as_json else "\n".join(planning.lines(answer)))


def show_proposal(checkpoint: str | None, as_json: bool) -> None:
    """Print what the run on a checkpoint proposes."""
    if checkpoint is None:
        raise click.UsageError("Missing NETWORK, or --from CHECKPOINT for what a run proposes.")
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in {"current", "as_json"} and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[-1]} is for plans of a NETWORK; a run says this itself.")
    with _patience("asking the run ..."):
        answer = ask(checkpoint, "proposal")
    tell(answer, lines(answer, checkpoint), as_json)


def _patience(words: str) -> AbstractContextManager[object]:
    """Return a display for what may take seconds."""
    console = Console(stderr=True)
    return console.status(words) if console.is_terminal else nullcontext()
