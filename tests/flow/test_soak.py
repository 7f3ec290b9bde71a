"""Hundreds of small batches: what a run keeps, on disk and in memory, does not grow with its age."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from statistics import median

import pytest
from numpy.random import default_rng

from drover.flow.state.layout import COMMITS, STATE
from drover.network.durations import UNITS
from drover.placement.plan import round_robin
from drover_lab.generate import RowParameters, rows
from tests.flow.stored import StoredHarness
from tests.spark.runs import chaos_network

BATCHES = 400
LENGTH = 10  # rows per source and batch
NODES = 4


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


def files(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is measured as Linux tells it")
def test_files_memory_and_time_stay_flat(tmp_path: Path) -> None:
    rng = default_rng(1)
    network = chaos_network()
    parameters = RowParameters(gap=100 * UNITS["ms"])
    drawn = rows(network, BATCHES * LENGTH, rng, parameters)
    harness = StoredHarness(network, tmp_path, rng, trouble=0.1)
    plan = round_robin(network, NODES)
    seconds = []
    counts = []
    memory = []
    kept = []
    for number in range(BATCHES):
        if number % 10 == 9:  # something moves, and its state stays behind in some worker's memory
            unit = list(plan.node_of)[number // 10 % len(plan.node_of)]
            plan = plan.move(unit, int(rng.integers(NODES)))
        started = time.process_time()
        batch = {name: frame.slice(number * LENGTH, LENGTH) for name, frame in drawn.items()}
        harness.run(batch, plan)
        seconds.append(time.process_time() - started)
        if number % 20 == 19:
            gc.collect()
            harness.results.clear()
            counts.append((files(tmp_path / STATE), files(tmp_path / COMMITS)))
            memory.append(resident_megabytes())
            kept.append(sum(len(worker.states) for worker in harness.workers))
    assert max(state for state, _ in counts) < 120
    assert max(commits for _, commits in counts) < 140
    assert max(kept) <= 3 * sum(operator.holds_state for operator in network.operators)
    assert memory[-1] - memory[len(memory) // 2] < 40
    assert median(seconds[-100:]) < 2 * median(seconds[100:200]) + 0.005
