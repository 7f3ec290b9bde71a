from __future__ import annotations

import polars as pl
import pytest

from tests.drover_lab.verdicts import table, verdict


@pytest.mark.parametrize(
    ("claim", "column", "large"),
    [("messages", "messages", 12.0), ("work", "work", 30.0), ("busiest", "busiest", 99.0), ("less", "less", 0.1)],
)
def test_growth(claim: str, column: str, large: float) -> None:
    def rows(last: float) -> pl.DataFrame:
        flat = {"messages": 10.0, "work": 10.0, "busiest": 20.0, "less": 0.3}
        return table(
            {"nodes": (15, 63, 10_000), "seed": (0,)}, lambda nodes, **_: flat | ({column: last} if nodes > 99 else {})
        )

    assert verdict("T-growth", claim, rows({"less": 0.3}.get(column, 10.0))).holds
    assert not verdict("T-growth", claim, rows(large)).holds
