"""`drover plan`: which node should run which unit, by which policy, and why."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import click
from click.core import ParameterSource
from rich.console import Console

from drover.cli.inputs import read_network
from drover.cli.inspect import print_answer
from drover.cli.load_options import load_options
from drover.cli.plans import plan_of
from drover.cli.proposals import lines
from drover.errors import visible
from drover.network.files.disk import write_text
from drover.placement.starting_plans import DEFAULT_NODES
from drover.spark.caller import ask


def print_policies(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Print all policies, and exit."""
    if asked and not context.resilient_parsing:
        from drover.placement.policy import WORDS  # noqa: PLC0415 - numba takes a second to import

        click.echo("\n".join(f"{name:24} {words}" for name, words in WORDS.items()))
        context.exit()


@click.command()
@click.argument("network", metavar="[NETWORK]", required=False)
@load_options
@click.option(
    "--nodes", type=click.IntRange(1, 10_000), help=f"Number of nodes [default: {DEFAULT_NODES}, or as in --from]."
)
@click.option(
    "--policy", default="searched", show_default=True, metavar="NAME", help="Placement policy; --policies lists them."
)
@click.option(
    "--from",
    "current",
    metavar="PLAN|CHECKPOINT",
    help="The current plan: round-robin, hash, or a YAML or JSON file with nodes and node_of. Without NETWORK: the "
    "checkpoint of a run, to see what it proposes.",
)
@click.option(
    "--pin", "pins", multiple=True, metavar="UNIT=NODE", help="Keep a unit on a node. Repeat the option for more units."
)
@click.option(
    "--together",
    multiple=True,
    metavar="UNIT,UNIT",
    help="Keep units on the same node. Repeat the option for more groups.",
)
@click.option(
    "--apart",
    multiple=True,
    metavar="UNIT,UNIT",
    help="Keep units on different nodes. Repeat the option for more groups.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of all random choices.")
@click.option("--out", metavar="FILE", help="Write the plan to FILE, for --from and `drover headroom --plan`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs. It is also a plan file.")
@click.option(
    "--policies",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_policies,
    help="List the policies, and exit.",
)
def plan(
    network: str | None,
    rates: tuple[str, ...],
    statistics: str | None,
    capacity: tuple[str, ...],
    nodes: int | None,
    policy: str,
    current: str | None,
    pins: tuple[str, ...],
    together: tuple[str, ...],
    apart: tuple[str, ...],
    seed: int,
    out: str | None,
    as_json: bool,
) -> None:
    """Plan which node should run which unit of a network, or show what a run proposes.

    NETWORK is a network file, or a run file, of which only the network is used; - means standard input. Nothing is run.
    drover computes loads from rates, costs and selectivities, as in `drover headroom`. Policies that use the variation
    of loads need `series` in the statistics file; see docs/reference/statistics-file.md.

    \b
      drover plan traffic.yaml --nodes 3
      drover plan traffic.yaml --from hash --policy thrifty --statistics measured.yaml
      drover plan traffic.yaml --pin counts=0 --apart busy,small --json

    The output shows the load of every node, every goal before and after, the moves, and whether the judge accepts them.
    "Before" is the plan in --from, or else round-robin. Each move has a reason: what would be worse without it.
    """  # noqa: D301 - click wants the character itself
    if network is None:
        show_proposal(current, as_json)
        return
    if current is not None and Path(current).is_dir():
        raise click.UsageError(
            f"--from {visible(current)} is a directory. To see what a run proposes, leave NETWORK out."
        )
    from drover.cli import planning  # noqa: PLC0415 - numba takes a second to import

    read = read_network(network)
    before = None if current is None else plan_of(current, read, nodes)
    count = before.nodes if before is not None else nodes or DEFAULT_NODES
    request = planning.read_request(read, rates, statistics, capacity, count)
    problem = planning.with_rules(request, pins, together, apart)
    # On its first use on a machine, a policy is compiled, which takes seconds.
    with _spinner(f"placing units with {visible(policy)} ..."):
        answer = planning.make_report(request, problem, before, policy, seed)
    if out is not None:
        write_text(out, json.dumps(planning.plan_data(answer), indent=2) + "\n")
        click.echo(f"written to {visible(out)}", err=True)
    click.echo(json.dumps(planning.as_data(answer), indent=2) if as_json else "\n".join(planning.lines(answer)))


def show_proposal(checkpoint: str | None, as_json: bool) -> None:
    """Print what the run on a checkpoint proposes."""
    if checkpoint is None:
        raise click.UsageError("Missing NETWORK. To see what a run proposes, give --from CHECKPOINT instead.")
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in {"current", "as_json"} and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{parameter.opts[-1]} needs a NETWORK; without one, the run on the checkpoint decides this."
            )
    with _spinner("asking the run ..."):
        answer = ask(checkpoint, "proposal")
    print_answer(answer, lines(answer, checkpoint), as_json)


def _spinner(words: str) -> AbstractContextManager[object]:
    """Return a display for work that may take seconds; it shows nothing if standard error is not a terminal."""
    console = Console(stderr=True)
    return console.status(words) if console.is_terminal else nullcontext()
