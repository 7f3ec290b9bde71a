"""Spread joins from batch to batch: what their instances tell after one, what is left of them, and wishes of people.

Rule 1: a shape changes in the plan alone, which is written before the batch that uses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from drover.diffusion.cost import Demand
from drover.flow.instances import UNKNOWN, ask, demand_at, leftovers, oldest_by_join, settle_epochs, spread_joins
from drover.flow.state.segments import Key
from drover.flow.state.versions import Version
from drover.flow.worker import Report
from drover.network.grid import Spread
from drover.network.model import Network
from drover.network.operators import Join
from drover.placement.plan import Plan
from drover.spark.planner import Planner


def settled(plan: Plan, network: Network, reports: Iterable[Report]) -> Plan:
    """Return the plan without the epochs of which no row was kept after a batch; the same one if all are live.

    The plan may have changed while the batch ran: an epoch that has begun since is younger than all rows.
    """
    spread = {join.name for join in spread_joins(network)}
    samples = (sample for report in reports for sample in report.samples)
    told = [(sample.operator, sample.oldest) for sample in samples if sample.operator in spread]
    return settle_epochs(plan, network, oldest_by_join(told)) if told else plan


def leftover(version: Version, plan: Plan, network: Network) -> tuple[Key, ...]:
    """Return the state of instances that the plan of a batch has no more, which its commit drops."""
    gone = leftovers(version.units, plan, network) if spread_joins(network) else frozenset()
    return tuple((unit, part) for unit in sorted(gone) for part in version.units[unit])


def spread_by_hand(
    planner: Planner,
    network: Network,
    history: Iterable[Mapping[str, Any]],
    join: str,
    spread: Spread | tuple[int, int],
) -> Plan:  # Any: JSON, the figures of batches
    """Spread a join as somebody wishes from the next batch on; `history` tells which side brings more rows."""
    operator = {each.name: each for each in spread_joins(network)}.get(join)
    demand = UNKNOWN if operator is None else demand_of(operator, list(history))
    return planner.replan(lambda plan: ask(plan, network, join, spread, demand))


def demand_of(join: Join, history: Iterable[Mapping[str, Any]]) -> Demand:  # Any: JSON
    """Return what batches have brought a join, as rows of either side; both count as equal if they brought nothing."""
    rows: Counter[str] = Counter()
    for figures in history:
        rows.update(figures["rowsIn"])
        for one in figures["samples"]:
            rows[one["operator"]] += one["rows_out"]
    if not rows[join.left] + rows[join.right]:
        return UNKNOWN
    return demand_at(join, rows[join.left], rows[join.right])
