from __future__ import annotations

import polars as pl

from drover_lab.lines import describe_means, lacks, line

ROWS = pl.DataFrame(
    {
        "policy": ["a", "a", "a", "b", "b"],
        "load": [0.9, 0.5, 0.5, 0.5, 0.9],
        "latency": [8.0, 1.0, 3.0, 4.0, 5.0],
    }
)


def test_a_line_has_the_mean_at_each_value_in_ascending_order() -> None:
    assert line(ROWS, "a", "latency", "load") == [2.0, 8.0]


def test_means_are_described_policy_by_policy() -> None:
    assert describe_means(ROWS, ("b", "a"), "latency", "load") == "at load 0.5, 0.9: b 4, 5; a 2, 8"


def test_a_missing_policy_or_value_cannot_be_judged() -> None:
    assert lacks(ROWS, ("a", "b"), "load") is None
    missing = lacks(ROWS, ("a", "c"), "load")
    assert missing is not None
    assert not missing.judged
    assert "a, c were not all run at 2 values of load" in missing.measured
    assert lacks(ROWS, ("a", "b"), "load", least=3) is not None
    assert lacks(ROWS.head(0), ("a",), "load", least=0) is not None
