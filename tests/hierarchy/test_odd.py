"""The invariants of the protocol on unusual trees and under rare accidents."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from numpy.random import Generator, default_rng

from tests.hierarchy.odd import SHAPES, Day, calm_down, odd
from tests.hierarchy.world import DYING, SWINGS

RUNS = 150
WALKS = {"one": 5, "pair": 80, "chain": 40, "levels": 60, "star": 15}  # 200 in all
JUMPS = (-1e6, -1.0, 0.3, 1e6)  # seconds
ACCIDENTS = ("cut in a hand-over", "both died in a hand-over", "of old", "taken in", "refused", "crash")
EVENTS = ("look", "of old", "cut", "cut a hand-over", "heal", "kill", "restart", "clock", "swing")
CHANCES = (0.44, 0.12, 0.03, 0.08, 0.05, 0.03, 0.06, 0.05, 0.14)
SEEN: Counter[str] = Counter()


class Accidents(RuleBasedStateMachine):
    """Long network partitions, neighbours that crash together, messages from before a restart, clocks that jump."""

    @initialize(shape=st.sampled_from(list(SHAPES)), seed=st.integers(0, 10**6), resources=st.sampled_from((1, 2)))
    def begin(self, shape: str, seed: int, resources: int) -> None:
        self.day = Day(odd(shape, seed, resources))
        self.nodes = len(self.day.world.machines)

    def _node(self, data: st.DataObject, least: int = 0) -> int:
        return data.draw(st.integers(least, self.nodes - 1))

    @rule(data=st.data(), nodes=st.integers(1, 3), messages=st.integers(0, 20))
    def look(self, data: st.DataObject, nodes: int, messages: int) -> None:
        self.day.look([self._node(data) for _ in range(nodes)], messages)

    @rule(index=st.integers(0, 1000))
    def hear_of_old(self, index: int) -> None:
        self.day.hear_of_old(index)

    @precondition(lambda self: self.nodes > 1 and len(self.day.cut) < 3)
    @rule(data=st.data(), lost=st.booleans())
    def cut_line(self, data: st.DataObject, lost: bool) -> None:
        self.day.cut_line(self._node(data, 1), lost=lost)

    @precondition(lambda self: self.nodes > 1)
    @rule(data=st.data(), lost=st.booleans())
    def cut_handover(self, data: st.DataObject, lost: bool) -> None:
        self.day.cut_handover(self._node(data), lost=lost)

    @precondition(lambda self: self.day.cut)
    @rule(messages=st.integers(0, 6))
    def heal(self, messages: int) -> None:
        self.day.heal(messages)

    @precondition(lambda self: self.nodes > 1)
    @rule(data=st.data(), dies=st.sampled_from(DYING))
    def kill_neighbours(self, data: st.DataObject, dies: str) -> None:
        self.day.kill_neighbours(self._node(data, 1), dies)

    @precondition(lambda self: None in self.day.world.machines)
    @rule(dies=st.sampled_from(("", "", "", *DYING)))
    def restart(self, dies: str) -> None:
        self.day.restart(dies)

    @rule(data=st.data(), seconds=st.sampled_from(JUMPS))
    def set_clock(self, data: st.DataObject, seconds: float) -> None:
        self.day.world.skew[self._node(data)] += seconds

    @rule(data=st.data(), swing=st.sampled_from(list(SWINGS)))
    def grow_or_shrink(self, data: st.DataObject, swing: str) -> None:
        self.day.world.swing(self._node(data), swing)

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        if hasattr(self, "day"):
            self.day.world.check()

    def teardown(self) -> None:
        if hasattr(self, "day"):
            self.day.world.recover()
            calm_down(self.day.world)
            SEEN["runs"] += 1


def test_no_accident_loses_or_doubles_an_operator_and_all_is_quiet_in_the_end() -> None:
    SEEN.clear()
    run_state_machine_as_test(Accidents, settings=settings(max_examples=RUNS, stateful_step_count=30))
    assert SEEN["runs"] >= RUNS


def happen(day: Day, rng: Generator, event: str) -> None:
    """Cause an accident; a tree of one node is spared some."""
    world = day.world
    n = len(day.world.machines)
    node = int(rng.integers(n))
    lost = bool(rng.integers(2))
    dies = str(rng.choice(DYING))
    match event:
        case "look":
            day.look([int(each) for each in rng.integers(n, size=2)], int(rng.integers(20)))
        case "of old":
            day.hear_of_old(int(rng.integers(1000)))
        case "cut" if n > 1:
            day.cut_line(max(node, 1), lost=lost)
        case "cut a hand-over":
            day.cut_handover(node, lost=lost)
        case "heal":
            day.heal(int(rng.integers(10)))
        case "kill" if n > 1:
            day.kill_neighbours(max(node, 1), dies)
        case "restart":
            day.restart(dies if rng.random() < 0.2 else "")
        case "clock":
            world.skew[node] += float(rng.choice(JUMPS))
        case "swing":
            world.swing(node, str(rng.choice(list(SWINGS))))


def test_days_full_of_accidents_lose_and_double_nothing() -> None:
    seen: Counter[str] = Counter()
    for shape, runs in WALKS.items():
        for run in range(runs):
            day = Day(odd(shape, run, 1 + run % 2))
            rng = default_rng((len(shape), run))
            for event in rng.choice(EVENTS, p=CHANCES, size=60):
                happen(day, rng, event)
                day.world.check()
            day.world.recover()
            calm_down(day.world)
            seen += day.world.count
    assert min(seen[name] for name in ACCIDENTS) > 5, seen


@pytest.mark.parametrize("shape", SHAPES)
def test_without_accidents_operators_find_their_place_and_stay(shape: str) -> None:
    moved = 0
    for seed in range(4 if shape == "star" else 20):
        world = odd(shape, seed, 1 + seed % 2)
        calm_down(world)
        moved += world.count["taken in"]
        assert world.count["refused"] == 0, "nobody is handed what it has not agreed to, if nothing changes meanwhile"
    assert bool(moved) == (shape != "one")
