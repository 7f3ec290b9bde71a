"""The facts of a batch, from the reports of its tasks."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import drover
from drover.flow.frames import Edge
from drover.flow.node import OperatorFacts
from drover.flow.parking import ParkedOperator
from drover.flow.schedule import HopNode
from drover.flow.state.segments import Segment
from drover.flow.watermarks import SourceProgress
from drover.flow.worker import NodeReport, TaskId
from drover.load.sample import Sample
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.batch import BatchResult
from drover.spark.commit_notes import CommitNotes
from drover.spark.facts import BatchFacts, BatchSeconds, facts_of, samples_of
from drover.spark.tasks import RouterReport

COLUMNS = {"ts": "timestamp", "k": "bigint"}
SECONDS = BatchSeconds(0.6, 0.2, 0.1)
BROKEN = ParkedOperator("ValueError: no", holds=True, frozen=5, since=2, at=1.5, rows=3, bytes=40)
NOTES = CommitNotes(4, 2, 3, SourceProgress({}, {"a": 7}), {"broken": BROKEN})


def network() -> Network:
    net = drover.Builder("n")
    a, b = (net.source(name, COLUMNS, time="ts") for name in "ab")
    a.filter("some", "k > 0").join("j", b, within="2 s", on="k", select={"k": "left.k"}, spread="auto").output()
    return net.build()


def report(hop: int, node: int, *samples: Sample, busy: float = 0.0, seconds: float = 0.0) -> NodeReport:
    place = HopNode(hop, node)
    facts = tuple(OperatorFacts(sample, place) for sample in samples)
    written = (Segment("some", "rows", "f", 0, 40, 0, 1, None, False),) if samples else ()
    return NodeReport(place, facts, (), written, {}, busy, seconds, loaded=100)


def test_reports_of_tasks_become_one_value() -> None:
    some = Sample("some", {"a": 5}, {"some": 3}, 0.1)
    routed = (
        RouterReport({"a": 3, "b": 1}, (Edge("b", 1, 1, 10), Edge("a", 0, 1, 20)), 0.05),
        RouterReport({"a": 2}, (Edge("a", 0, 2, 30),), 0.02),
    )
    reports = (
        report(0, 0, some, busy=0.2, seconds=0.3),
        report(0, 1, busy=0.1, seconds=0.4),
        report(1, 1, seconds=0.1),
    )
    rows = {"j": pl.DataFrame({"k": [1, 2]})}
    dead = {"a": pl.DataFrame({"k": [1]})}
    result = BatchResult(rows, dead, {}, reports, routed, engine="resident")
    found = facts_of(9, Plan(2, 3, {"some": 0, "j": 1}), result, NOTES, SECONDS, None)
    assert found == BatchFacts(
        batch=9,
        spark_batch=4,
        plan=2,
        nodes=3,
        hops=2,
        seconds=BatchSeconds(0.6, 0.2, 0.1, routing=0.05, nodes=0.5),
        rows_in={"a": 5, "b": 1},
        routed=(Edge("a", 0, 3, 50), Edge("b", 1, 1, 10)),
        rows_out={"j": 2},
        dead_letters={"a": 1},
        watermarks={"a": 7},
        parked={"broken": BROKEN},
        busy=(0.2, 0.1, 0.0),
        wall=(0.3, 0.5, 0.0),
        loaded=300,
        operators=(OperatorFacts(some, HopNode(0, 0)),),
        engine="resident",
        hop_busy=((0.2, 0.1, 0.0), (0.0, 0.0, 0.0)),
        result_bytes=16,
        state_bytes=40,
    )
    assert found.seconds.whole == pytest.approx(0.9)


def test_the_task_of_a_node_is_that_in_which_it_was_busiest() -> None:
    first = replace(report(0, 1, busy=0.2), task=TaskId(6, 10))
    later = replace(report(1, 1, busy=0.1), task=TaskId(7, 13))
    other = replace(report(0, 0), task=TaskId(6, 11))
    unknown = report(0, 2, busy=0.3)
    result = BatchResult({}, {}, {}, (first, later, other, unknown))
    assert facts_of(0, Plan(1, 3, {}), result, NOTES, SECONDS, None).tasks == {0: TaskId(6, 11), 1: TaskId(6, 10)}


def test_a_batch_in_pieces_waits_for_the_slowest_node() -> None:
    whole = BatchResult({}, {}, {}, (report(0, 0, seconds=0.3), report(1, 1, seconds=0.4)))
    plan = Plan(1, 2, {"some": 0, "j": 1})
    found = [facts_of(0, plan, one, NOTES, SECONDS, None) for one in (whole, replace(whole, pieces=4))]
    assert [facts.seconds.nodes for facts in found] == pytest.approx([0.7, 0.4])
    assert [facts.pieces for facts in found] == [1, 4]


def test_a_batch_without_rows_has_facts() -> None:
    found = facts_of(0, Plan(1, 2, {"some": 0, "j": 1}), BatchResult({}, {}, {}, ()), NOTES, SECONDS, None)
    assert (found.hops, found.rows_in, found.busy, found.seconds.nodes) == (1, {}, (0.0, 0.0), 0.0)
    assert samples_of(network(), found) == []


def batch(*facts: OperatorFacts) -> BatchFacts:
    return BatchFacts(0, 0, 1, 2, 1, SECONDS, {"a": 10, "b": 4}, operators=facts)


def test_samples_are_in_the_order_of_the_network_and_of_its_operators_only() -> None:
    names = ["j", "dropped", "some"]
    facts = [OperatorFacts(Sample(name, {}, {}, 0.1), HopNode(0, 0)) for name in names]
    assert [sample.operator for sample in samples_of(network(), batch(*facts))] == ["some", "j"]


def test_instances_become_one_sample_that_counts_no_copies() -> None:
    some = OperatorFacts(Sample("some", {"a": 10}, {"some": 6}, 0.1), HopNode(0, 0))
    one = OperatorFacts(Sample("j", {"some": 6, "b": 2}, {"j": 1}, 0.25, 100), HopNode(1, 0))
    other = OperatorFacts(Sample("j", {"some": 6, "b": 2}, {"j": 2}, 0.5, 50), HopNode(1, 1), instance=1)
    found = samples_of(network(), batch(some, one, other))
    assert found == [some.sample, Sample("j", {"some": 6, "b": 4}, {"j": 3}, 0.75, 150)]
