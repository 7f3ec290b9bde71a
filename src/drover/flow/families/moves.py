"""Members that leave a node or arrive, in the state of a family.

Rule 1: the state on a node has rows of its members only. Rows of members that have left are removed.
Rule 2: rows of members that arrive are read from the state that their old node saved in the batch before. That state
never changes, so a replayed batch reads the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from drover.flow.families.local_members import Ints, LocalMembers
from drover.flow.operators import UnitState


def unit_name(family: str, operator: str, node: int) -> str:
    """Return the name under which the state of an operator of a family on a node is saved."""
    return f"{family}.{operator}@{node}"


def family_and_node(unit: str) -> tuple[str, int] | None:
    """Return the family and the node of a unit; None for an operator of the network, whose name has no @."""
    before, at, node = unit.rpartition("@")
    return (before.partition(".")[0], int(node)) if at else None


def members_of(part: str, rows: pl.DataFrame, local: LocalMembers) -> Ints:
    """Return the member of each row. In the state of a join, the column has the name of the side as a prefix."""
    member = local.shape.member
    return rows[member if member in rows.columns else f"{part}.{member}"].to_numpy()


def remove_departed(state: UnitState, local: LocalMembers) -> Iterator[str]:
    """Remove the rows of members that are not here; yield the parts that had any, to be written as a whole."""
    for part, rows in state.parts.items():
        stays = local.positions(members_of(part, rows, local)) >= 0
        if not stays.all():
            state.parts[part] = rows.filter(pl.Series(stays))
            yield part


def add_arrived(state: UnitState, other: UnitState, local: LocalMembers) -> None:
    """Add the rows that members of this node have in the state of another node."""
    for part, rows in other.parts.items():
        arrives = local.positions(members_of(part, rows, local)) >= 0
        state.append(part, rows.filter(pl.Series(arrives)))
    # A part that has rows here has a bound of its own.
    for part, bound in other.bounds.items():
        state.bounds.setdefault(part, bound)


def state_sizes(state: UnitState, local: LocalMembers) -> tuple[Ints, Ints]:
    """Return the rows of each member in the state, and about how many bytes they take, both (n,)."""
    rows = np.zeros(len(local), np.int64)
    size = np.zeros(len(local))
    for part, found in state.parts.items():
        if found.height:
            counts = np.bincount(local.positions(members_of(part, found, local)), minlength=len(local))
            rows += counts
            size += counts * (found.estimated_size() / found.height)
    return rows, size.astype(np.int64)
