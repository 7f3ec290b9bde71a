from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.sim.workload import OnOff, Opposite, Rates, Shifted
from drover_lab.table import Value
from drover_lab.xing05 import recovery as courses
from drover_lab.xing05.chains import DEFAULTS, LENGTH, bursts, case_of, control, measured_from, raised, start, warm_up
from drover_lab.xing05.rounds import recover
from drover_lab.xing05.unpredictable import on_and_off

SEEDS = st.integers(0, 20)


def row(seed: int, **others: Value) -> dict[str, Value]:
    return {**DEFAULTS, "seed": seed, "load": 0.8, **others}


@given(seed=SEEDS, nodes=st.integers(2, 12), per_node=st.sampled_from([2.5, 5.0, 10.0]), load=st.floats(0.1, 0.98))
def test_rates_are_scaled_to_the_load(seed: int, nodes: int, per_node: float, load: float) -> None:
    asked = row(seed, nodes=nodes, per_node=per_node, load=load)
    case = case_of(asked)
    assert len(case.problem.units) == LENGTH * max(1, round(nodes * per_node / LENGTH))
    rates = np.array([stream.rate for stream in bursts(asked)])
    assert (case.problem.coefficients @ rates).sum() == pytest.approx(load * nodes)
    share = rates / rates.mean()
    assert share.max() / share.min() <= 1.2 / 0.8 * (1 + 1e-9)


def test_offsets_are_even_or_drawn() -> None:
    even, drawn = (sorted(each.offset for each in bursts(row(1, offsets=how))) for how in ("even", "drawn"))
    assert even == pytest.approx(np.arange(20) / 2)
    assert drawn != pytest.approx(even)


def test_a_raised_load_is_the_same_pattern_higher_up() -> None:
    asked = row(3)
    for stream, steady in zip(raised(asked, 0.5, 20.0, 40.0), bursts(asked), strict=True):
        assert isinstance(stream, Rates)
        before, after = np.split(stream.values, 2)
        assert after == pytest.approx(before * 0.8 / 0.5)
        assert after.mean() == pytest.approx(steady.rate)
        assert after.max() / after.min() == pytest.approx(4.0)


@given(seed=SEEDS, nodes=st.integers(2, 12))
def test_on_off_streams_are_scaled_to_the_load(seed: int, nodes: int) -> None:
    asked = row(seed, nodes=nodes)
    streams = on_and_off(asked)
    free = [stream.rate for stream in streams if isinstance(stream, OnOff)]
    assert [isinstance(stream, OnOff) for stream in streams] == [True] * len(free) + [False] * (nodes - len(free))
    rates = [
        free[int(stream.of)] if isinstance(stream, Opposite | Shifted) else stream.rate  # type: ignore[union-attr]  # on and off
        for stream in streams
    ]
    assert (case_of(asked).problem.coefficients @ np.array(rates)).sum() == pytest.approx(0.8 * nodes)


def test_whole_chains_start_on_a_node_each() -> None:
    places = start(row(1, nodes=5), "whole")
    assert np.array_equal(np.sort(places), np.repeat(np.arange(5), LENGTH))


def test_decisions_wait_for_a_window() -> None:
    assert (warm_up(row(1)), measured_from(row(1))) == (10.0, 20.0)
    long = row(1, window=20.0, samples=5)
    loop = control(long, first="correlation", policy=None)
    assert (warm_up(long), loop.first_at, loop.begin, loop.window, loop.sample) == (20.0, 20.0, 20.0, 5, 4.0)


def test_stretches_of_a_course_add_up() -> None:
    asked = row(1, nodes=3, load=0.9, policy="cor-se-imp")
    found = [courses.measure({**asked, "at": at}) for at in courses.times(courses.SECONDS)]
    moved = [float(each["moved"]) for each in found]
    assert moved == sorted(moved)
    whole = recover(asked, courses.SECONDS)
    assert moved[-1] * 0.9 * 3 == pytest.approx(whole.summary["moved_load"])
    assert min(float(each["latency_ratio"]) for each in found) >= 1
    ratios = [float(each["latency_ratio"]) for each in found]
    assert min(ratios) <= whole.summary["latency_ratio"] <= max(ratios)
