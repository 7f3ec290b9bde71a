"""A tree of nodes on the real driver: neighbours hand operators over, and results stay those of the oracle."""

from __future__ import annotations

import contextlib
import random
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover import runs
from drover.control.record import PeriodOutcome
from drover.control.tree import Hierarchy, hierarchy_of
from drover.errors import DroverError
from drover.flow.state.storage import open_root
from drover.hierarchy.cluster import cluster_of
from drover.hierarchy.queries import Queries
from drover.network.files.network_file import dump
from drover.network.model import Network
from drover.network.operators import Filter
from drover.placement.plan import Plan
from drover.spark.bind import start
from drover.spark.caller import ask
from drover.spark.handle import Handle
from drover.spark.planner import Planner
from drover.spark.sinks import Memory
from drover.spark.stopped import controller_of
from drover.spark.trees import check_cluster, note_cluster, noted_cluster
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.conftest import Worlds
from tests.spark.crashes import POINTS, Once, dying, raise_crash
from tests.spark.runs import World, both_engines, read_output, write_files
from tests.spark.test_kill import PATIENCE, Victim
from tests.spark.trees import (
    CITY,
    CONTROL,
    EAST,
    EVEN,
    SURGE,
    TREE,
    WEST,
    in_step,
    tree_batches,
    tree_network,
    units_moved,
)

UPPER = 0.6


def drain(world: World, some: list[Batch], numbered: dict[int, Batch], **options: Any) -> Handle:  # Any: as for `run`
    """Run some batches, each decided on before the next, and note under which numbers."""
    first = world.committed() + 1
    numbered |= {first + i: batch for i, batch in enumerate(some)}
    world.add(some)
    handle = in_step(world.start(**{"nodes": 3, "cluster": TREE, "control": CONTROL, **options}))
    assert handle.awaitTermination(120)
    return handle


def check(spark: SparkSession, world: World, numbered: dict[int, Batch]) -> None:
    for stream, rows in expected_streams(spark, world.network, numbered).items():
        assert rows.height > 0
        assert_same_rows(world.output(stream), rows)


def overloaded(handle: Handle) -> int:
    """Periods of nodes that were above the upper mark."""
    return sum(load > UPPER for record in handle.control.records for load in record.loads)


@both_engines
@pytest.mark.slow
def test_operators_climb_out_of_a_full_node_and_results_stay_those_of_the_oracle(
    spark: SparkSession, worlds: Worlds
) -> None:
    network = tree_network()
    world = worlds(network)
    numbered = dict[int, Batch]()
    drawn = tree_batches([EVEN] * 3 + [SURGE] * 8)
    handle = drain(world, drawn[:7], numbered)
    assert handle.control.status.failure is None
    moved = units_moved(handle)
    assert moved
    tree = hierarchy_of(network, cluster_of(TREE))
    assert list(tree.objections(handle.plan.node_of)) == []
    assert any(handle.plan.node_of[unit] == CITY for unit in moved if unit.startswith("a-"))
    reasons = [record.reason for record in handle.control.records if record.kind is PeriodOutcome.MOVED]
    assert any(re.search(r"west is at \d+%, above 60%, and hands .* to city", reason) for reason in reasons)
    shown = handle.explain(min(moved))
    assert "hands" in shown.text or "takes" in shown.text

    again = drain(world, drawn[7:], numbered)
    assert again.batches[0]["plan"] == handle.plan.number  # where operators are comes from the plan log
    check(spark, world, numbered)
    answer = ask(str(world.checkpoint), "explain", unit=min(moved))  # of a run that is stopped
    assert "could also be on" in answer["text"]

    still = worlds(network)
    fixed = drain(still, drawn, {}, control={**CONTROL, "mode": "observe"})
    assert not units_moved(fixed)
    assert overloaded(fixed) > overloaded(handle) + overloaded(again)


