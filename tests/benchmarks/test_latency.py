"""The parts of `python -m benchmarks latency` that run without Java."""

from __future__ import annotations

import pytest

from benchmarks.compare import Outcome
from benchmarks.latency import BEGIN, FILES, TARGET, Arrivals, rows, summarise


def test_the_time_of_a_file_runs_from_its_arrival_to_its_last_rows() -> None:
    arrivals = Arrivals({0: 10.0, 1: 10.1, 2: 10.2}, {0: 10.5, 1: 10.4, 2: 10.9})
    assert arrivals.latencies("filter", 1) == pytest.approx([0.3, 0.7])


def test_a_file_without_results_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="file 1"):
        Arrivals({0: 10.0, 1: 10.1}, {0: 10.5}).latencies("filter", 0)


def test_the_time_of_a_window_runs_from_the_first_file_past_its_end() -> None:
    arrived = {file: 10.0 + file / FILES for file in range(3 * FILES)}
    arrivals = Arrivals(arrived, {BEGIN: 11.25, BEGIN + 1: 12.5})
    assert arrivals.latencies("window", 0) == pytest.approx([0.25, 0.5])
    assert arrivals.latencies("window", FILES + 1) == pytest.approx([0.5])


def test_a_file_has_a_tenth_of_a_second_of_event_time() -> None:
    seconds = rows(25)["ts"].dt.epoch("ms") / 1000 - BEGIN
    assert seconds.min() >= 2.5  # type: ignore[operator] # a column of numbers
    assert seconds.max() < 2.6  # type: ignore[operator] # as above


def test_ratios_are_above_one_where_drover_is_faster() -> None:
    outcome = Outcome("latency")
    found = {("filter", "spark"): [0.2] * 9, ("filter", "resident"): [0.1] * 9, ("filter", "flink"): [0.01] * 9}
    summarise(found, outcome)
    assert outcome.ratios == pytest.approx({"filter_p50_resident": 2.0, "filter_p99_resident": 2.0})
    assert set(outcome.targets.values()) == {TARGET}
    assert outcome.figures["filter: p50 in ms, flink"] == pytest.approx(10.0)
