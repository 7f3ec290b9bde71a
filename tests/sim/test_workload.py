from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.errors import LoadError
from drover.load.arrays import Floats
from drover.sim import rates
from drover.sim.arrivals import begin, path_of, streams_of
from drover.sim.workload import (
    Constant,
    EventTrace,
    OnOff,
    Opposite,
    Periodic,
    Poisson,
    Rates,
    Shifted,
    Source,
    Uniform,
    Workload,
    drawn_offsets,
    even_offsets,
    periodic,
)

LEVELS = np.array([3.0, 0.0, 9.0, 1.0])
STREAMS: dict[str, Source] = {
    "poisson": Poisson(5.0),
    "uniform": Uniform(5.0),
    "constant": Constant(5.0),
    "periodic": Periodic(5.0, period=7.0, offset=3.0),
    "on-off": OnOff(5.0),
    "heavy": OnOff(5.0, durations="pareto", low=1.0),
    "rates": Rates(LEVELS, 2.5, scale=2.0),
    "events": EventTrace(np.array([0.5, 0.25, 11.0]), scale=0.5),
    "opposite": Opposite("on-off"),
    "shifted": Shifted("opposite", 4.0),
}


def arrivals(name: str, stops: list[float], seed: int = 1) -> Floats:
    source = begin(STREAMS, seed)[list(STREAMS).index(name)]
    return np.concatenate([source.before(stop) for stop in stops])


@settings(deadline=None, max_examples=30)
@given(name=st.sampled_from(list(STREAMS)), cuts=st.lists(st.floats(0, 40), max_size=6), seed=st.integers(0, 99))
def test_arrivals_do_not_depend_on_how_they_are_cut(name: str, cuts: list[float], seed: int) -> None:
    whole = arrivals(name, [40.0], seed)
    assert whole.tolist() == arrivals(name, [*sorted(cuts), 40.0], seed).tolist()
    assert (np.diff(whole) >= 0).all()
    assert ((whole >= 0) & (whole < 40.0)).all()


@pytest.mark.parametrize("name", ["poisson", "uniform", "constant", "periodic", "on-off", "heavy", "opposite"])
def test_the_mean_rate_is_the_requested_one(name: str) -> None:
    found = [len(arrivals(name, [7000.0], seed)) / 7000 for seed in range(8)]
    wide = 0.05 if name == "heavy" else 0.02  # Pareto durations have no variance: means settle slowly
    assert np.median(found) == pytest.approx(5.0, rel=wide)


@pytest.mark.parametrize(("name", "variation"), [("poisson", 1.0), ("uniform", 1 / np.sqrt(3)), ("constant", 0.0)])
def test_gaps_vary_as_their_distribution_says(name: str, variation: float) -> None:
    gaps = np.diff(arrivals(name, [5000.0]))
    assert gaps.std() / gaps.mean() == pytest.approx(variation, abs=0.02)


def test_a_periodic_stream_is_high_for_half_a_period() -> None:
    times = arrivals("periodic", [7000.0])
    high = (times + 3.0) % 7.0 < 3.5
    assert high.mean() == pytest.approx(0.8, abs=0.01)  # a ratio of 4


def test_a_trace_of_rates_holds_each_value_and_then_ends() -> None:
    times = np.concatenate([arrivals("rates", [50.0], seed) for seed in range(200)]) / 1
    counts, _ = np.histogram(times, [0, 2.5, 5, 7.5, 10, 50])
    assert counts / (200 * 2.5) == pytest.approx([6.0, 0.0, 18.0, 2.0, 0.0], abs=0.4)


def test_a_trace_of_events_is_used_unchanged() -> None:
    assert arrivals("events", [50.0]).tolist() == [0.5, 1.0, 22.0]


def test_an_opposite_is_high_when_the_other_is_low() -> None:
    steps = list(itertools.islice(path_of("on-off", STREAMS, 3)[0], 50))
    others = list(itertools.islice(path_of("opposite", STREAMS, 3)[0], 50))
    assert [until for until, _ in steps] == [until for until, _ in others]
    assert {one + other for (_, one), (_, other) in zip(steps, others, strict=True)} == {10.0}
    shifted = list(itertools.islice(path_of("shifted", STREAMS, 3)[0], 51))
    assert shifted[0] == (4.0, 5.0)
    assert shifted[1:] == [(until + 4.0, rate) for until, rate in others]