def test_moves_by_hand_go_where_inputs_pass_and_nowhere_else(worlds: Worlds) -> None:
    world = worlds(tree_network())
    world.add(tree_batches([EVEN] * 2))
    handle = world.start(nodes=3, cluster=TREE, trigger={"processingTime": "0 seconds"})
    handle.processAllAvailable()
    before = handle.plan
    with pytest.raises(DroverError, match=r"a-4 cannot go to node 2 \(east\): a-4 reads a-some, on node 1 \(west\)"):
        handle.move("a-4", EAST)
    with pytest.raises(DroverError, match=r"a-some cannot go to node 0 .*it can be on node 1 \(west\)"):
        handle.move("a-some", CITY)
    with pytest.raises(DroverError, match=r"a-4 cannot go to node 7: the tree has nodes 0 to 2.* on node 1 \(west\)"):
        handle.move("a-4", 7)
    with pytest.raises(DroverError, match="the tree has 3"):
        handle.scale(4)
    with pytest.raises(DroverError, match="cannot be emptied"):
        handle.drain(WEST)
    assert handle.plan == before
    moved = handle.move("a-many-4", CITY)
    assert moved.node_of["a-many-4"] == CITY
    handle.stop()

    turned = {"tree": dict(reversed(TREE["tree"].items()))}
    for cluster, words in [(None, "begun on a tree of 3 nodes"), (turned, "its nodes were city, west, east")]:
        with pytest.raises(DroverError, match=words):
            world.start(nodes=3, cluster=cluster)
    wider = {name: {**node, "memory": 1e6} for name, node in TREE["tree"].items()}
    again = world.start(nodes=3, cluster={"tree": wider})  # capacities may change
    assert again.plan.node_of["a-many-4"] == CITY
    assert again.awaitTermination(60)


@pytest.mark.slow
@both_engines
def test_a_run_that_dies_while_operators_move_goes_on_with_the_plan_it_had_written(
    spark: SparkSession, worlds: Worlds
) -> None:
    world = worlds(tree_network())
    drawn = tree_batches([EVEN] * 2 + [SURGE] * 4)
    world.add(drawn)
    kept = {stream: Once() for stream in world.network.outputs}
    plans = []
    errors = []
    with dying(POINTS["after the plan is written"], (2,), raise_crash) as calls:  # the first one that moves something
        for _ in range(2):
            handle = in_step(world.start(nodes=3, sinks=kept, cluster=TREE, control=CONTROL))
            with contextlib.suppress(DroverError):
                handle.awaitTermination(120)
            plans.append(handle.plan)
            errors.append(handle.exception())
            handle.stop()
    assert "CrashError" in str(errors[0])
    assert errors[1] is None
    assert 2 in calls
    assert plans[0].number > 1
    assert plans[1].number >= plans[0].number
    for stream, rows in expected_streams(spark, world.network, dict(enumerate(drawn))).items():
        assert_same_rows(kept[stream].rows(), rows)


@both_engines
@pytest.mark.slow
def test_a_process_on_a_tree_that_is_killed_loses_and_doubles_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    chance = random.Random(3)
    batches = tree_batches([EVEN] * 4 + [SURGE] * 12)
    for number, batch in enumerate(batches):
        write_files(tmp_path, batch, number)
    for _ in range(2):
        victim = Victim(tmp_path, tree="yes", engine=engine)
        try:
            assert victim.wait_for(victim.committed() + 2)
            time.sleep(chance.uniform(0, 0.8))
        finally:
            victim.kill()
    last = Victim(tmp_path, tree="yes", engine=engine)
    try:
        assert last.process.wait(2 * PATIENCE) == 0
    finally:
        last.kill()
    controller = controller_of(str(tmp_path / "checkpoint"))
    assert any(record.kind is PeriodOutcome.MOVED for record in controller.records)
    spark: SparkSession = request.getfixturevalue("spark")  # only now: victims need the machine
    network = tree_network()
    for stream, rows in expected_streams(spark, network, dict(enumerate(batches))).items():
        assert rows.height > 0
        assert_same_rows(read_output(tmp_path, network, stream), rows)


