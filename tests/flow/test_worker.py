from __future__ import annotations

from pathlib import Path

from numpy.random import default_rng

from drover.flow.worker import IDLE
from drover.network.generate import rows
from drover.placement.plan import Plan, units_of
from tests.flow.stored import WORKERS, StoredHarness
from tests.spark.runs import chaos_network


def test_a_worker_forgets_the_state_of_operators_that_moved_away(tmp_path: Path) -> None:
    network = chaos_network()
    drawn = rows(network, 5 * (IDLE + 4), default_rng(0))
    harness = StoredHarness(network, tmp_path, default_rng(0), trouble=0)
    stateful = {operator.name for operator in network.operators if operator.holds_state}
    for number in range(IDLE + 4):
        # Node i is worker i here. All run on the first, and then only what has no state does.
        moved = number >= 2
        plan = Plan(number + 1, WORKERS, {unit: int(moved and unit in stateful) for unit in units_of(network)})
        harness.run({name: frame.slice(5 * number, 5) for name, frame in drawn.items()}, plan)
        if number == 2:
            assert {name for _, name in harness.workers[0].states} == stateful
    assert not harness.workers[0].states
    assert {name for _, name in harness.workers[1].states} == stateful
