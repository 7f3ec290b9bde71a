"""Spread joins on what nobody hopes for: every pair is still made once, and none is missing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from numpy.random import default_rng
from polars.testing import assert_frame_equal

import drover
from drover.flow.operators import join as join_module
from drover.placement.plan import round_robin
from tests.flow.harness import Harness
from tests.flow.hostile import PREDICATES, batches_of, four_streams, two_streams
from tests.flow.pairs import COLUMNS, SCHEMA, SELECT, START, all_pairs
from tests.flow.spreading import assert_as_whole, chaos, joins_of, unspread
from tests.flow.stored import StoredHarness

KINDS = list(PREDICATES)


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 20))])
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_equal_all_pairs_on_hostile_streams(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = default_rng([seed, *kind.encode(), 1])
    monkeypatch.setattr(join_module, "PIECE", int(rng.integers(3, 1000)))
    network = two_streams(rng, kind)
    batches = batches_of(network, rng)
    harness = Harness(network)
    run = chaos(network, rng, restless=bool(rng.random() < 0.5))
    for batch in batches:
        seen = len(harness.facts)
        harness.run(batch, run.step())
        run.retire_epochs(harness.facts[seen:])
    assert harness.failures == []
    expected = all_pairs(network, joins_of(network)[0], batches)
    assert_frame_equal(harness.output("j").select("a", "b").sort("a", "b"), expected)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 16))])
def test_trees_of_four_streams_give_what_whole_joins_give(seed: int) -> None:
    rng = default_rng([seed, 5])
    network = four_streams(rng)
    batches = [*batches_of(network, rng, most=10), {}]
    assert_as_whole(network, batches, chaos(network, rng, restless=bool(rng.random() < 0.5)))


@pytest.mark.parametrize("seed", range(14))
def test_crashes_right_after_changes_of_shape(tmp_path: Path, seed: int) -> None:
    """Every batch has another shape, and every second one goes wrong in some way."""
    rng = default_rng([seed, 6])
    network = two_streams(rng, KINDS[seed % len(KINDS)])
    batches = batches_of(network, rng)
    harness = StoredHarness(network, tmp_path, rng, trouble=0.5)
    run = chaos(network, rng, restless=True)
    for batch in batches:
        harness.run(batch, run.step())
        run.retire_epochs(harness.facts)
    assert harness.failures == []
    expected = all_pairs(network, joins_of(network)[0], batches)
    assert_frame_equal(harness.output("j").select("a", "b").sort("a", "b"), expected)


@pytest.mark.parametrize("seed", range(5))
def test_crashes_within_trees_of_four_streams(tmp_path: Path, seed: int) -> None:
    """What one spread join makes is dealt to the next, again and again, by whoever happens to run it."""
    rng = default_rng([seed, 7])
    network = four_streams(rng)
    batches = [*batches_of(network, rng, most=10), {}]
    whole = unspread(network)
    plain = Harness(whole)
    run = chaos(network, rng, restless=True)
    harness = StoredHarness(network, tmp_path, rng, trouble=0.5)
    for batch in batches:
        harness.run(batch, run.step())
        run.retire_epochs(harness.facts)
        plain.run(batch, round_robin(whole, 1))
    assert (harness.failures, plain.failures) == ([], [])
    for stream in network.outputs:
        assert_frame_equal(harness.output(stream), plain.output(stream), check_row_order=False)


@pytest.mark.parametrize("window", [0, 1, 999, 1000, 5000])
def test_the_last_row_that_can_still_meet_another_is_kept(window: int) -> None:
    """A left row waits `window` microseconds; what comes next is one microsecond after the watermark."""
    net = drover.Builder("n")
    left, right = (net.source(name, COLUMNS, time="ts") for name in "ab")
    left.join("j", right, within=(f"{window} us", "0 s"), on="k", select=SELECT, spread=(2, 2)).output()
    network = net.build()
    harness = Harness(network)

    def at(*times: int) -> pl.DataFrame:
        columns = {"ts": [START + time for time in times], "k": 0, "x": 0, "y": 0.0, "n": [*times]}
        return pl.DataFrame(columns).select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())

    early = (-window, 1 - window, 2 - window, 0)
    for batch in ({"a": at(*early), "b": at(0)}, {}, {"b": at(1)}):
        harness.run(batch, round_robin(network, 3))
    found = harness.output("j").filter(pl.col("b") == 1)["a"].sort().to_list()
    assert found == sorted(time for time in early if 0 <= 1 - time <= window)
