from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pytest

from drover_lab.table import Value
from drover_lab.xing05.offline import LOADS, PRINTED
from tests.drover_lab.verdicts import table, verdict

STEADY = {**PRINTED, "steady": 0.8}


def correlations(values: Mapping[str, float], by_load: float = 0.0, fresh: float = 0.0) -> pl.DataFrame:
    def found(load: float, offsets: str, policy: str) -> dict[str, Value]:
        value = values[policy] + by_load * (load - 0.7) + 0.3 * (offsets == "drawn")
        return {"correlation": value, "fresh": value - fresh * (policy == "steady"), "deviation": 1.0}

    return table({"load": LOADS, "offsets": ("even", "drawn"), "policy": tuple(values)}, found)


@pytest.mark.parametrize("policy", PRINTED)
def test_table_3_is_judged_on_even_offsets(policy: str) -> None:
    assert verdict("B-table3", policy, correlations(STEADY)).holds
    assert not verdict("B-table3", policy, correlations({**STEADY, policy: PRINTED[policy] + 0.1})).holds


def test_table_3_at_all_loads_and_beyond() -> None:
    assert verdict("B-table3", "all-loads", correlations(STEADY, by_load=0.2)).holds
    assert not verdict("B-table3", "all-loads", correlations(STEADY, by_load=0.5)).holds
    assert verdict("B-table3", "steady-above", correlations(STEADY)).holds
    assert not verdict("B-table3", "steady-above", correlations(STEADY, fresh=0.2)).holds


def test_table_1() -> None:
    def times(factor: float) -> pl.DataFrame:
        return table({"nodes": (10, 20, 50)}, lambda nodes: {"seconds": factor * nodes**2, "round_seconds": factor})

    assert verdict("B-table1", "time", times(1e-3)).holds
    assert verdict("B-table1", "rounds", times(1e-3)).holds
    assert not verdict("B-table1", "time", times(1)).holds
    assert not verdict("B-table1", "rounds", times(1)).holds
    assert not verdict("B-table1", "time", times(1e-3).head(2)).judged
