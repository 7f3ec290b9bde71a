"""Verdicts on made-up rows: a claim is a function of a table, so its test is a table, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import polars as pl

from drover_lab.catalogue import EXPERIMENTS
from drover_lab.table import ClaimVerdict, Value, tabulate

Made = dict[str, Value]


def table(vary: Mapping[str, Sequence[Value]], found: Callable[..., Mapping[str, Value]]) -> pl.DataFrame:
    """Return a row for every combination, with what `found` says of it."""
    rows: list[Made] = []
    for values in product(*vary.values()):
        given = dict(zip(vary, values, strict=True))
        rows.append({**given, **found(**given)})
    return tabulate(rows)


def verdict(experiment: str, claim: str, rows: pl.DataFrame) -> ClaimVerdict:
    """Return the verdict on one claim."""
    (found,) = [each for each in EXPERIMENTS[experiment].claims if each.name == claim]
    finding = found.find(rows)
    return ClaimVerdict(claim, found.text, finding.measured, finding.holds, finding.judged)
