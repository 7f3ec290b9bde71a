from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl
import pytest

from drover_lab.gu05 import scaling
from drover_lab.table import Value
from tests.drover_lab.verdicts import table, verdict

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
        "part": ("readings",),
        "servers": SERVERS,
        "policy": ("ssp", "ssp-printed"),
        "split": ("least-loaded", "round-robin"),
        "full": ("tidy", "drop", "replace"),
    }
    rows = table(vary, lambda servers, **_: {"throughput": -abs(servers - best), "utilisation": 0.0})
    assert verdict("D-fig4", "readings", rows).holds is holds


def test_rows_without_a_policy_tell_nothing() -> None:
    assert not verdict("D-fig4", "peak", scaled({"llf": lambda _k: 1.0})).judged
    assert scaling.EXPERIMENTS[0].rows(quick=True)
