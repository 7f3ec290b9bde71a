"""Lines of policies: the means of each over a parameter, in numbers and in words, for claims that compare them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from drover.experiments.summary import listed, mean, numbers_of, select, values_of
from drover.experiments.table import Finding, unjudged


def line(rows: pl.DataFrame, policy: str, y: str, x: str) -> list[float]:
    """Return the means of a policy for rising x."""
    part = select(rows, policy=policy)
    return [mean(part, y, **{x: value}) for value in numbers_of(rows, x)]


def told(rows: pl.DataFrame, policies: Sequence[str], y: str, x: str) -> str:
    """Return the means of several policies in words."""
    words = "; ".join(f"{policy} {listed(line(rows, policy, y, x))}" for policy in policies)
    return f"at {x} {listed(numbers_of(rows, x))}: {words}"


def lacks(rows: pl.DataFrame, policies: Sequence[str], x: str, least: int = 2) -> Finding | None:
    """Return that these rows do not tell, if a policy is missing or x takes fewer values than that."""
    known = {str(name) for name in values_of(rows, "policy")} if len(rows) else set()
    if not set(policies) <= known or len(numbers_of(rows, x)) < least:
        return unjudged(f"{', '.join(policies)} were not all run at {least} values of {x}")
    return None
