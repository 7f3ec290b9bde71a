"""Checkpoints that continue with another form of their network, against runs that never changed.

What keeps its state gives the results of one run of the old form over all rows. What starts anew gives the results of
the new form over the rows since then.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from numpy.random import Generator, default_rng
from pyarrow.fs import LocalFileSystem

import drover
from drover.flow.instances import explicit, reshape, spread_join
from drover.flow.operators import PENDING
from drover.flow.planlog import PlanLogEntry
from drover.flow.state.commits import Checkpoint, commit, latest
from drover.flow.state.documents import Commit
from drover.flow.state.layout import state_name
from drover.flow.state.segments import Delta, write_deltas
from drover.flow.tables import Address, addresses, prepare_tables
from drover.network.compare import Fate, compare
from drover.network.grid import Epoch, Grid
from drover.network.model import Network
from drover.network.operators import Aggregate, Filter, Join, Operator
from drover.network.rewrite import with_inputs
from drover.placement.plan import Instances, Plan, round_robin
from drover.spark.changeover import change_over, renamed_plan, translated
from drover.spark.changes import NetworkChange, checksum_of, network_of_state, note_network, noted_network
from drover.spark.commit_notes import NetworkChangeover, changeover_of, changeover_to_json
from drover_lab.generate import DagParameters, dags
from tests.flow.harness import Batch, Harness
from tests.flow.oracle import assert_same_rows
from tests.flow.stored import StoredHarness, new_worker
from tests.spark.runs import ordered_batches

BATCHES = 6
CHANGEOVER = 3  # batches before the change


def mutated(network: Network, rng: Generator) -> Network:
    """Return the network with some operators renamed, some windows longer and some filters reversed."""
    names = {
        operator.name: f"{operator.name}_now" if rng.random() < 0.3 else operator.name for operator in network.operators
    }
    streams = {
        stream: names[operator.name] + stream.removeprefix(operator.name)
        for operator in network.operators
        for stream in operator.outputs
    }

    def one(operator: Operator) -> Operator:
        inputs = [streams.get(stream, stream) for stream in operator.inputs]
        name = names[operator.name]
        made = replace(with_inputs(operator, inputs), name=name, was=operator.name if name != operator.name else None)
        if rng.random() >= 0.3:
            return made
        match made:
            case Aggregate():
                return replace(made, size=made.size + made.advance)
            case Join():
                return replace(made, left_window=made.left_window + 1_000_000)
            case Filter():
                return replace(made, where=f"NOT ({made.where})")
            case _:
                return made

    outputs = tuple(streams.get(stream, stream) for stream in network.outputs)
    return Network(network.name, network.sources, tuple(map(one, network.operators)), outputs, network.tables)


def alone(network: Network, batches: list[Batch]) -> dict[int, dict[str, pl.DataFrame]]:
    """Return what a run of one network gives, by batch and stream."""
    harness = Harness(network)
    found = {}
    for number, batch in enumerate(batches):
        before = {stream: len(parts) for stream, parts in harness.results.items()}
        harness.run(batch, round_robin(network, 2))
        found[number] = {stream: _concat(parts[before[stream] :]) for stream, parts in harness.results.items()}
    return found


def _concat(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts) if parts else pl.DataFrame()


def together(found: dict[int, dict[str, pl.DataFrame]], stream: str, batches: range) -> pl.DataFrame:
    return _concat([rows for number in batches if (rows := found[number][stream]).height])


def changed_over(harness: StoredHarness, after: Network) -> None:
    """Continue with another network, all changes allowed."""
    before = harness.network
    change = NetworkChange(before, after, compare(before, after), None)
    harness.checkpoint = change_over(str(harness.root), harness.checkpoint, change, {})
    harness.network = after
    if harness.rng.random() < 0.5:  # otherwise workers of the same session go on, and must not trust their memory
        harness.workers = deque(new_worker() for _ in harness.workers)


@pytest.mark.parametrize("seed", range(25))
def test_each_operator_gives_what_its_fate_says(tmp_path: Path, seed: int) -> None:
    rng = default_rng(seed)
    before = dags(rng, DagParameters(sources=2, operators=int(rng.integers(3, 12))))
    after = mutated(before, rng)
    batches = [*ordered_batches(before, BATCHES - 1, 30, seed), {}]
    note_network(LocalFileSystem(), str(tmp_path), before)
    harness = StoredHarness(before, tmp_path, rng)
    for batch in batches[:CHANGEOVER]:
        harness.run(batch, round_robin(before, 2))
    harness.results.clear()
    changed_over(harness, after)
    assert noted_network(LocalFileSystem(), str(tmp_path)) == after
    for batch in batches[CHANGEOVER:]:
        harness.run(batch, round_robin(after, 2))
    assert harness.failures == []
    whole = alone(before, batches)
    since = alone(after, batches[CHANGEOVER:])
    for stream, expected in _expected(before, after).items():
        found = harness.output(stream)
        if expected.anew:
            assert_same(found, together(since, stream, range(BATCHES - CHANGEOVER)))
        elif expected.was is not None:
            assert_same(found, together(whole, expected.was, range(CHANGEOVER, BATCHES)))


def assert_same(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    if not expected.height:
        assert not found.height
    else:
        assert_same_rows(found, expected)


@dataclass(frozen=True)
class Expected:
    was: str | None = None  # the stream of the old network that it continues
    anew: bool = False  # whether only the rows since the change count


def _expected(before: Network, after: Network) -> dict[str, Expected]:
    """Say of which run each output must have the results; outputs that mix both are left out."""
    found = compare(before, after)
    fate = {part.name: part.fate for part in found.parts if part.section == "operators"}
    old = {new: name for name, new in found.renamed.items()}
    stateful = {operator.name for operator in after.operators if operator.holds_state}
    kind: dict[str, Expected | None] = {source.name: Expected(source.name) for source in after.sources}
    for operator in after.order:
        inputs = [kind[stream] for stream in operator.inputs]
        made: Expected | None = None
        whole = all(one is not None and one.was is not None for one in inputs)
        if whole and fate[operator.name] in (Fate.KEEPS, Fate.RENAMED):
            made = Expected(old.get(operator.name, operator.name))
        elif fate[operator.name] is Fate.ANEW and all(
            _fresh(stream, after, stateful, fate) for stream in operator.inputs
        ):
            made = Expected(None, anew=True)
        for stream in operator.outputs:
            branch = stream.removeprefix(operator.name)
            kind[stream] = made and (replace(made, was=made.was + branch) if made.was is not None else made)
    return {stream: one for stream in after.outputs if (one := kind[stream]) is not None}


def _fresh(stream: str, after: Network, stateful: set[str], fate: dict[str, Fate]) -> bool:
    """Whether rows of a stream since the change follow from rows of sources since the change."""
    makers = {one: operator for operator in after.operators for one in operator.outputs}
    maker = makers.get(stream)
    if maker is None:
        return True
    if maker.name in stateful and fate[maker.name] not in (Fate.ANEW, Fate.NEW):
        return False
    return all(_fresh(one, after, stateful, fate) for one in maker.inputs)


def test_the_property_above_sees_every_case() -> None:
    seen: set[tuple[bool, bool]] = set()
    for seed in range(25):
        rng = default_rng(seed)
        before = dags(rng, DagParameters(sources=2, operators=int(rng.integers(3, 12))))
        after = mutated(before, rng)
        seen |= {(one.anew, one.was != stream) for stream, one in _expected(before, after).items()}
    assert {(True, True), (False, True), (False, False)} <= seen


COLUMNS = {"ts": "timestamp", "k": "bigint"}


def joined(name: str = "pairs", was: str | None = None, window: str = "3 s") -> Network:
    net = drover.Builder("n")
    a, b = (net.source(source, COLUMNS, time="ts") for source in "ab")
    a.join(name, b, on="k", within=window, select={"x": "left.k"}, spread="2", was=was).output()
    return net.build()


def spread_plan(network: Network, join: str, number: int) -> Plan:
    """A join that was spread 1 x 2 and is 2 x 2 now; rows of both epochs are live."""
    first = explicit(round_robin(network, 3), network)
    return replace(reshape(first, spread_join(network, join), Grid(2, 2)), number=number)


def test_the_instances_of_a_spread_join_follow_its_new_name(tmp_path: Path) -> None:
    before = joined()
    after = joined("couples", was="pairs")
    batches = [*ordered_batches(before, BATCHES - 1, 40, 5), {}]
    harness = StoredHarness(before, tmp_path, default_rng(0))
    note_network(LocalFileSystem(), str(tmp_path), before)
    plan = explicit(round_robin(before, 3), before)
    for number, batch in enumerate(batches[:CHANGEOVER]):
        harness.run(batch, plan if number == 0 else spread_plan(before, "pairs", 2))
    assert len(harness.checkpoint.version.units) == 4
    changed_over(harness, after)
    assert set(harness.checkpoint.version.units) == {"couples", "couples[1]", "couples[2]", "couples[3]"}
    entry = translated(PlanLogEntry(1, spread_plan(before, "pairs", 2)), harness.checkpoint)
    for batch in batches[CHANGEOVER:]:
        harness.run(batch, entry.plan)
    found = pl.concat([*harness.results["pairs"], *harness.results["couples"]])
    assert found.height > 50
    assert_same(found, together(alone(before, batches), "pairs", range(BATCHES)))


def test_plans_from_before_the_changeover_are_translated_and_later_ones_are_not() -> None:
    spread = Instances((Epoch(0, Grid(1, 2)),), (1,))
    plan = Plan(7, 2, {"a": 0, "b": 1, "c": 0, "table:t": 1}, {"a": spread})
    changeover = NetworkChangeover(4, "", "", {"a": "b", "c": "d"})
    made = Checkpoint(latest(LocalFileSystem(), "/nowhere").version, changeover_to_json(changeover))
    assert changeover_of(made) == replace(changeover, batch=-1)
    found = renamed_plan(plan, changeover.renamed)
    assert (found.number, found.node_of) == (7, {"b": 0, "d": 0, "table:t": 1})  # the unit that was b is gone
    assert found.instances == {"b": spread}
    assert translated(PlanLogEntry(0, plan), made).plan == plan
    assert translated(PlanLogEntry(-1, plan), made).plan == found


def test_two_changeovers_without_a_batch_between_them_rename_twice(tmp_path: Path) -> None:
    root = str(tmp_path)
    forms = [joined(), joined("x", was="pairs"), joined("y", was="x")]
    note_network(LocalFileSystem(), root, forms[0])
    made = Checkpoint()
    for before, after in pairwise(forms):
        made = change_over(root, made, NetworkChange(before, after, compare(before, after), None), {})
    assert made == latest(LocalFileSystem(), root)
    found = changeover_of(made)
    assert found is not None
    assert dict(found.renamed) == {"pairs": "y"}
    assert network_of_state(LocalFileSystem(), root, made) == forms[2]


def test_a_run_that_dies_after_the_commit_finds_the_new_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = joined()
    after = joined("couples", was="pairs")
    root = str(tmp_path)
    note_network(LocalFileSystem(), root, before)
    change = NetworkChange(before, after, compare(before, after), None)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("drover.spark.changeover.commit", die)
        with pytest.raises(KeyboardInterrupt):
            change_over(root, Checkpoint(), change, {})
    assert network_of_state(LocalFileSystem(), root, latest(LocalFileSystem(), root)) == before
    with pytest.raises(KeyboardInterrupt):
        change_over(root, Checkpoint(), change, {}, announce=die)
    made = latest(LocalFileSystem(), root)
    assert noted_network(LocalFileSystem(), root) == before
    assert network_of_state(LocalFileSystem(), root, made) == after
    assert changeover_of(made) == NetworkChangeover(0, changeover_text(made), checksum_of(before), {"pairs": "couples"})


def test_a_second_changeover_after_a_run_that_died_in_its_first_is_found(tmp_path: Path) -> None:
    root = str(tmp_path)
    forms = [joined(), joined("x", was="pairs"), joined("y", was="x")]
    note_network(LocalFileSystem(), root, forms[0])
    changes = [NetworkChange(before, after, compare(before, after), None) for before, after in pairwise(forms)]
    data: list[int] = []

    def die(checkpoint: Checkpoint, _: bytes) -> None:
        data.append(checkpoint.batch)
        if len(data) in {1, 3}:  # before the file of the second form, and before that of the third
            raise KeyboardInterrupt

    for change in changes:
        with pytest.raises(KeyboardInterrupt):
            change_over(root, latest(LocalFileSystem(), root), change, {}, announce=die)
    assert data == [0, 0, 1]
    assert network_of_state(LocalFileSystem(), root, latest(LocalFileSystem(), root)) == forms[2]


def changeover_text(checkpoint: Checkpoint) -> str:
    found = changeover_of(checkpoint)
    assert found is not None
    return found.network


def test_parked_operators_keep_their_reason_unless_they_start_anew(tmp_path: Path) -> None:
    root = str(tmp_path)
    fs = LocalFileSystem()
    for after, expected in (
        (joined("couples", was="pairs"), {"couples": "why", "other": "so"}),
        (joined(window="4 s"), {"other": "so"}),
    ):
        folder = f"{root}/{len(expected)}"
        note_network(fs, folder, joined())
        notes = {"parked": {"pairs": "why", "other": "so"}, "spark_batch": 3, "queries": {"turn": 2}}
        made = commit(fs, folder, Checkpoint(), Commit(0, (), {("pairs", "left"): 5}, (), notes))
        change = NetworkChange(joined(), after, compare(joined(), after), None)
        found = change_over(folder, made, change, {})
        assert found.notes["parked"] == expected
        assert (found.notes["spark_batch"], found.notes["queries"]) == (3, {"turn": 2})


def with_table(writer: str, was: str | None = None) -> Network:
    net = drover.Builder("n")
    source = net.source("a", COLUMNS, time="ts")
    net.table("last", COLUMNS, key="k")
    source.write_table(writer, "last", was=was)
    source.map("keys", {"ts": "ts", "key": "k"}).read_table("looked", "last", on="key = k", columns="k").output()
    return net.build()


def test_rows_that_wait_for_a_table_are_written_before_their_operator_changes(tmp_path: Path) -> None:
    before = with_table("keep")
    after = with_table("store", was="keep")
    harness = StoredHarness(before, tmp_path, default_rng(0), trouble=0.0)
    note_network(LocalFileSystem(), str(tmp_path), before)
    places = addresses(before, {}, str(tmp_path))
    rows = ordered_batches(before, 1, 5, 1)[0]
    commit_pending(harness, rows["a"])
    prepare_tables(after, places)
    change = NetworkChange(before, after, compare(before, after), None)
    found = change_over(str(tmp_path), harness.checkpoint, change, places)
    assert found.version.units == {}
    assert stored_keys(places) == set(rows["a"]["k"].to_list())


def commit_pending(harness: StoredHarness, rows: pl.DataFrame) -> None:
    """Commit rows that wait for the table, as a run does that dies right after its commit."""
    table = rows.unique("k").to_arrow()
    name = state_name(0, 0, "a")
    segments = write_deltas(harness.fs, f"{harness.root}/state", name, [Delta("keep", PENDING, table, replace=True)])
    harness.checkpoint = commit(harness.fs, str(harness.root), Checkpoint(), Commit(0, segments, {}, (), {}))


def stored_keys(places: Mapping[str, Address]) -> set[int | None]:
    with sqlite3.connect(places["last"].path) as database:
        return {key for (key,) in database.execute("SELECT k FROM last")}
