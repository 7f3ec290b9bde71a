"""State that a worker lends to another one, which runs the operator from now on.

Rule 1: what is lent says which saved state it equals. The borrower uses it as it would use its own cached state, so
state of another time is brought up to date from the log, or not used at all.
Rule 2: lending copies references. The lender may run an operator at the same time in another thread, so rows count only
if the state was still in its cache after they were taken: a worker removes a state from its cache before it changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from drover.flow.operators import UnitState
from drover.flow.recall import Saved, added_since
from drover.flow.state.versions import PartState

if TYPE_CHECKING:
    from drover.flow.worker import CachedState


class LentPart(NamedTuple):
    """The live rows of a part, and the saved state that they equal."""

    saved: PartState
    rows: pl.DataFrame


class PartRequest(NamedTuple):
    """Asks a worker for a part of an operator's state; `wanted` is the saved state that the batch starts from."""

    root: str
    operator: str
    part: str
    wanted: PartState


AskForPart = Callable[[PartRequest], LentPart | None]


def lend(states: Mapping[tuple[str, str], CachedState], request: PartRequest) -> LentPart | None:
    """Return a part from the cache of a worker; None if it is not there, or if no row of it could be used."""
    key = request.root, request.operator
    cached = states.get(key)
    if cached is None or request.part not in cached.saved:
        return None
    saved = cached.saved[request.part]
    rows = cached.live.parts.get(request.part)
    # Checked after the rows were taken: if the state has left the cache, its owner may be changing it (rule 2).
    if rows is None or states.get(key) is not cached or added_since(saved, request.wanted) is None:
        return None
    return LentPart(saved, rows)


def borrow(root: str, operator: str, wanted: Saved, ask: AskForPart) -> tuple[Saved, UnitState]:
    """Return what another worker has of the state of an operator, and the saved state that this equals."""
    asked = {part: ask(PartRequest(root, operator, part, one)) for part, one in wanted.items()}
    lent = {part: one for part, one in asked.items() if one is not None}
    bounds = {part: one.saved.bound for part, one in lent.items() if one.saved.bound is not None}
    return {part: one.saved for part, one in lent.items()}, UnitState(
        {part: one.rows for part, one in lent.items()}, bounds
    )
