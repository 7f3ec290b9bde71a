"""Samples and windows: what a run says of its load, gaps and all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.errors import LoadError
from drover.load.profile import Origin, make_profile
from drover.load.sample import Sample
from drover.load.window import Window, measured, waiting_shares
from tests.load.networks import example_9


def busy(operator: str, rows_in: float, rows_out: float, seconds: float) -> Sample:
    return Sample(operator, {"r1": rows_in}, {operator: rows_out}, seconds)


def test_several_samples_of_one_operator_in_a_period_are_one() -> None:
    samples = [replace(busy("o1", 10, 4, 0.1), state_bytes=300), replace(busy("o1", 20, 6, 0.2), state_bytes=200)]
    (sample,) = Window().push(1, 1.0, {}, samples).of("o1")
    assert (sample.rows_in, sample.rows_out) == ({"r1": 30}, {"o1": 10})
    assert sample.busy == pytest.approx(0.3)
    assert sample.state_bytes == 300


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 5))
def test_a_window_holds_the_newest_periods_in_order(numbers: list[int], length: int) -> None:
    window = Window(length)
    for number in numbers:
        window = window.push(number, 1.0, {}, ())
    expected = sorted({number for number in numbers if number > max(numbers) - length})
    assert [period.number for period in window.periods] == expected


def test_the_share_of_waiting_is_that_of_all_busy_seconds() -> None:
    waits = [replace(busy("o1", 10, 4, 0.5), waited=0.5), busy("o2", 1, 1, 0.3)]
    window = Window().push(1, 1.0, {}, waits).push(2, 1.0, {}, [busy("o1", 10, 4, 1.5)])
    assert waiting_shares(window.periods) == {"o1": 0.25}


def test_a_repeated_period_replaces_the_first_one() -> None:
    window = Window(3).push(1, 1.0, {"r1": 5}, ()).push(1, 1.0, {"r1": 7}, ())
    assert measured(window).rates == {"r1": 7}


@pytest.mark.parametrize(
    ("periods", "cost", "selectivity"),
    [
        pytest.param([[busy("o1", 100, 50, 0.2)]], 0.002, 0.5, id="one period"),
        pytest.param([[busy("o1", 100, 50, 0.2)], []], 0.002, 0.5, id="a period without a sample is no zero"),
        pytest.param(
            [[busy("o1", 100, 50, 0.2)], [busy("o1", 300, 50, 0.2)]], 0.001, 0.25, id="rows weigh, not periods"
        ),
        pytest.param(
            [[busy("o1", 100, 0, 0.1)], [busy("o1", 0, 50, 0.1)]], 0.002, 0.5, id="windows close without rows"
        ),
    ],
)
def test_cost_and_selectivity(periods: list[list[Sample]], cost: float, selectivity: float) -> None:
    window = Window()
    for number, samples in enumerate(periods):
        window = window.push(number, 10.0, {"r1": 200}, samples)
    behaviour = measured(window).operators["o1"]
    assert behaviour.cost == pytest.approx(cost)
    assert behaviour.selectivity == pytest.approx({"o1": selectivity})
    assert measured(window).rates == {"r1": 20}


def test_a_join_that_lags_is_measured_at_the_rates_it_processed() -> None:
    network = example_9()
    sample = Sample("o5", {"o2": 10, "o4": 10}, {"o5": 20}, 0.2)
    window = Window().push(1, 1.0, {"r1": 20, "r2": 20}, [sample])
    found = make_profile(network, [(Origin.MEASURED, measured(window))])
    assert found.stream_rates()["o5"] == pytest.approx(80)  # twice the rows on both sides, four times the results
    assert found.loads()["o5"] == pytest.approx(0.8)


def test_an_operator_without_rows_gives_no_statistics() -> None:
    assert measured(Window().push(1, 1.0, {}, [busy("o1", 0, 0, 0.1)])).operators == {}


def test_an_operator_that_vanishes_is_forgotten_after_the_window() -> None:
    window = Window(2).push(1, 1.0, {}, [busy("o1", 1, 1, 0.1)]).push(2, 1.0, {}, ())
    assert "o1" in measured(window).operators
    assert measured(window.push(3, 1.0, {}, ())).operators == {}


@pytest.mark.parametrize(
    ("outs", "varies"),
    [
        pytest.param([50, 50, 50], False, id="steady"),
        pytest.param([0, 50, 100], True, id="all over the place"),
        pytest.param([0, 100], False, id="too few periods to tell"),
    ],
)
def test_selectivities_that_vary_are_noticed(outs: list[float], varies: bool) -> None:
    window = Window()
    for number, out in enumerate(outs):
        window = window.push(number, 1.0, {}, [busy("o1", 100, out, 0.1)])
    assert measured(window, varies_above=0.5).operators["o1"].varies is varies
    assert not measured(window).operators["o1"].varies


def test_an_invalid_window_is_refused() -> None:
    with pytest.raises(LoadError, match=r"period 4 is 0\.0 seconds long"):
        Window().push(4, 0.0, {}, ())
    with pytest.raises(LoadError, match="a window has at least one period"):
        Window(0)
