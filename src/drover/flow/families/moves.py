"""Members that leave or come, in the state of a family on a node.

Rule 1: state has rows of members of the crew and of nobody else: who leaves takes nothing out of it and leaves nothing.
Rule 2: what comes from another node is read from its saved state of the batch before, which nobody changes any more; so
a batch that is repeated takes in the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from drover.flow.families.crew import Crew, Ints
from drover.flow.operators import UnitState


def unit_name(family: str, operator: str, node: int) -> str:
    """Return the name under which the state of an operator of a family on a node is saved."""
    return f"{family}.{operator}@{node}"


def family_and_node(unit: str) -> tuple[str, int] | None:
    """Return whose state a unit is; None for an operator of the network: no name of one has an @."""
    before, at, node = unit.rpartition("@")
    return (before.partition(".")[0], int(node)) if at else None


def members_of(part: str, rows: pl.DataFrame, crew: Crew) -> Ints:
    """Return the number of each row's member; a side of a join puts its name before that of the column."""
    member = crew.shape.member
    return rows[member if member in rows.columns else f"{part}.{member}"].to_numpy()


def dismiss(state: UnitState, crew: Crew) -> Iterator[str]:
    """Forget the rows of all who are not of the crew; yield the parts that had any, to be written as a whole."""
    for part, rows in state.parts.items():
        stays = crew.positions(members_of(part, rows, crew)) >= 0
        if not stays.all():
            state.parts[part] = rows.filter(pl.Series(stays))
            yield part


def welcome(state: UnitState, other: UnitState, crew: Crew) -> None:
    """Take in the rows that members of the crew have in the state of another node."""
    for part, rows in other.parts.items():
        comes = crew.positions(members_of(part, rows, crew)) >= 0
        state.append(part, rows.filter(pl.Series(comes)))
    for part, bound in other.bounds.items():
        state.bounds.setdefault(part, bound)


def rows_of(state: UnitState, crew: Crew) -> tuple[Ints, Ints]:
    """Return, for each member of the crew, its rows in the state and about how many bytes they take, both (n,)."""
    rows, size = np.zeros(len(crew), np.int64), np.zeros(len(crew))
    for part, found in state.parts.items():
        if found.height:
            counts = np.bincount(crew.positions(members_of(part, found, crew)), minlength=len(crew))
            rows += counts
            size += counts * (found.estimated_size() / found.height)
    return rows, size.astype(np.int64)
