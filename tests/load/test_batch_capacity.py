"""What a node can spend follows from cores, nodes, trigger and the fixed cost of a batch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from numpy.random import default_rng

from drover.load.batch_capacity import LEAST, NodeCapacity, UsualBatches, usual_batches
from drover.load.batch_model import BatchWork
from tests.load.batches import RATE, USUAL, batch, batches


def usual(**options: float) -> UsualBatches:
    found = usual_batches(batches(**options))  # type: ignore[arg-type]  # numbers of any kind
    assert found is not None
    return found


def capacity(nodes: int, rate: float = RATE, **options: float) -> NodeCapacity:
    found = usual(**options).capacity(nodes, rate)
    assert found is not None
    return found


def test_a_node_has_its_share_of_the_cores_for_what_batches_leave() -> None:
    found = capacity(4)
    # Per second: 0.2 + 2 * 0.09 + 0.05 + 0.02 fixed, 0.02 reading, 0.002 sinks; a busy second takes 1.1.
    free = 1 - 0.45 - 0.022
    assert found.free == pytest.approx(free, rel=0.1)
    assert found.each == pytest.approx(free / 1.1 / 2 - 0.02 * 0.3 / 4, rel=0.1)
    assert found.share == 0.5
    assert capacity(2).each == pytest.approx(2 * found.each, rel=0.05)
    assert capacity(1).share == 1.0
    assert "4 nodes share 2 cores" in str(found)
    assert "every node has a core" in str(capacity(1))


def test_nodes_that_only_wait_need_no_cores() -> None:
    def share(waited: float) -> float:
        made = [replace(one, busy=2.0, waited=waited) for one in batches()]
        found = usual_batches(made)
        assert found is not None
        offer = found.capacity(10, RATE)
        assert offer is not None
        assert offer.each == pytest.approx(offer.free / offer.stretch * offer.share - offer.overhead)
        return offer.share

    assert share(0.0) == pytest.approx(0.2), "ten nodes share two cores"
    assert share(1.0) == pytest.approx(0.4)
    assert share(1.8) == 1.0
    assert share(2.0) == 1.0


def test_a_longer_trigger_leaves_nodes_more() -> None:
    each = [capacity(2, trigger=trigger).each for trigger in (0.6, 1.0, 2.0, 10.0)]
    assert each == sorted(each)
    without = capacity(2, trigger=0.0)
    assert without.free > 0.95, "without a pause, batches grow until the fixed cost does not matter"


def test_more_rows_leave_nodes_less() -> None:
    each = [capacity(2, rate).each for rate in (0.0, 1e3, 1e4, 2e4)]
    assert each == sorted(each, reverse=True)


def test_a_fixed_cost_above_the_trigger_leaves_the_least() -> None:
    found = capacity(2, trigger=0.3)
    assert (found.free, found.each) == (0.0, LEAST)


def test_what_a_row_means_is_taken_from_the_last_batches() -> None:
    found = usual()
    assert found.per_row.routed_bytes == pytest.approx(50.0)
    assert found.per_row.work == pytest.approx(3e-4)
    assert found.per_row.hops == 2.0
    assert found.per_row.times(RATE).result_rows == pytest.approx(USUAL.result_rows)
    assert (found.trigger, found.cores) == (1.0, 2.0)


def test_too_few_batches_and_unknown_cores_give_no_capacity() -> None:
    assert usual_batches(()) is None
    assert usual(cores=0).capacity(2, RATE) is None
    idle = [batch(BatchWork(), default_rng(0)) for _ in range(5)]
    found = usual_batches(idle)
    assert found is not None
    assert found.per_row == BatchWork(hops=1.0)
