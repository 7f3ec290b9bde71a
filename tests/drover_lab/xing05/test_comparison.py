from __future__ import annotations

import pytest

from drover_lab.xing05.offline import GLOBAL
from drover_lab.xing05.rounds import IMPROVED, ONE_WAY
from tests.drover_lab.verdicts import verdict
from tests.drover_lab.xing05.made_rows import GLOBALLY, ON_OFF, PAIRWISE, Bent, at_loads


@pytest.mark.parametrize(
    ("experiment", "claim", "level", "bent", "y"),
    [
        ("B-fig3", "correlation-best", GLOBALLY, {"largest-first": 1.9}, "latency_ratio"),
        ("B-fig3", "correlation-below", GLOBALLY, {"balanced-random": 0.9}, "latency_ratio"),
        ("B-fig3", "drawn-offsets", GLOBALLY, {"balanced-random": 1.9}, "latency_ratio"),
        ("B-fig3", "steady-below", GLOBALLY, {"steady": 1.1}, "latency_ratio"),
        ("B-fig4", "correlation-smaller", GLOBALLY, {"largest-first": 1.5}, "deviation"),
        ("B-fig5", "latency", GLOBALLY, {"correlation": 6.0}, "latency_ratio"),
        ("B-fig5", "moved", GLOBALLY, {"correlation": 6.0}, "moved"),
        ("B-fig5", "moved", GLOBALLY, {"correlation": 0.0, "largest-first": 0.0}, "moved"),
        ("B-fig6", "cor-bal-best", PAIRWISE, {"rand-bal": 9.9}, "latency_ratio"),
        ("B-fig6", "moved-alike", PAIRWISE, {"llf-bal": 15.0}, "moved"),
        ("B-fig6", "global-better", PAIRWISE, {"correlation": 6.0}, "latency_ratio"),
        ("B-fig7", "two-way-better", PAIRWISE, {"cor-re-imp": 6.0}, "latency_ratio"),
        ("B-fig7", "thrifty-below", PAIRWISE, {"thrifty": 3.5}, "latency_ratio"),
        ("B-fig10", "effective", ON_OFF, {"cor-glb-bal": 8.5}, "latency_ratio"),
        ("B-fig10", "two-way-effective", ON_OFF, {"cor-glb-re-imp": 8.5}, "latency_ratio"),
        ("B-fig10", "ours-below", ON_OFF, {"steady-thrifty": 2.5}, "latency_ratio"),
        ("B-fig10", "searched-below", ON_OFF, {"searched": 8.5}, "latency_ratio"),
    ],
)
def test_one_policy_below_others(experiment: str, claim: str, level: Bent, bent: Bent, y: str) -> None:
    assert verdict(experiment, claim, at_loads(level, y)).holds
    found = verdict(experiment, claim, at_loads({**level, **bent}, y))
    assert (found.holds, found.judged) == (False, True)


def test_low_loads_and_missing_policies_say_nothing() -> None:
    assert not verdict("B-fig3", "correlation-best", at_loads(GLOBALLY, loads=(0.5, 0.6))).judged
    assert not verdict("B-fig6", "global-better", at_loads(GLOBALLY)).judged
    assert not verdict("B-fig6", "moved-alike", at_loads(PAIRWISE, loads=(0.9,))).judged
    slow = {**GLOBALLY, "correlation": 4.0}
    assert not verdict("B-fig3", "correlation-best", at_loads(slow)).holds


def test_names_of_policies_are_those_that_are_run() -> None:
    assert {*GLOBAL, *ONE_WAY, *IMPROVED} <= {*GLOBALLY, *PAIRWISE}
