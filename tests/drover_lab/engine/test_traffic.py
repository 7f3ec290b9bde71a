from __future__ import annotations

import polars as pl

from drover_lab.engine.traffic import POLICIES, best, survives


def test_the_verdict_on_policies() -> None:
    rows = pl.DataFrame(
        [
            {"multiplier": rate, "policy": policy, "latency_mean": 1.0 if policy == "resilient" or rate == 1 else 9.0}
            for rate in (1, 4)
            for policy in POLICIES
        ]
    )
    assert best("latency_mean", rows.with_columns(critical=pl.lit(0.4))).holds
    assert survives(rows).holds
    assert not survives(rows.with_columns(latency_mean=pl.lit(1.0))).holds
