"""Spread joins from batch to batch: what their instances tell after one, and what is left of them.

Rule 1: a shape changes in the plan alone, which is written before the batch that uses it.
"""

from __future__ import annotations

from collections.abc import Iterable

from drover.flow.instances import leftovers, oldest_by_join, settle_epochs, spread_joins
from drover.flow.state.segments import Key
from drover.flow.state.versions import Version
from drover.flow.worker import Report
from drover.network.model import Network
from drover.placement.plan import Plan


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
