from __future__ import annotations

import polars as pl

from drover_lab.engine.bursts import auto_finds, cut_below, saved


def test_verdicts_on_two_chains() -> None:
    rows = pl.DataFrame(
        [
            {
                "engine": "resident",
                "load": 0.5,
                "plan": plan,
                "latency_mean": latency,
                "critical": critical,
                "moves": moves,
            }
            for plan, latency, critical, moves in (
                ("connected", 2.0, 0.6, 0),
                ("cut", 1.0, 0.4, 0),
                ("auto", 1.5, 0.45, 2),
            )
        ]
    )
    assert cut_below("resident", rows).holds
    assert auto_finds(rows).holds
    assert not cut_below("shuffle", rows).judged
    worse = rows.with_columns(latency_mean=pl.lit(1.0), critical=pl.lit(0.5) + pl.col("moves"))
    assert not cut_below("resident", worse).holds
    assert not auto_finds(worse).holds


def test_the_verdict_on_a_day() -> None:
    rows = pl.DataFrame(
        [
            {"nodes": 4, "placement": "hash", "critical": 1.0, "moves": 0},
            {"nodes": 4, "placement": "auto", "critical": 0.6, "moves": 9},
            {"nodes": 4, "placement": "known", "critical": 0.5, "moves": 0},
        ]
    )
    assert saved("critical", 0.3, 4, rows).holds
    assert not saved("critical", 0.5, 4, rows).holds
    assert not saved("critical", 0.3, 2, rows).judged
