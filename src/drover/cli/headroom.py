"""`drover headroom`: how far the rates can grow before a node is overloaded, and which node is the first."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
import numpy as np

from drover.cli.inputs import read_network
from drover.cli.load_options import load_options, origin_lines, profile_of, read_capacity
from drover.cli.plans import plan_of
from drover.cli.run_headroom import show_run_headroom
from drover.errors import visible
from drover.load.feasible import Estimate, estimate, weights
from drover.load.headroom import Headroom
from drover.load.headroom import headroom as find_headroom
from drover.load.linear import LinearModel, linear_model
from drover.load.profile import Profile
from drover.network.schema import known
from drover.placement.plan import Plan, unit_of
from drover.wording import count, plural

SEED = 1  # of the points that measure the feasible set; fixed, so that equal input gives equal output


@dataclass(frozen=True, slots=True)
class HeadroomReport:
    """The headroom of a plan, and what it was computed from."""

    profile: Profile
    plan: Plan
    model: LinearModel
    room: Headroom
    ratio: Estimate


@click.command()
@click.argument("network", metavar="[NETWORK]", required=False)
@load_options
@click.option("--from", "checkpoint", metavar="CHECKPOINT", help="Without NETWORK: the checkpoint of a run.")
@click.option("--nodes", type=click.IntRange(1, 10_000), help="Number of nodes [default: 4, or as in the plan file].")
@click.option(
    "--plan",
    default="round-robin",
    show_default=True,
    metavar="PLAN",
    help="The plan: round-robin, hash, or a YAML or JSON file with nodes and node_of.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def headroom(
    network: str | None,
    rates: tuple[str, ...],
    statistics: str | None,
    capacity: tuple[str, ...],
    checkpoint: str | None,
    nodes: int | None,
    plan: str,
    as_json: bool,
) -> None:
    """Show how far the rates of a network, or of a run, can grow before a node is overloaded.

    NETWORK is a network file, or a run file, of which only the network is used; - means standard input. Nothing is run.
    drover computes loads from rates, costs and selectivities. It assumes what you do not give, and says how much it
    assumed. FILE looks like this; docs/reference/statistics-file.md describes it in full:

    \b
      statistics: 1
      rates: {east: 20000, west: 5000}                  # rows per second
      operators: {busy: {cost: 2e-6, selectivity: 0.1}} # busy seconds, and rows out, per row in

    \b
      drover headroom traffic.yaml
      drover headroom traffic.yaml --nodes 8 -r east=20000 -r west=5000
      drover headroom traffic.yaml --statistics measured.yaml --plan hash --capacity 0.8 --capacity 0=0.5
      drover headroom --from checkpoint

    The output shows how far all rates can grow together, and how far each source can grow alone. The worst mix is the
    smallest relative change of the rates that fills a node. The feasible set is the set of all rates that overload no
    node; its size is compared with that of an ideal plan, which splits the load of every stream evenly. Loads are in
    busy seconds per second.

    With --from, the run on CHECKPOINT answers. A model of its batches says how far its rates can grow until a batch
    takes as long as its trigger, and what gives out first.
    """  # noqa: D301 - click wants the character itself
    if network is None:
        show_run_headroom(checkpoint, as_json)
        return
    read = read_network(network)
    chosen = plan_of(plan, read, nodes)
    profile = profile_of(read, rates, statistics)
    answer = make_report(profile, chosen, capacity)
    click.echo(json.dumps(as_data(answer), indent=2) if as_json else "\n".join(lines(answer)))


def make_report(profile: Profile, plan: Plan, capacity: Sequence[str]) -> HeadroomReport:
    """Return the headroom of a plan, and the size of its feasible set."""
    units = {operator.name: unit_of(operator) for operator in profile.network.operators}
    offered = read_capacity(capacity, plan.nodes)
    model = linear_model(profile, units)
    loads = np.zeros((plan.nodes, len(model.variables)))
    np.add.at(loads, [plan.node_of[unit] for unit in model.units], model.coefficients)
    room = find_headroom(profile, units, plan.node_of, offered)
    return HeadroomReport(profile, plan, model, room, estimate(weights(loads, offered), SEED))


def lines(answer: HeadroomReport) -> Iterator[str]:
    """Yield the output for people."""
    room = answer.room
    name = visible(answer.profile.network.name)
    where = f"{name} on {count(answer.plan.nodes, 'node')}"
    if room.overloaded:
        nodes = known(map(str, room.overloaded))
        number = len(room.overloaded)
        are = f"{plural(number, 'node')} {nodes} {'is' if number == 1 else 'are'}"
        yield f"{where}: {are} overloaded; all rates must shrink to {room.all.factor:.3g} of what they are"
    elif room.all.node is None:
        yield f"{where}: nothing limits the rates"
    else:
        yield f"{where}: all rates can grow {room.all.factor:.4g} times before node {room.all.node} is overloaded"
    yield ""
    yield from table(["node", "load", "capacity", "used", "units"], list(_node_rows(answer)))
    yield ""
    yield from table(["source", "rows/s", "most alone", "times", "then full"], list(_source_rows(room)))
    yield ""
    if room.weakest is not None:
        yield f"weakest source: {visible(room.weakest.source)}"
    if room.worst is not None and room.worst.node is not None:
        mix = ", ".join(f"{visible(source)} {factor:.4g} times" for source, factor in room.worst.factors.items())
        yield f"worst mix: node {room.worst.node} is full at {mix}"
    yield f"feasible set: {answer.ratio.ratio:.4g} of the ideal one{_variables(answer.model)}"
    yield from origin_lines(answer.profile)


def _variables(model: LinearModel) -> str:
    added = [visible(name) for name in model.variables[model.sources :]]
    return f"; {known(added)} counted as {count(len(added), 'further stream')}" if added else ""


def _node_rows(answer: HeadroomReport) -> Iterator[list[str]]:
    for i, (load, capacity) in enumerate(zip(answer.room.loads, answer.room.capacity, strict=True)):
        units = ", ".join(visible(unit) for unit, node in answer.plan.node_of.items() if node == i)
        shown = units if len(units) <= 60 else f"{units[:57]}..."
        yield [str(i), f"{load:.4g}", f"{capacity:g}", f"{load / capacity:.1%}", shown or "-"]


def _source_rows(room: Headroom) -> Iterator[list[str]]:
    for each in room.sources:
        most = (
            "no limit" if math.isinf(each.limit) else f"{each.limit:,.4g}" if each.limit < 10 else f"{each.limit:,.0f}"
        )
        times = "-" if math.isinf(each.factor) else f"{each.factor:.4g}"
        yield [visible(each.source), f"{each.rate:,g}", most, times, "-" if each.node is None else f"node {each.node}"]


def table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    """Yield the lines of a table; the first and last columns are aligned to the left, the others to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for row in [head, *rows]:
        first, *middle, last = row
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(middle, widths[1:-1], strict=True))]
        yield "  ".join([*cells, last]).rstrip()


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def as_data(answer: HeadroomReport) -> dict[str, object]:
    """Return the output for programs; an unlimited value is null."""
    room = answer.room
    model = answer.model
    weakest = room.weakest
    return {
        "network": answer.profile.network.name,
        "factor": _finite(room.all.factor),
        "first_node": room.all.node,
        "overloaded": list(room.overloaded),
        "weakest_source": None if weakest is None else weakest.source,
        "sources": [
            {
                "source": each.source,
                "rate": each.rate,
                "limit": _finite(each.limit),
                "factor": _finite(each.factor),
                "node": each.node,
            }
            for each in room.sources
        ],
        "worst_mix": None
        if room.worst is None or room.worst.node is None
        else {"change": room.worst.change, "factors": dict(room.worst.factors), "node": room.worst.node},
        "nodes": [
            {
                "load": float(load),
                "capacity": float(capacity),
                "units": [unit for unit, node in answer.plan.node_of.items() if node == i],
            }
            for i, (load, capacity) in enumerate(zip(room.loads, room.capacity, strict=True))
        ],
        "feasible_set": {
            "ratio": answer.ratio.ratio,
            "low": answer.ratio.low,
            "high": answer.ratio.high,
            "variables": list(model.variables),
        },
        "known": answer.profile.counts(),
    }
