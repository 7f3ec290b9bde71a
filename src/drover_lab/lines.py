"""The mean of a column against a parameter, one line for each policy, as numbers and as text."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from drover_lab.summary import listed, mean, numbers_of, select, values_of
from drover_lab.table import Finding, unjudged


def line(rows: pl.DataFrame, policy: str, y: str, x: str) -> list[float]:
    """Return the mean of y for a policy at each value of x, in ascending order of x."""
    part = select(rows, policy=policy)
    return [mean(part, y, **{x: value}) for value in numbers_of(rows, x)]


def describe_means(rows: pl.DataFrame, policies: Sequence[str], y: str, x: str) -> str:
    """Return the means of several policies as text."""
    words = "; ".join(f"{policy} {listed(line(rows, policy, y, x))}" for policy in policies)
    return f"at {x} {listed(numbers_of(rows, x))}: {words}"


def lacks(rows: pl.DataFrame, policies: Sequence[str], x: str, least: int = 2) -> Finding | None:
    """Return a finding that is not judged if a policy is missing or x has fewer than `least` values, else None."""
    known = {str(name) for name in values_of(rows, "policy")} if len(rows) else set()
    if not set(policies) <= known or len(numbers_of(rows, x)) < least:
        return unjudged(f"{', '.join(policies)} were not all run at {least} values of {x}")
    return None