RUN = """\
run: 1
network: net.yaml
checkpoint: checkpoint
control: {mode: auto, period: 0}
cluster:
  tree:
    city: {cpu: 100}
    west: {parent: city, cpu: 0.001, sources: [a]}
    east: {parent: city, cpu: 100, sources: [b]}
sources:
  a: {read: parquet, path: in/a, options: {maxFilesPerTrigger: 1}}
  b: {read: parquet, path: in/b, options: {maxFilesPerTrigger: 1}}
"""


@pytest.mark.slow
def test_a_run_file_with_a_tree_on_which_busy_time_counts(spark: SparkSession, tmp_path: Path) -> None:
    network = tree_network()
    dump(network, tmp_path / "net.yaml")
    (tmp_path / "tree.run.yaml").write_text(RUN, encoding="utf-8")
    drawn = tree_batches([SURGE] * 4)
    for number, batch in enumerate(drawn):
        write_files(tmp_path, batch, number)
    kept = {stream: Memory() for stream in network.outputs}
    run = runs.load(tmp_path / "tree.run.yaml")
    handle = in_step(start(spark, run, once=True, besides={stream: [sink] for stream, sink in kept.items()}))
    assert handle.awaitTermination(60)
    assert handle.plan.nodes == 3
    assert any(unit.startswith("a-") for unit in units_moved(handle))
    for stream, rows in expected_streams(spark, network, dict(enumerate(drawn))).items():
        found = kept[stream].rows()
        assert_same_rows(found if found.width else pl.DataFrame(schema=rows.schema), rows)


def planner_of(folder: Path, cluster: dict[str, Any], *, network: Network | None = None) -> Planner:
    tree = hierarchy_of(network or tree_network(), cluster_of(cluster))
    return Planner(str(folder), Plan(1, 3, tree.complete_placement(tree.cluster.at)), tree)


def test_no_wish_leads_to_a_plan_without_inputs(tmp_path: Path) -> None:
    planner = planner_of(tmp_path, TREE)
    before = planner.plan
    with pytest.raises(DroverError, match="a-some"):
        planner.replan(lambda plan: plan.move("a-some", EAST))
    assert planner.plan is before
    assert planner.replan(lambda plan: plan.move("a-pairs", CITY)).node_of["a-pairs"] == CITY


def test_a_new_unit_of_an_old_run_goes_where_its_inputs_have_gone(tmp_path: Path) -> None:
    begun = planner_of(tmp_path, TREE)
    begun.replan(lambda plan: plan.move("a-pairs", CITY))
    entry = begun.entry_for(0, closing=False)
    old = tree_network()
    more = Filter(name="low-pairs", input="a-pairs", where="low > 0")
    wider = replace(old, operators=(*old.operators, more), outputs=(*old.outputs, "low-pairs"))
    again = planner_of(tmp_path, TREE, network=wider)
    assert again.plan.node_of["low-pairs"] == WEST
    again.adopt(entry, 1, begun=False)
    assert again.plan.node_of["low-pairs"] == CITY
    assert again.plan.number > entry.plan.number


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        pytest.param(("west", "parent"), "east", "west had another parent", id="another parent"),
        pytest.param(("east", "sources"), ["b", "c"], None, id="one more source"),
        pytest.param(("city", "memory"), 1, None, id="another capacity"),
    ],
)
def test_a_checkpoint_keeps_to_its_tree(
    tmp_path: Path, path: tuple[str, str], value: object, words: str | None
) -> None:
    fs, root = open_root(str(tmp_path))
    network = tree_network()
    note_cluster(fs, root, hierarchy_of(network, cluster_of(TREE)))
    assert noted_cluster(fs, root) == cluster_of(TREE)
    changed = {name: {**node, path[1]: value} if name == path[0] else node for name, node in TREE["tree"].items()}
    now = Hierarchy(cluster_of({"tree": changed}), (), Queries((), ()))
    if words is None:
        check_cluster(fs, root, now, begun=True)
        return
    with pytest.raises(DroverError, match=words):
        check_cluster(fs, root, now, begun=True)


def test_a_checkpoint_without_a_tree_gets_none(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    with pytest.raises(DroverError, match="begun without a tree"):
        check_cluster(fs, root, hierarchy_of(tree_network(), cluster_of(TREE)), begun=True)
    check_cluster(fs, root, None, begun=True)
