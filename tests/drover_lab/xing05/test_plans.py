from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from drover_lab.table import Value
from drover_lab.xing05 import plans
from tests.drover_lab.verdicts import table, verdict
from tests.drover_lab.xing05.made_rows import GLOBALLY, LOADS, at_loads


@pytest.mark.parametrize(("steady", "holds"), [(19.0, True), (21.0, False)])
def test_a_fifth_of_the_latency_near_saturation(steady: float, holds: bool) -> None:
    rows = pl.DataFrame(
        [
            {"mode": "event", "offsets": "even", "load": 0.95, "policy": policy, "seed": seed, "latency_ratio": value}
            for policy, value in (("correlation", 100.0), ("steady", steady))
            for seed in (1, 2)
        ]
    )
    assert plans.fifth(rows).holds == holds
    assert "2 seeds" in plans.fifth(rows).measured
    assert not plans.fifth(rows.with_columns(load=pl.lit(0.5))).judged


def test_close_to_the_bound() -> None:
    near, far = ({**GLOBALLY, "correlation": value} for value in (1.2, 1.3))
    for level, holds in ((near, True), (far, False)):
        rows = at_loads(level, "deviation").with_columns(bound="load")
        assert verdict("B-fig4", "near-bound", rows).holds is holds


def two_chains(connected: Callable[[float], float], fluid: float = 1.0) -> pl.DataFrame:
    def found(mode: str, load: float, plan: str) -> dict[str, Value]:
        value = connected(load) if plan == "connected" else 1.5
        return {"latency_ratio": value * (fluid if mode == "fluid" else 1.0)}

    return table({"mode": ("event", "fluid"), "load": LOADS, "plan": ("connected", "cut")}, found)


def test_cut_and_connected() -> None:
    assert verdict("B-fig1", "cut-far-below", two_chains(lambda load: 2 if load < 0.8 else 10)).holds
    assert not verdict("B-fig1", "cut-far-below", two_chains(lambda _load: 4)).holds
    assert not verdict("B-fig1", "cut-far-below", two_chains(lambda load: 1 if load < 0.8 else 10)).holds
    assert not verdict("B-fig1", "cut-far-below", two_chains(lambda _load: 4).filter(pl.col("load") < 0.8)).judged


def test_event_and_fluid() -> None:
    mixed = two_chains(lambda _load: 4).with_columns(offsets=pl.lit("even"))
    drawn = mixed.filter(pl.col("mode") == "event").with_columns(offsets=pl.lit("drawn"), latency_ratio=pl.lit(99.0))
    assert plans.agree(("plan",), pl.concat([mixed, drawn])).holds, "other offsets are not compared"
    assert plans.agree(("plan",), two_chains(lambda _load: 4, fluid=1.4)).holds
    assert not plans.agree(("plan",), two_chains(lambda _load: 4, fluid=0.4)).holds
    assert not plans.agree(("plan",), two_chains(lambda _load: 4).filter(pl.col("mode") == "event")).judged
