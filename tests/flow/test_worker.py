from __future__ import annotations

from pathlib import Path

import polars as pl
from numpy.random import default_rng

from drover.flow.operators import UnitState
from drover.flow.state.segments import Segment
from drover.flow.state.versions import PartState
from drover.flow.worker import IDLE, deltas_of
from drover.placement.plan import Plan, units_of
from drover_lab.generate import rows
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


def test_parts_that_pin_old_files_are_written_anew_whether_they_changed_or_not() -> None:
    def saved(newest: int | None) -> PartState:
        return PartState((Segment("u", "p", "f", 0, 1, 0, 1, newest, replace=False),))

    rows = pl.DataFrame({"t": [1, 2], "x": [3, 4]})
    more = pl.DataFrame({"t": [5], "x": [6]})
    texts = pl.DataFrame({"s": ["a"]})
    state = UnitState({"quiet": rows, "grows": rows, "whole": texts, "left": rows})
    state.begin()
    state.append("grows", more)
    state.append("left", more)
    before = {"quiet": saved(2), "grows": saved(2), "whole": saved(None), "left": saved(2)}
    rewritten = frozenset({("u", "quiet"), ("u", "grows"), ("u", "whole"), ("other", "left")})
    found = {delta.part: delta for delta in deltas_of("u", state, before, rewritten)}
    assert {part: (delta.table.num_rows, delta.replace, delta.newest) for part, delta in found.items()} == {
        "quiet": (2, True, 2),
        "grows": (3, True, 5),
        "whole": (1, True, None),
        "left": (1, False, 5),
    }
    assert [delta.part for delta in deltas_of("u", state, before)] == ["grows", "left"]
