"""What happens when an operator fails by its own fault: it holds its input, skips it, or the run stops.

Rule 1: only `skip` loses rows, and only who writes it down gets it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from drover.errors import DroverError, nearest

HOLD_BYTES: Final = 256 << 20  # what a parked operator may hold: minutes to hours of rows, and no risk for a disk


class OnFailure(StrEnum):
    """What an operator that fails does with its input."""

    HOLD = "hold"  # keeps it, until the operator is resumed
    SKIP = "skip"  # loses it
    STOP = "stop"  # the run stops


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """What happens when an operator fails, and how many bytes of input a parked operator may hold."""

    on_failure: OnFailure = OnFailure.HOLD
    hold_bytes: int = HOLD_BYTES


def failure_policy(
    on_failure: str | None = None, hold_bytes: int = HOLD_BYTES, *, stop_on_failure: bool = False
) -> FailurePolicy:
    """Return the policy that these settings mean; `stop_on_failure` is an older word for `on_failure="stop"`."""
    if on_failure is None:
        return FailurePolicy(OnFailure.STOP if stop_on_failure else OnFailure.HOLD, _checked(hold_bytes))
    if on_failure not in set(OnFailure):
        hint = nearest(on_failure, set(OnFailure))
        raise DroverError(f"on_failure is {on_failure!r}, but must be one of {', '.join(OnFailure)}. {hint}Choose one.")
    if stop_on_failure and on_failure != OnFailure.STOP:
        raise DroverError(
            f"on_failure is {on_failure!r}, but stop_on_failure is set, which means 'stop'. Leave stop_on_failure out."
        )
    return FailurePolicy(OnFailure(on_failure), _checked(hold_bytes))


def _checked(hold_bytes: int) -> int:
    if hold_bytes < 1:
        raise DroverError(f"hold_bytes is {hold_bytes}, but must be at least 1. To hold nothing: on_failure: skip.")
    return hold_bytes
