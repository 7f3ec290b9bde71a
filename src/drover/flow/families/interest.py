"""Which rows of a stream are of use to the families on a node.

Rule 1: a row is sent to a node if any member there may want it, and else it is not: the traffic that herding saves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

import polars as pl

from drover.flow.families.crew import Crew
from drover.network.expressions import to_polars


@dataclass(frozen=True, slots=True, eq=False)
class Interest:
    """What each node wants of each stream; a stream that a node wants all of is not in it."""

    wanted: Mapping[tuple[str, int], pl.Expr]

    def of(self, stream: str, node: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that the node wants."""
        wanted = self.wanted.get((stream, node))
        return rows if wanted is None else rows.filter(wanted)


def make_interest(crews: Iterable[tuple[int, Crew]]) -> Interest:
    """Return what the crews, each with its node, want."""
    everything: set[tuple[str, int]] = set()
    values: dict[tuple[str, int], dict[str, tuple[pl.Expr, list[pl.Series]]]] = {}
    for node, crew in crews:
        for stream in crew.shape.reads:
            key = crew.shape.key_of(stream)
            if key is None:
                everything.add((stream, node))
                continue
            _, found = values.setdefault((stream, node), {}).setdefault(key.column, (to_polars(key.expression), []))
            found.append(crew.lookup((key,)).values["k0"])
    wanted = {
        place: reduce(or_, (column.is_in(_distinct(found).implode()) for column, found in columns.values()))
        for place, columns in values.items()
        if place not in everything
    }
    return Interest(wanted)


def _distinct(found: list[pl.Series]) -> pl.Series:
    return pl.concat(found).unique(maintain_order=True)
