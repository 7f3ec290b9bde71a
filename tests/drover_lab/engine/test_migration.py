from __future__ import annotations

import polars as pl

from drover_lab.engine.migration import linear


def test_the_verdict_on_moves() -> None:
    rows = pl.DataFrame({"groups": [1, 2, 3], "extra": [0.1, 0.2, 0.31], "error": [0.01, 0.01, 0.02]})
    assert linear("groups", {}, rows).holds
    assert not linear("groups", {}, rows.with_columns(error=pl.lit(0.2))).holds  # it may be chance
    assert not linear("groups", {}, rows.with_columns(extra=pl.Series([0.3, 0.1, 0.2]))).holds
    assert not linear("groups", {}, rows.head(2)).judged
