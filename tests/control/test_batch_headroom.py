"""Headroom by the model of a batch, against a made-up engine whose limit is known."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from drover.control.batch_headroom import BatchGrowth, BatchHeadroom, batch_headroom, to_json
from drover.control.settings import Mode
from tests.control.overloads import LoadedRun, loaded
from tests.control.runs import AUTO

WATCHING = replace(AUTO, mode=Mode.OBSERVE)


def of(run: LoadedRun, periods: int = 8) -> BatchHeadroom:
    run.go(periods)
    found = batch_headroom(run.run.context)
    assert found is not None
    return found


def test_the_rates_grow_until_a_batch_takes_as_long_as_its_trigger() -> None:
    found = of(loaded(nodes=2, count=2, plan="whole", cores=2, load=0.2, fixed=0.2, settings=WATCHING))
    # A batch takes 0.21 s whatever its rows are, and about 0.2 s for the rows of a trigger.
    assert found.all.factor == pytest.approx(0.79 / 0.2, rel=0.15)
    assert found.all.low <= found.all.factor <= found.all.high
    assert found.all.first in ("node 0 (its core)", "node 1 (its core)")
    assert found.text.startswith("a batch takes as long as the trigger at ")
    assert "first node" in found.text
    assert "gives out, then the fixed cost of a batch" in found.text


def test_each_source_alone_can_grow_further_than_all_together() -> None:
    found = of(loaded(nodes=2, count=4, plan="whole", cores=2, load=0.2, settings=WATCHING))
    assert set(found.sources) == {"s0", "s1", "s2", "s3"}
    assert all(one.factor > found.all.factor for one in found.sources.values())


def test_nodes_that_share_cores_give_out_together() -> None:
    found = of(loaded(nodes=4, count=8, plan="whole", cores=1, load=0.1, settings=WATCHING))
    assert found.all.first == "the processor (4 nodes share 1 cores)"


def test_nodes_that_wait_share_no_cores() -> None:
    found = of(loaded(nodes=4, count=8, plan="whole", cores=1, load=0.1, waits=1.0, settings=WATCHING))
    alone = of(loaded(nodes=4, count=8, plan="whole", cores=4, load=0.1, settings=WATCHING))
    assert found.all.first.endswith("(its core)")
    assert found.all.factor == pytest.approx(alone.all.factor, rel=0.1)


def test_reading_gives_out_first_if_rows_cost_most_there() -> None:
    found = of(loaded(per_row=1e-4, load=0.02, cost=1e-5, settings=WATCHING))
    assert found.all.first == "reading and routing"


def test_an_overloaded_run_has_to_shrink() -> None:
    assert of(loaded(load=1.4, cores=4, settings=WATCHING)).all.factor < 1


def test_without_batches_there_is_no_headroom() -> None:
    run = loaded()
    assert batch_headroom(run.run.context) is None
    run.run.go(1)
    assert batch_headroom(run.run.context) is None


def test_json_and_words_of_what_is_unlimited() -> None:
    free = BatchGrowth(math.inf, math.inf, math.inf)
    half = BatchGrowth(3.2, 3.0, math.inf, "node 2 (its core)", "reading and routing")
    found = BatchHeadroom(None, 0.5, half, {"a": free}, free)
    assert str(free) == "nothing limits these rates"
    assert found.text == (
        "batches grow without end at 3.2 times (3) of these rates; first node 2 (its core) gives out, "
        "then reading and routing"
    )
    body = json.loads(json.dumps(to_json(found)))
    assert body["sources"]["a"]["factor"] is None
    assert (body["all"]["factor"], body["all"]["high"]) == (3.2, None)
    assert replace(found, all=free).text == "nothing limits these rates"
