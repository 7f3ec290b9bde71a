"""Spread joins from batch to batch: which epochs have expired, and which state is obsolete.

Rule 1: the shape of a join changes only in the plan, which is written before the batch that uses it.
"""

from __future__ import annotations

from collections.abc import Iterable

from drover.flow.instances import obsolete_instances, oldest_by_join, retire_epochs, spread_joins
from drover.flow.state.segments import Key
from drover.flow.state.versions import Version
from drover.flow.worker import NodeReport
from drover.network.model import Network
from drover.placement.plan import Plan


def without_expired_epochs(plan: Plan, network: Network, reports: Iterable[NodeReport]) -> Plan:
    """Return the plan without the epochs of which no instance holds a row after a batch; itself if all are live.

    The plan may have changed while the batch ran. An epoch that began since then is newer than all rows, and stays.
    """
    spread = {join.name for join in spread_joins(network)}
    facts = (one for report in reports for one in report.operators if one.sample.operator in spread)
    oldest = [(one.sample.operator, one.oldest) for one in facts]
    return retire_epochs(plan, network, oldest_by_join(oldest)) if oldest else plan


def obsolete_state(version: Version, plan: Plan, network: Network) -> tuple[Key, ...]:
    """Return the state of instances that the plan no longer has; the commit of the batch drops it."""
    gone = obsolete_instances(version.units, plan, network) if spread_joins(network) else frozenset()
    return tuple((unit, part) for unit in sorted(gone) for part in version.units[unit])
