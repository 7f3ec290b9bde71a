"""Claims of text D are functions of rows: made-up rows, true and false."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl
import pytest

from drover.experiments.d import scaling
from drover.experiments.table import Value
from tests.experiments.judging import table, verdict

Line = Callable[[float], float]
SERVERS: tuple[Value, ...] = (1, 3, 8, 15, 30)
TRUE: Mapping[str, Line] = {
    "ssp": lambda k: 10 - abs(k - 15) / 4,
    "ssp-printed": lambda k: 9 - abs(k - 15) / 4,
    "grid": lambda k: 11 - abs(k - 15) / 4,
    "llf": lambda _k: 1.0,
}


def scaled(lines: Mapping[str, Line], received: Mapping[str, float] | None = None) -> pl.DataFrame:
    sent = {"ssp": 2.0, "ssp-printed": 3.0, "grid": 1.0, "llf": 0.5, **(received or {})}

    def found(policy: str, servers: float, **_: Value) -> dict[str, Value]:
        return {"throughput": lines[policy](servers), "utilisation": lines[policy](servers), "received": sent[policy]}

    return table({"part": ("main",), "servers": SERVERS, "policy": tuple(lines)}, found)


@pytest.mark.parametrize("figure", ["D-fig4", "D-fig5"])
@pytest.mark.parametrize(
    ("claim", "bent"),
    [
        pytest.param("peak", {"ssp": lambda k: k}, id="the more the better"),
        pytest.param("falls", {"ssp": lambda k: k}, id="no fall"),
        pytest.param("flat", {"llf": lambda k: 1 + k / 100}, id="LLF rises"),
        pytest.param("above", {"llf": lambda _k: 20.0}, id="LLF is better"),
        pytest.param("role", {"ssp-printed": lambda _k: 20.0}, id="copying the faster stream is better"),
        pytest.param("grid", {"grid": lambda _k: 2.0}, id="grids are worse"),
    ],
)
def test_scaling(figure: str, claim: str, bent: dict[str, Line]) -> None:
    assert verdict(figure, claim, scaled(TRUE)).holds
    found = verdict(figure, claim, scaled({**TRUE, **bent}))
    assert (found.holds, found.judged) == (False, True)


@pytest.mark.parametrize(("grid", "holds"), [(1.0, True), (2.5, False)])
def test_grids_send_fewer(grid: float, holds: bool) -> None:
    assert verdict("D-fig4", "fewer", scaled(TRUE, {"grid": grid})).holds is holds


@pytest.mark.parametrize(("best", "holds"), [(15, True), (30, False)])
def test_readings(best: int, holds: bool) -> None:
    vary: dict[str, tuple[Value, ...]] = {
        "part": ("readings",), "servers": SERVERS, "policy": ("ssp", "ssp-printed"),
        "split": ("least-loaded", "round-robin"), "full": ("tidy", "drop", "replace"),
    }  # fmt: skip
    rows = table(vary, lambda servers, **_: {"throughput": -abs(servers - best), "utilisation": 0.0})
    assert verdict("D-fig4", "readings", rows).holds is holds


@pytest.mark.parametrize(("ssp", "grid", "balanced", "used"), [(0.1, 2.0, True, True), (1.0, 0.5, False, False)])
def test_balance(ssp: float, grid: float, balanced: bool, used: bool) -> None:
    def found(policy: str, server: int, **_: Value) -> dict[str, Value]:
        return {"utilisation": {"llf": server / 10, "ssp": 0.5 + ssp * server / 10, "grid": grid}[policy]}

    rows = table({"server": tuple(range(1, 11)), "policy": ("ssp", "grid", "llf"), "seed": (0, 1)}, found)
    assert verdict("D-fig6", "balanced", rows).holds is balanced
    assert verdict("D-fig6", "grid", rows).holds is used


def adapted(gain: float, dip: float = 0.0) -> pl.DataFrame:
    def found(policy: str, at: float, seed: int, **_: Value) -> dict[str, Value]:
        level = {"ssp": 10.0, "ssp-adaptive": 10.0 + gain, "grid": 10.5, "grid-adaptive": 10.5 + 2 * gain}[policy]
        return {"throughput": level + 0.001 * seed - dip * (at == 600.0 and "adaptive" in policy), "changes": 3}

    at = tuple(50.0 * (number + 1) for number in range(40))
    policies = ("ssp", "ssp-adaptive", "grid", "grid-adaptive")
    return table({"at": at, "servers": (5, 12), "policy": policies, "section": (500.0,), "seed": (0, 1, 2)}, found)


@pytest.mark.parametrize("claim", ["adaptive", "adaptive-12", "grid", "never-below"])
def test_adapting(claim: str) -> None:
    assert verdict("D-fig7", claim, adapted(0.3)).holds
    found = verdict("D-fig7", claim, adapted(-0.6))
    assert (found.holds, found.judged) == (False, True)


def test_one_bad_sample_is_beyond_noise() -> None:
    assert not verdict("D-fig7", "never-below", adapted(0.3, dip=2.0)).holds


def test_rows_without_a_policy_tell_nothing() -> None:
    assert not verdict("D-fig4", "peak", scaled({"llf": lambda _k: 1.0})).judged
    assert scaling.EXPERIMENTS[0].rows(quick=True)
