"""Spread joins after a batch: expired epochs leave the plan, and obsolete state leaves the checkpoint."""

from __future__ import annotations

import drover
from drover.flow.instances import explicit, reshape, spread_join
from drover.flow.node import OperatorFacts
from drover.flow.schedule import HopNode
from drover.flow.state.versions import PartState, Version
from drover.flow.worker import NodeReport
from drover.load.sample import Sample
from drover.network.grid import Grid
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.spreading import obsolete_state, without_expired_epochs


def network(*, spread: bool = True) -> Network:
    net = drover.Builder("n")
    a, b = (net.source(name, {"ts": "timestamp", "k": "bigint"}, time="ts") for name in "ab")
    names = {"k": "left.k"}
    a.join("j", b, within="2 s", on="k", select=names, spread="auto" if spread else None).output()
    return net.build()


def plan() -> Plan:
    before = explicit(Plan(1, 2, {"j": 0}), network())
    return reshape(before, spread_join(network(), "j"), Grid(2, 1))


def report(node: int, oldest: int | None, instance: int = 0, operator: str = "j") -> NodeReport:
    place = HopNode(0, node)
    facts = OperatorFacts(Sample(operator, {}, {}, 0.0), place, (), instance, oldest)
    return NodeReport(place, (facts,), (), (), {})


def test_an_epoch_lives_while_any_instance_holds_its_rows() -> None:
    assert without_expired_epochs(plan(), network(), [report(0, 0), report(1, 1, instance=1)]) == plan()
    after = without_expired_epochs(plan(), network(), [report(0, 1), report(1, 1, instance=1)])
    assert [epoch.number for epoch in after.instances["j"].epochs] == [1]


def test_reports_of_other_operators_change_nothing() -> None:
    found = plan()
    assert without_expired_epochs(found, network(), [report(0, None, operator="f")]) is found
    assert without_expired_epochs(found, network(), []) is found


def test_state_of_instances_that_are_gone_is_dropped() -> None:
    parts = {"left": PartState(), "right": PartState()}
    version = Version(0, {"j": parts, "j[1]": parts, "j[2]": parts, "agg": parts})
    assert obsolete_state(version, plan(), network()) == (("j[2]", "left"), ("j[2]", "right"))
    assert obsolete_state(version, Plan(1, 2, {"j": 0}), network(spread=False)) == ()
