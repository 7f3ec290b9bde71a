"""Made-up rows of [Zong15]: policies whose replication is a known function of a parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from drover_lab.table import Value
from tests.drover_lab.verdicts import table

Line = Callable[[float], float]

KNOWN: Mapping[str, Line] = {
    "random-types": lambda x: 16 / x + (x == 1) * 60,
    "mqp": lambda x: 8 / x,
    "ic": lambda x: 4.05 / x,
    "mms": lambda x: 4 / x,
}

COMING: Mapping[str, Line] = {
    "random": lambda x: 16 / x,
    "least-cost": lambda x: 4 / x,
    "least-source": lambda x: 4.1 / x,
    "least-types": lambda x: 15.5 / x,
    "mms": lambda x: 4.2 / x,
    "gather": lambda x: 3.5 / x,
}


def by_skew(lines: Mapping[str, Line]) -> pl.DataFrame:
    vary: dict[str, tuple[Value, ...]] = {"part": ("skew",), "skew": (1.0, 2.0, 3.0), "policy": tuple(lines)}
    return table(vary, lambda policy, skew, **_: {"replication": lines[policy](skew)})


def grown(part: str, values: tuple[Value, ...], lines: Mapping[str, Line]) -> pl.DataFrame:
    vary = {"part": (part,), part: values, "policy": tuple(lines)}
    return table(vary, lambda policy, **given: {"replication": lines[policy](float(given[part]))})
