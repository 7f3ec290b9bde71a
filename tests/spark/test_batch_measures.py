"""What the model of a batch learns from the facts of a batch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drover.flow.frames import Edge
from drover.flow.node import OperatorFacts
from drover.flow.schedule import HopNode
from drover.load.batch_model import BatchMeasure, BatchWork
from drover.load.sample import Sample
from drover.load.slot_offer import SlotOffer
from drover.spark.batch_measures import measure_batch
from drover.spark.facts import BatchFacts, BatchSeconds, QueryFacts

FACTS = BatchFacts(
    batch=1,
    spark_batch=1,
    plan=1,
    nodes=2,
    hops=2,
    seconds=BatchSeconds(0.8, 0.2, 0.1, routing=0.05, nodes=0.5),
    rows_in={"a": 10, "b": 5},
    routed=(Edge("a", 0, 1, 100), Edge("b", 1, 1, 50)),
    rows_out={"j": 4},
    busy=(0.4, 0.3),
    operators=(
        OperatorFacts(Sample("f", {"a": 10}, {"f": 8}, 0.3), HopNode(0, 0), (Edge("f", 1, 1, 30),)),
        OperatorFacts(Sample("j", {"f": 8, "b": 5}, {"j": 4}, 0.2), HopNode(1, 1)),
    ),
    engine="shuffle",
    hop_busy=((0.4, 0.1), (0.0, 0.2)),
    result_bytes=64,
    state_bytes=32,
)


def test_what_ran_in_pieces_overlaps() -> None:
    operators = tuple(replace(one, pieces=2) for one in FACTS.operators)
    in_pieces = replace(FACTS, pieces=2, operators=operators, hop_busy=((0.3, 0.0), (0.0, 0.2)))
    # Without pieces 0.5; 0.3 on the slower node, and half of the rest.
    assert measure_batch(in_pieces, SlotOffer(slots=2, cores=2, trigger=2.0)).work.work == pytest.approx(0.4)


def test_a_batch_is_measured_with_the_cores_that_it_had() -> None:
    found = measure_batch(FACTS, SlotOffer(slots=1, cores=1, trigger=2.0))
    assert found.work.work == pytest.approx(0.7)
    assert found.overhead == pytest.approx(0.2)
    assert found == BatchMeasure(
        BatchWork(15.0, 150.0, 2.0, found.work.work, 4.0, 64.0, 32.0),
        compute=0.8,
        routing=0.05,
        sinks=0.2,
        commit=0.1,
        nodes=2,
        slots=1,
        cores=1,
        trigger=2.0,
        engine="shuffle",
        places=3.0,
        transfers=4.0,
        moved_bytes=210.0,
        overhead=found.overhead,
        busy=found.busy,
    )
    assert found.busy == pytest.approx(0.7)


def test_what_operators_waited_needs_no_core() -> None:
    waits = replace(FACTS.operators[0], sample=replace(FACTS.operators[0].sample, waited=0.25))
    found = measure_batch(replace(FACTS, operators=(waits, FACTS.operators[1])), SlotOffer(slots=1, cores=1))
    assert found.work.work == pytest.approx(0.4 + 0.2), "of the first hop, one core needs 0.25 s"
    assert found.waited == pytest.approx(0.25)
    assert found.overhead == pytest.approx(0.2)


def test_unknown_cores_are_one_for_each_node_and_queries_are_no_overhead() -> None:
    queries = QueryFacts(1, 0, 1, 0, 0, 1.0, {}, (0.1, 0.05))
    found = measure_batch(replace(FACTS, queries=queries), SlotOffer())
    assert found.work.work == pytest.approx(0.6)
    assert (found.cores, found.trigger) == (0, 0.0)
    assert found.overhead == pytest.approx(0.05)


def test_a_batch_without_hops_counts_its_nodes() -> None:
    assert measure_batch(replace(FACTS, hop_busy=()), SlotOffer()).work.work == pytest.approx(0.4)
