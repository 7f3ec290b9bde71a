"""What a carried-out proposal promised, and what came.

Rule 1: a promise is compared once, a few periods after its moves, and only if the load has not changed since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from drover.load.batch_model import comparable

if TYPE_CHECKING:  # it holds a promise
    from drover.control.state import ControlState

PERIODS: Final = 4  # after the moves: the first batches load state, and the next ones show what is usual
BATCHES: Final = 6  # the last ones, which are compared


@dataclass(frozen=True, slots=True)
class Promise:
    """The seconds of a batch that a proposal promised."""

    proposal: str
    period: int  # in which it was carried out
    seconds: float


def promise_of(body: Mapping[str, Any]) -> Promise:  # Any: JSON
    """Return a promise from JSON."""
    return Promise(str(body["proposal"]), int(body["period"]), float(body["seconds"]))


def compare_promise(state: ControlState) -> tuple[ControlState, str]:
    """Return the state without a promise that is due, and what came of it in words; empty if none is due."""
    promise = state.promise
    if promise is None:
        return state, ""
    if state.last_change > promise.period:
        return replace(state, promise=None), ""
    if state.period < promise.period + PERIODS or not state.batches:
        return state, ""
    came = median(one.whole for one in comparable(state.batches)[-BATCHES:])
    text = f"{promise.proposal} promised {promise.seconds:.2f} s per batch, came {came:.2f} s"
    return replace(state, promise=None), text
