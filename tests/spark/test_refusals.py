"""Checkpoints that are damaged, taken or another network's: a run says so and touches nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

import drover
from drover.errors import DroverError, LockedError
from drover.network.model import Network
from tests import user_functions
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.conftest import Worlds
from tests.spark.runs import COLUMNS, World, chaos_network


def newest(folder: Path) -> Path:
    return max(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


CHECKPOINT_FILES: list[tuple[str, Callable[[World], Path]]] = [
    ("a state file", lambda world: newest(world.checkpoint / "state")),
    ("the last commit", lambda world: newest(world.checkpoint / "commits")),
    ("the first commit", lambda world: world.checkpoint / "commits" / f"{0:012}.json"),
    ("the plan", lambda world: newest(world.checkpoint / "plans")),
    ("the network", lambda world: world.checkpoint / "network.yaml"),
]


@pytest.mark.parametrize("harm", [flip, Path.unlink], ids=["damaged", "missing"])
@pytest.mark.parametrize("find", [find for _, find in CHECKPOINT_FILES], ids=[name for name, _ in CHECKPOINT_FILES])
def test_a_run_refuses_files_that_are_damaged_or_gone(
    worlds: Worlds, ordered: list[Batch], find: Callable[[World], Path], harm: Callable[[Path], None]
) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:1])
    handle = world.start(trigger={"processingTime": "0 seconds"})
    handle._query.processAllAvailable()  # without closing windows: the last batch is one of Spark's
    handle.stop()
    path = find(world)
    harm(path)
    world.add(ordered[1:2])
    with pytest.raises(DroverError) as caught:
        # Workers keep state for the checkpoint's path: under another one they have none and must read the files.
        world.start(checkpoint=str(world.checkpoint.rename(world.folder / "moved"))).awaitTermination(60)
    assert path.name in str(caught.value)
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("folder", ["spark", "spark/offsets", "commits"])
def test_a_run_refuses_a_checkpoint_of_which_a_part_is_gone(worlds: Worlds, ordered: list[Batch], folder: str) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:2])
    world.drain()
    (world.checkpoint / folder).rename(world.folder / "aside")
    world.add(ordered[2:3])
    with pytest.raises(DroverError, match=r"metadata|checkpoint/spark|commits/0000"):
        world.start().awaitTermination(60)


def test_a_second_run_on_a_checkpoint_is_refused_and_the_first_goes_on(
    worlds: Worlds, ordered: list[Batch], expected: dict[str, pl.DataFrame]
) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:3])
    first = world.start(trigger={"processingTime": "0 seconds"})
    with pytest.raises(LockedError, match="no run works on"):
        world.start(trigger={"processingTime": "0 seconds"})
    world.add(ordered[3:])
    first._query.processAllAvailable()
    first.stop()
    world.drain()  # the lock is free again
    for stream, rows in expected.items():
        assert_same_rows(world.output(stream), rows)


def changed(
    *, names: tuple[str, ...] = ("a", "b"), lateness: str = "1 s", where: str = "key <> 3", price: str = "price"
) -> Network:
    """The chaos network with something else in it."""
    net = drover.Builder("chaos")
    columns = {price if name == "price" else name: kind for name, kind in COLUMNS.items()}
    sources = {name: net.source(name, columns, time="ts", lateness=lateness) for name in names}
    a = sources["a"]
    b = sources["b"]
    both = a.union("both", b)
    compute = {"n": "count(*)", "total": "sum(amount)", "high": f"max({price})"}
    both.filter("some", where).aggregate("windows", compute, size="5 s", advance="2 s", group_by="key").output()
    a.join("pairs", b, within=("2 s", "1 s"), on="key", select={"x": "left.amount", "y": "right.amount"}).output()
    both.apply("seen", user_functions.rows_so_far).output()
    for name in names:
        if name not in "ab":
            sources[name].output()
    return net.build()


def without_windows() -> Network:
    before = chaos_network()
    kept = tuple(operator for operator in before.operators if operator.name != "windows")
    return Network("chaos", before.sources, kept, ("some", "pairs", "seen"))


@pytest.mark.parametrize(
    ("network", "says"),
    [
        pytest.param(changed(price="cost"), "operators.windows: starts anew: compute is ", id="a column renamed"),
        pytest.param(
            changed(names=("b", "a")), "sources.b: refused: it is number 1 and was number 2", id="sources swapped"
        ),
        pytest.param(changed(names=("a", "b", "c")), "sources.c: refused: it is new", id="a source more"),
        pytest.param(without_windows(), "operators.windows: gone: its state is dropped", id="state without owner"),
    ],
)
def test_a_changed_network_is_refused_with_its_differences(
    worlds: Worlds, ordered: list[Batch], network: Network, says: str
) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:1])
    world.drain()
    with pytest.raises(DroverError, match=says):
        world.start(network)
    world.add(ordered[1:2])
    world.drain()  # the refusal has changed nothing


@pytest.mark.parametrize("network", [changed(where="key <> 4"), changed(lateness="2 s")], ids=["filter", "lateness"])
def test_a_change_that_loses_no_state_is_accepted(worlds: Worlds, ordered: list[Batch], network: Network) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:1])
    world.drain()
    before = world.output("seen").height
    world.add(ordered[1:2])
    world.drain(network)
    seen = world.output("seen")["seen"].sort().to_list()
    assert seen == list(range(1, len(seen) + 1))  # the function with state goes on counting
    assert len(seen) > before


def test_a_new_operator_begins_with_the_next_rows_and_the_others_go_on(
    spark: SparkSession, worlds: Worlds, ordered: list[Batch]
) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:2])
    handle = world.start(trigger={"processingTime": "0 seconds"})
    handle.move("windows", 1)
    handle._query.processAllAvailable()
    handle.stop()
    old = world.network
    added = drover.Builder("more")
    a, b = (added.source(source.name, COLUMNS, time="ts", lateness="1 s") for source in old.sources)
    a.union("all", b).aggregate("new", {"n": "count(*)"}, size="1 s", group_by="tag").output()
    more = added.build()
    new = Network("chaos", old.sources, (*old.operators, *more.operators), (*old.outputs, "some", "new"))
    world.add(ordered[2:4])
    after = world.drain(new)
    assert after.plan.node_of["windows"] == 1
    whole = expected_streams(spark, old, dict(enumerate(ordered[:4])))
    for stream, rows in whole.items():
        assert_same_rows(world.output(stream), rows)
    fresh = expected_streams(spark, new, dict(enumerate(ordered[2:4])))
    assert_same_rows(world.output("new", new), fresh["new"])
    assert_same_rows(world.output("some", new), fresh["some"])
