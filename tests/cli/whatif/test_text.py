from __future__ import annotations

import math
from dataclasses import replace

import pytest

from drover.cli.whatif.answer import Overload, SimulationReport
from drover.cli.whatif.text import changes, event_nodes, lines, overloads, sentence, span
from tests.cli.whatif.scenarios import report_of


@pytest.fixture(scope="module")
def report() -> SimulationReport:
    return report_of("--seconds 20 --mode fluid --scale east=2@8 --kill 1@12 --add 4@15 --compare stay,cor-bal")


def test_the_scenario_comes_first_and_the_sentence_last(report: SimulationReport) -> None:
    said = list(lines(report))
    assert said[0] == "traffic on 4 nodes for 20 s, by rates alone; the first 5 s do not count"
    assert said[1:4] == [
        "- east is 2 times as fast from 8 s on",
        "- node 1 is killed at 12 s",
        "- node 4 is added at 15 s",
    ]
    assert sentence(report) in said
    assert [line.split()[0] for line in said if line.startswith(("stay ", "cor-bal "))] == ["stay", "cor-bal"]


def test_changes_and_their_nodes(report: SimulationReport) -> None:
    assert len(list(changes(report.scenario))) == 3
    assert event_nodes(report.scenario) == [1, 4]


def test_overloads_in_words(report: SimulationReport) -> None:
    result = report.results[0]
    first = Overload(2, 5.0, 9.0, False, 3.0)
    last = Overload(0, 7.0, 20.0, True, 2.0)
    assert overloads(replace(result, overloads=())) == ""
    assert overloads(replace(result, overloads=(first,))) == "node 2 from 5 s to 9 s"
    assert overloads(replace(result, overloads=(last, first))) == "node 0 from 7 s on, and 1 other node"


def test_the_sentence_names_the_best_variant(report: SimulationReport) -> None:
    stay, other = report.results
    slow = replace(stay, outcome=replace(stay.outcome, summary={**stay.outcome.summary, "queued_mean": 1e6}))
    said = sentence(replace(report, results=(slow, other)))
    assert said.startswith("With stay, ")
    assert "; best is cor-bal: " in said
    alone = sentence(replace(report, results=(stay,)))
    assert alone[0].isupper()
    assert "With stay" not in alone
    assert sentence(replace(report, results=(stay, slow))).endswith("and no other variant does better.")


def test_a_run_without_results(report: SimulationReport) -> None:
    result = report.results[0]
    silent = replace(
        result, outcome=replace(result.outcome, summary={**result.outcome.summary, "latency_p99": math.nan})
    )
    assert "there are no results" in sentence(replace(report, results=(silent,)))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4.5e-6, "4.5 us"), (math.nan, "-"), (1.0, "1 s"), (1e-3, "1 ms")],
)
def test_durations(seconds: float, text: str) -> None:
    assert span(seconds) == text
