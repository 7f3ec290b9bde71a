"""Which rows of a stream the families on a node need.

Rule 1: a row is sent to a node only if some member there may need it. This is the traffic that herding saves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

import polars as pl

from drover.flow.families.local_members import LocalMembers
from drover.network.expressions import to_polars


@dataclass(frozen=True, slots=True, eq=False)
class Interest:
    """The rows that each node needs, by stream and node; a stream that a node needs as a whole is not in it."""

    wanted: Mapping[tuple[str, int], pl.Expr]

    def of(self, stream: str, node: int, rows: pl.DataFrame, columns: tuple[str, ...] | None = None) -> pl.DataFrame:
        """Return the rows that the node needs, with these columns or with all."""
        wanted = self.wanted.get((stream, node))
        if columns is None:
            return rows if wanted is None else rows.filter(wanted)
        sent = rows.select(columns)
        # The condition may use columns that only queries in another hop of the node need.
        return sent if wanted is None else sent.filter(rows.select(wanted).to_series())


def make_interest(families: Iterable[tuple[int, LocalMembers]]) -> Interest:
    """Return the interest of families, each given by its members on a node."""
    everything: set[tuple[str, int]] = set()
    values: dict[tuple[str, int], dict[str, tuple[pl.Expr, list[pl.Series]]]] = {}
    for node, members in families:
        for stream in members.shape.reads:
            key = members.shape.key_of(stream)
            if key is None:
                everything.add((stream, node))
                continue
            _, found = values.setdefault((stream, node), {}).setdefault(key.column, (to_polars(key.expression), []))
            found.append(members.lookup((key,)).values["k0"])
    wanted = {
        place: reduce(or_, (column.is_in(_distinct(found).implode()) for column, found in columns.values()))
        for place, columns in values.items()
        if place not in everything
    }
    return Interest(wanted)


def _distinct(found: list[pl.Series]) -> pl.Series:
    return pl.concat(found).unique(maintain_order=True)