def test_durations_have_their_means() -> None:
    for kind in ("exponential", "pareto"):
        stream = OnOff(5.0, on=2.0, off=8.0, durations=kind, shape=3.0)
        steps = list(itertools.islice(stream.path(np.random.default_rng(0)), 40_000))
        ends = np.array([until for until, _ in steps])
        lengths = np.diff(ends, prepend=0.0)
        level = np.array([rate for _, rate in steps])
        assert lengths[level > 0].mean() == pytest.approx(2.0, rel=0.03)
        assert lengths[level == 0].mean() == pytest.approx(8.0, rel=0.03)
        assert stream.high == 25.0


@given(name=st.sampled_from(list(STREAMS)), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=30)
def test_expected_amounts_equal_measured_ones(name: str, seed: int) -> None:
    place = list(STREAMS).index(name)
    source = begin(STREAMS, seed, step=0.25)[place]
    amounts = np.concatenate([source.before(10.0), source.before(10.0), source.before(40.0)])
    assert len(amounts) == 160
    if name == "events":
        assert amounts.sum() == 3
        return
    for first, last in ((0, 40), (40, 160), (7, 8)):
        mean = rates.mean_rate(path_of(name, STREAMS, seed)[0], first / 4, last / 4)
        assert amounts[first:last].sum() == pytest.approx(mean * (last - first) / 4, abs=1e-9)


def test_offsets_are_even_or_drawn() -> None:
    rng = np.random.default_rng(0)
    assert sorted(even_offsets(4, 10.0, rng)) == [0.0, 2.5, 5.0, 7.5]
    assert len(set(drawn_offsets(50, 10.0, rng))) == 50
    assert [each.rate for each in periodic(np.array([1.0, 2.0]), rng)] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        pytest.param([Poisson(1)], "has 1 streams, but there are 2 sources", id="too few"),
        pytest.param({"a": Poisson(1)}, "nothing for source 'b'", id="one missing"),
        pytest.param({"a": Poisson(1), "b": Poisson(1), "c": Poisson(1)}, "no such source", id="one too many"),
        pytest.param([Poisson(1), Opposite("b")], "must follow another source", id="itself"),
        pytest.param([Opposite("b"), Opposite("a")], "in a circle", id="a circle"),
        pytest.param([EventTrace(np.ones(1)), Shifted(0, 1.0)], "a trace of times without a rate", id="follows events"),
        pytest.param([Poisson(1), 7], "must be one of drover.sim.workload", id="no stream"),
        pytest.param([Poisson(1), Poisson(1, "even")], "spacing is 'even'", id="no spacing"),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_a_faulty_workload_is_refused_with_a_message(workload: Workload, words: str) -> None:
    with pytest.raises(LoadError, match=words):
        begin(streams_of(workload, ("a", "b")), 0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(lambda: Poisson(-1), "rate is -1", id="a negative rate"),
        pytest.param(lambda: Poisson(np.nan), "rate is nan", id="no rate"),
        pytest.param(lambda: Periodic(1, period=0), "period is 0", id="no period"),
        pytest.param(lambda: OnOff(1, low=2), "low is 2", id="low above the mean"),
        pytest.param(lambda: OnOff(1, shape=1), "shape is 1", id="no mean"),
        pytest.param(lambda: OnOff(1, durations="long"), "durations is 'long'", id="no such durations"),  # type: ignore[arg-type]  # on purpose
        pytest.param(lambda: Rates(np.array([1.0, -1.0]), 1.0), "values of a trace", id="a negative value"),
        pytest.param(lambda: EventTrace(np.array([-1.0])), "times of a trace", id="before the start"),
        pytest.param(lambda: Shifted("a", -1.0), "by is -1", id="looking ahead"),
    ],
)
def test_a_faulty_stream_is_refused_with_a_message(make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(LoadError, match=words):
        make()
