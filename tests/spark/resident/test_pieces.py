"""Batches in pieces give what whole batches give, byte for byte: rows in order, late rows, queries, state and facts."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from numpy.random import default_rng
from polars.testing import assert_frame_equal

import drover
from drover.control.failing import FailurePolicy, OnFailure
from drover.errors import DroverError
from drover.flow.frames import Frame
from drover.flow.parking import Parking
from drover.flow.pipelining import Pipeline, make_pipeline, streamed_operators
from drover.flow.schedule import Schedule
from drover.flow.state.layout import STATE
from drover.flow.state.segments import read_segments
from drover.flow.state.storage import join, open_root
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.facts import BatchFacts
from drover.spark.resident import engine as module
from drover.spark.resident.driver_routing import SMALL_BYTES
from drover.spark.resident.wire import HopRequest, NodeAddress
from drover.spark.sinks import Memory
from tests import user_functions
from tests.flow.harness import Batch
from tests.flow.test_against_oracle import random_batches
from tests.flow.test_many_networks import MAKERS
from tests.simulation.queries import draw_entry
from tests.spark.resident import local_nodes
from tests.spark.resident.local_nodes import QuietCache
from tests.spark.resident.test_engine import FrozenNode, ResidentRun
from tests.spark.resident.test_random_networks import MOST_NODES, assert_gives, stir
from tests.spark.runs import COLUMNS, ordered_batches


def in_pieces(pieces: int) -> Callable[[Schedule, Parking, Mapping[str, float]], Pipeline]:
    """Pipelines of so many pieces, whatever was measured."""

    def pipelines(schedule: Schedule, parking: Parking, _busy: Mapping[str, float]) -> Pipeline:
        return make_pipeline(schedule, streamed_operators(schedule, parking), pieces)

    return pipelines


class TwoRuns:
    """A run in pieces and a run without, on the same rows and plans."""

    def __init__(self, network: Network, root: Path, pieces: int, nodes: int = 3, **options: Any) -> None:
        self.network = network
        self.batches: list[Batch] = []
        self.pieced = ResidentRun(network, root / "pieces", nodes, pipelines=in_pieces(pieces), **options)
        self.whole = ResidentRun(network, root / "whole", nodes, pipelines=in_pieces(1), **options)

    @property
    def both(self) -> tuple[ResidentRun, ResidentRun]:
        return self.pieced, self.whole

    def each(self, change: Callable[[ResidentRun], object]) -> None:
        for run in self.both:
            change(run)

    def process(self, batch: Batch, **options: Any) -> None:  # Any: of LocalRows
        self.each(lambda run: run.process(batch, len(self.batches), **options))
        self.batches.append(batch)
        self.compare()

    def compare(self) -> None:
        """Compare what both runs have so far."""
        for stream in self.network.outputs:
            assert_equal(self.pieced.sinks[stream], self.whole.sinks[stream])
        assert_equal(self.pieced.late, self.whole.late)
        assert sorted(self.pieced.results.tables) == sorted(self.whole.results.tables)
        for name, table in self.pieced.results.tables.items():
            assert_equal(table, self.whole.results.tables[name])
        assert content(self.pieced) == content(self.whole)
        one, other = (counted(run.driver.history[-1]) for run in self.both)
        assert one == other

    def close(self) -> None:
        self.each(lambda run: run.driver.close())


def assert_equal(one: Memory, other: Memory) -> None:
    """The same rows in the same order, to the last bit."""
    assert list(one.batches) == list(other.batches)
    for batch, rows in one.batches.items():
        assert_frame_equal(rows, other.batches[batch], check_exact=True)


def content(run: ResidentRun) -> dict[tuple[str, str], Any]:
    """The committed state: the rows of every file. Bytes under a NULL may be anything, so files are read."""
    fs, root = open_root(run.driver.root)
    return {
        (unit, part): (
            saved.bound,
            [(one.rows, one.newest, one.replace) for one in saved.segments],
            [read_segments(fs, join(root, STATE), [segment]).to_pylist() for segment in saved.segments],
        )
        for unit, parts in run.driver.checkpoint.version.units.items()
        for part, saved in parts.items()
    }


def counted(facts: BatchFacts) -> Any:  # Any: whatever is the same in both runs
    """What the batch counted. Left out: frames, as there are more of them in pieces, and buffers of state in memory."""
    operators = [
        (one.sample.operator, one.place, one.sample.rows_in, one.sample.rows_out, one.state) for one in facts.operators
    ]
    sent = [(one.sample.operator, [(edge.stream, edge.node) for edge in one.edges]) for one in facts.operators]
    parked = {name: (one.holds, one.rows, one.since) for name, one in facts.parked.items()}
    return facts.rows_in, facts.rows_out, facts.routed, facts.late, facts.watermarks, operators, sent, parked


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", range(3))
def test_random_networks_whose_units_move_and_whose_nodes_die(tmp_path: Path, kind: str, seed: int) -> None:
    rng = default_rng([seed, 13, *kind.encode()])
    network = MAKERS[kind](rng)
    batches = random_batches(network, rng)
    estimate = SMALL_BYTES if seed % 2 else SMALL_BYTES + 1  # whether the driver routes
    runs = TwoRuns(
        network, tmp_path, int(rng.integers(2, 9)), int(rng.integers(1, MOST_NODES + 1)), estimate=lambda _: estimate
    )
    try:
        for number, batch in enumerate(batches):
            attempts = int(rng.integers(1, 3))
            if number == 1:
                entries = [draw_entry(network, rng, f"q{index}") for index in range(3)]
                runs.each(lambda run, entries=entries: run.service.submit(entries))  # type: ignore[misc]
            runs.process(batch, attempts=attempts)
            stirring = int(rng.integers(1 << 30))
            runs.each(lambda run, seed=stirring: stir(run, default_rng(seed)))  # type: ignore[misc]
    finally:
        runs.close()
    assert_gives(runs.pieced, batches)


def cut_chain() -> Network:
    """A chain over three nodes, whose third operator fails at a NULL, and windows behind it."""
    net = drover.Builder("cut")
    source = net.source("a", COLUMNS, time="ts", lateness="1 s")
    more = source.filter("some", "key <> 3").map("more", {"ts": "ts", "tag": "tag", "amount": "amount * 2"})
    net.source("b", COLUMNS, time="ts", lateness="1 s").filter("others", "key > 1").output()
    more.apply("fragile", user_functions.refuses_nulls).filter("odd", "amount % 2 = 0").output()
    more.aggregate("windows", {"n": "count(*)", "total": "sum(amount)"}, size="5 s").output()
    return net.build()


CUT = {"some": 0, "more": 1, "fragile": 2, "odd": 0, "windows": 1, "others": 2}
BATCHES: list[Batch] = [
    {name: rows.with_columns(pl.col("tag").fill_null("none")) for name, rows in batch.items()}
    for batch in ordered_batches(cut_chain(), 6, 40)
]


def spoiled(batch: Batch) -> Batch:
    """The batch with one NULL in the middle."""
    tag = pl.when(pl.int_range(pl.len()) == 20).then(None).otherwise("tag")
    return {**batch, "a": batch["a"].with_columns(tag=tag, key=pl.lit(1, pl.Int32))}


def cut_runs(root: Path, pieces: int = 4, **options: Any) -> TwoRuns:
    runs = TwoRuns(cut_chain(), root, pieces, **options)
    runs.each(lambda run: run.planner.replan(lambda plan: Plan(plan.number + 1, 3, CUT)))
    return runs


def pieces_of(runs: TwoRuns) -> list[int]:
    return [facts.pieces for facts in runs.pieced.driver.history]


@pytest.fixture
def mended() -> Iterator[Path]:
    user_functions.MENDED.unlink(missing_ok=True)
    yield user_functions.MENDED
    user_functions.MENDED.unlink(missing_ok=True)


@pytest.mark.parametrize("pieces", [2, 5, 8])
def test_a_chain_over_three_nodes(tmp_path: Path, pieces: int) -> None:
    runs = cut_runs(tmp_path, pieces)
    for batch in BATCHES:
        runs.process(batch)
    assert pieces_of(runs) == [pieces] * len(BATCHES)
    assert [facts.pieces for facts in runs.whole.driver.history] == [1] * len(BATCHES)
    assert runs.pieced.driver.history[-1].hops == 4
    assert_gives(runs.pieced, BATCHES)
    runs.close()


def test_more_pieces_than_rows(tmp_path: Path) -> None:
    runs = cut_runs(tmp_path, 8)
    few = [{name: rows[:3] for name, rows in batch.items()} for batch in BATCHES]
    for batch in [*few, {name: rows[:0] for name, rows in BATCHES[0].items()}]:
        runs.process(batch)
    runs.close()


@pytest.mark.parametrize("policy", [OnFailure.HOLD, OnFailure.SKIP])
def test_a_function_that_fails_in_a_middle_piece_emits_nothing(tmp_path: Path, mended: Path, policy: OnFailure) -> None:
    runs = cut_runs(tmp_path, policy=FailurePolicy(policy))
    for number, batch in enumerate(BATCHES):
        runs.process(spoiled(batch) if number == 2 else batch)
        if number == 4:
            mended.touch()
            runs.each(lambda run: run.planner.resume("fragile"))
    held = [facts.parked["fragile"].rows for facts in runs.pieced.driver.history if "fragile" in facts.parked]
    assert len(held) == 3
    assert all(held) == (policy is OnFailure.HOLD)
    # With `hold`, the batch runs once more with the operator parked, and that attempt is in pieces again.
    assert pieces_of(runs) == [4, 4, 4 if policy is OnFailure.HOLD else 1, 4, 4, 4]
    runs.close()


def test_a_run_that_stops_on_failure_stops_with_the_same_error(tmp_path: Path, mended: Path) -> None:
    runs = cut_runs(tmp_path, policy=FailurePolicy(OnFailure.STOP))
    assert not mended.exists()
    runs.process(BATCHES[0])
    for run in runs.both:
        with pytest.raises(DroverError, match=r"operators failed and on_failure is stop: fragile: .*a tag is missing"):
            run.process(spoiled(BATCHES[1]), 1)
    runs.close()


@pytest.mark.parametrize("hop", [0, 1, 3])
@pytest.mark.parametrize("piece", [0, 2, None])
@pytest.mark.parametrize("how", ["dies", "freezes"])
def test_a_node_that_is_lost_in_the_middle_of_the_wave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hop: int, piece: int | None, how: str
) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.05)
    monkeypatch.setattr(module, "FROZEN", 0.2)
    runs = cut_runs(tmp_path)
    nodes = runs.pieced.nodes
    run_hop = module.NodeClients.run_hop
    end = nodes.lose
    frozen: list[FrozenNode] = []
    lock = threading.Lock()
    due: list[int] = []

    def lose(node: int) -> None:
        for one in frozen:
            one.goes_on.set()
        end(node)

    def losing(clients: module.NodeClients, request: HopRequest, address: NodeAddress) -> list[Frame]:
        with lock:
            if (request.hop, request.piece) == (hop, piece) and due and nodes.is_there(address):
                due.clear()
                if how == "dies":
                    nodes.lose(address.node)
                else:
                    frozen.append(FrozenNode(nodes.nodes[address.node], monkeypatch))
        return run_hop(clients, request, address)

    monkeypatch.setattr(nodes, "lose", lose)
    monkeypatch.setattr(module.NodeClients, "run_hop", losing)
    for number, batch in enumerate(BATCHES[:4]):
        due[:] = [number] if number == 2 else []
        runs.process(batch)
    assert nodes.starts == 4
    assert pieces_of(runs) == [4, 4, 4, 4]
    runs.close()


def test_what_the_last_batch_took_decides_about_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(local_nodes, "new_cache", lambda: QuietCache(lambda: 0.05 * next(seconds), lambda _: None))
    run = ResidentRun(cut_chain(), tmp_path)
    run.planner.replan(lambda plan: Plan(plan.number + 1, 3, CUT))
    for number, batch in enumerate(BATCHES):
        run.process(batch, number)
        if number == 3:
            run.planner.replan(lambda plan: Plan(plan.number + 1, 1, dict.fromkeys(CUT, 0)))
    pieces = [facts.pieces for facts in run.driver.history]
    assert pieces[0] == 1, "nothing is known of the first batch"
    assert min(pieces[1:4]) > 1
    assert pieces[4:] == [1, 1], "one node has one hop"
    assert_gives(run, BATCHES)
    run.driver.close()
