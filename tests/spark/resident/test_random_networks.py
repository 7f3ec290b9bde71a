"""Random networks on resident nodes, whose units move, whose nodes come, go and die, and whose routers run twice."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from numpy.random import Generator, default_rng

from drover.flow.instances import request_spread
from drover.network.grid import Grid
from drover.network.model import Network
from drover.placement.plan import Plan
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows
from tests.flow.test_against_oracle import random_batches
from tests.flow.test_many_networks import MAKERS
from tests.spark.resident.test_engine import ResidentRun, expected
from tests.spark.runs import ordered_batches
from tests.spark.test_spread import auto_joins

MOST_NODES = 4
SMALL = 2_000  # bytes of frames that wait in memory


def stir(run: ResidentRun, rng: Generator) -> None:
    """Change the plan, or lose a node."""
    if rng.random() < 0.3:
        run.nodes.lose(int(rng.choice(list(run.nodes.nodes))))
    nodes = int(rng.integers(1, MOST_NODES + 1)) if rng.random() < 0.4 else run.planner.plan.nodes
    places = {unit: int(rng.integers(nodes)) for unit in run.planner.plan.node_of}
    run.planner.replan(lambda plan: Plan(plan.number + 1, nodes, places, plan.instances))


def assert_gives(run: ResidentRun, batches: list[Batch]) -> None:
    for stream, rows in expected(run.network, batches).items():
        found = run.sinks[stream].rows()
        assert_same_rows(found if found.width else pl.DataFrame(schema=rows.schema), rows)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_network_gives_what_one_process_gives(tmp_path: Path, kind: str, seed: int) -> None:
    rng = default_rng([seed, 11, *kind.encode()])
    network: Network = MAKERS[kind](rng)
    batches = random_batches(network, rng)
    run = ResidentRun(network, tmp_path, int(rng.integers(1, MOST_NODES + 1)), SMALL if seed else 0)
    try:
        for number, batch in enumerate(batches):
            run.process(batch, number, attempts=int(rng.integers(1, 3)))
            stir(run, rng)
    finally:
        run.driver.close()
    assert_gives(run, batches)


def test_spread_joins_change_their_grid_and_their_nodes_and_read_nothing(tmp_path: Path) -> None:
    network = auto_joins()
    batches = ordered_batches(network, 6, 40)
    run = ResidentRun(network, tmp_path)
    try:
        for number, batch in enumerate(batches):
            run.process(batch, number)
            if number == 1:
                run.planner.replan(lambda plan: request_spread(plan, network, "pairs", Grid(2, 2)))
            elif number > 1:
                run.planner.replan(lambda plan: plan.move("pairs[1]", (plan.places["pairs[1]"] + 1) % 3))
                assert number == 2 or run.read_bytes() == 0
    finally:
        run.driver.close()
    assert_gives(run, batches)
