from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl
import pytest

from drover_lab.table import Value
from drover_lab.xing06.trees import OTHERS, ROD, SIZES
from tests.drover_lab.verdicts import table, verdict

Line = Callable[[int], float]

GOOD: Mapping[str, Line] = {  # as in the text's figure: ratio by number of operators
    ROD: lambda m: 0.9 * m / 200,
    "correlation": lambda m: 0.7 * m / 200,
    "largest-first": lambda m: 0.4 * m / 200,
    "random": lambda m: 0.3 * m / 200,
    "connected": lambda m: 0.15 * m / 200,
}


def sizes(lines: Mapping[str, Line], runs: int = 2, off: float = 0.0) -> pl.DataFrame:
    def found(operators: int, policy: str, run: int, **_seed: int) -> dict[str, Value]:
        value = lines[policy](operators) * (1 + (run - (runs - 1) / 2) * (policy != ROD) * 1.2 / runs)
        return {"ratio": value, "counted": value + off, "to_rod": value / lines[ROD](operators)}

    return table({"operators": SIZES, "policy": tuple(lines), "run": tuple(range(runs)), "seed": (0,)}, found)


@pytest.mark.parametrize(
    ("experiment", "claim", "bent"),
    [
        pytest.param("R-fig6.3", "rod-best", {"correlation": lambda _m: 0.85}, id="another is better once"),
        pytest.param("R-fig6.1", "rod-best", {"random": lambda _m: 0.85}, id="the same, counted"),
        pytest.param("R-fig6.3", "connected-worst", {"connected": GOOD["largest-first"]}, id="not the worst"),
        pytest.param("R-fig6.3", "correlation-next", {"random": lambda _m: 0.3}, id="random is better with few"),
        pytest.param("R-fig6.3", "approaches", {ROD: lambda m: 0.7 * m / 200}, id="far from ideal"),
        pytest.param("R-fig6.3", "approaches", {ROD: lambda m: 1 - m / 1000}, id="falling"),
        pytest.param(
            "R-fig6.3",
            "others-improve",
            dict.fromkeys(OTHERS[:2], lambda m: 1 / m),
            id="two do not rise",
        ),
        pytest.param("R-fig6.2", "same-lead", {"connected": lambda _m: 0.1}, id="one does not grow with ROD"),
    ],
)
def test_order_of_policies(experiment: str, claim: str, bent: dict[str, Line]) -> None:
    assert verdict(experiment, claim, sizes(GOOD)).holds
    found = verdict(experiment, claim, sizes({**GOOD, **bent}))
    assert (found.holds, found.judged) == (False, True)


def test_counting_tracks_integrating() -> None:
    assert verdict("R-fig6.3", "tracks", sizes(GOOD, off=0.04)).holds
    assert not verdict("R-fig6.3", "tracks", sizes(GOOD, off=0.06)).holds


def test_few_operators_say_nothing_about_many() -> None:
    few = sizes(GOOD).filter(pl.col("operators") < 200)
    assert not verdict("R-fig6.1", "approaches", few).judged


def test_many_runs_over_rod() -> None:
    rows = sizes(GOOD, runs=200)  # from 0.4 to 1.6 times the mean
    assert verdict("R-fig6.4", "varies", rows).holds
    assert verdict("R-fig6.4", "best-below", rows).holds
    flat = rows.with_columns(to_rod=pl.lit(1.01))
    assert not verdict("R-fig6.4", "varies", flat).holds
    assert not verdict("R-fig6.4", "best-below", flat).holds
    assert not verdict("R-fig6.4", "varies", sizes(GOOD, runs=5)).judged
