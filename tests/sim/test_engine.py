from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.arrays import Flags, Floats, Ints
from drover.sim.engine import Engine
from drover.sim.world import SPARE
from tests.sim.cases import Case, cases
from tests.sim.twin import Twin

END = 400.0
SEEDS = st.integers(0, 2**32 - 1)
WHOLE = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Core(Protocol):
    """What both can do."""

    def feed(self, arrivals: Sequence[Floats]) -> None: ...
    def advance(self, until: float) -> None: ...
    def suspend(self, chosen: Flags, places: Ints) -> None: ...
    def resume(self, operator: int, now: float) -> None: ...


def engines(case: Case) -> tuple[Engine, Twin]:
    same = {"seed": case.seed, "quantum": case.quantum}
    engine = Engine(case.model, case.cluster, case.places, schedule=case.schedule, **same, slots=1, log=50_000)
    twin = Twin(case.model, case.cluster, case.places, schedule=case.schedule, **same)
    both: tuple[Core, ...] = (engine, twin)
    for each in both:
        each.feed(case.arrivals)
    return engine, twin


def equal(engine: Engine, twin: Twin) -> None:
    """Assert that all that happened is the same, event for event and bit by bit."""
    counts = engine.world.counts
    count = len(twin.log)
    logged = zip(counts.log_time[:count], *counts.log_place[:count].T, counts.log_birth[:count], strict=True)
    assert engine.served == count
    assert [(t, int(i), int(port), birth) for t, i, port, birth in logged] == twin.log
    assert counts.given.tolist() == twin.given
    assert engine.lost == twin.lost
    assert engine.travelling() == twin.travelling
    for output in range(len(engine.model.outputs)):
        found = [(latency, work) for at, latency, work in twin.latencies if at == output]
        assert counts.out[output] == len(found)
        assert np.isclose(counts.latency[output], sum(latency for latency, _ in found), rtol=1e-12, atol=1e-12)
        assert np.isclose(counts.work[output], sum(work for _, work in found), rtol=1e-12, atol=1e-12)
        assert counts.longest[output] == max((latency for latency, _ in found), default=0.0)


@WHOLE
@given(case=cases())
def test_the_core_equals_its_twin_event_for_event(case: Case) -> None:
    engine, twin = engines(case)
    for until in (1.0, 3.0, END):
        engine.advance(until)
        twin.advance(until)
        equal(engine, twin)


@WHOLE
@given(case=cases(), chance=SEEDS)
def test_the_core_equals_its_twin_when_operators_move(case: Case, chance: int) -> None:
    rng = default_rng(chance)
    engine, twin = engines(case)
    both: tuple[Core, ...] = (engine, twin)
    now = 0.0
    for _ in range(3):
        now += float(rng.uniform(0.1, 2.0))
        engine.advance(now)
        twin.advance(now)
        chosen = rng.random(case.model.m) < 0.5
        places = np.where(chosen, rng.integers(0, case.cluster.n, case.model.m), engine.world.nodes.place)
        back = engine.free_at(np.flatnonzero(chosen), now) + float(rng.uniform(0, 2.0))
        for each in both:
            each.suspend(chosen, places)
            each.advance(back)
            for j in np.flatnonzero(chosen).tolist():
                each.resume(j, back)
        now = back
        equal(engine, twin)
    engine.advance(END)
    twin.advance(END)
    equal(engine, twin)


@WHOLE
@given(case=cases(), chance=SEEDS, replay=st.booleans())
def test_the_core_equals_its_twin_when_a_node_is_lost(case: Case, chance: int, replay: bool) -> None:
    rng = default_rng(chance)
    engine, twin = engines(case)
    now = float(rng.uniform(0.5, 4.0))
    lost = int(rng.integers(case.cluster.n))
    engine.advance(now)
    twin.advance(now)
    on_it = engine.world.nodes.place == lost
    before = engine.world.nodes.place.copy()
    after = np.where(on_it, rng.integers(0, case.cluster.n, case.model.m), before)
    engine.suspend(on_it, before)
    engine.kill(lost, now, replay=replay)
    twin.suspend(on_it, before)
    twin.kill(lost, replay=replay)
    both: tuple[Core, ...] = (engine, twin)
    for each in both:
        each.suspend(on_it, after)
        each.advance(now + 1.5)
        for j in np.flatnonzero(on_it).tolist():
            each.resume(j, now + 1.5)
        each.advance(END)
    equal(engine, twin)


@WHOLE
@given(case=cases(), until=st.floats(0, 30))
def test_no_tuple_appears_or_vanishes(case: Case, until: float) -> None:
    engine, _ = engines(case)
    engine.advance(until)
    model = case.model
    counts = engine.world.counts
    net = engine.world.net
    readers = np.diff(net.start)  # (e,)
    made = int((counts.arrived * readers[: len(model.sources)]).sum() + (counts.given * readers).sum())
    assert made == counts.taken.sum() + engine.queued().sum() + engine.travelling() + engine.lost
    kept = engine.world.lists.length[case.cluster.most + model.m :].sum() - engine.travelling()  # in windows of joins
    in_use = len(engine.world.pool.birth) - engine.world.pool.cells[SPARE]
    assert in_use == engine.queued().sum() + engine.travelling() + kept
