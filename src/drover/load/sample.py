"""Samples: what one operator did in one batch or one period.

Rule 1: rows are counted per stream, where they are read and made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """What one operator did in one batch or one period."""

    operator: str
    rows_in: Mapping[str, float]  # by input stream; one that a join reads on both sides counts once
    rows_out: Mapping[str, float]  # by output stream
    busy: float  # CPU seconds, and those that it waited
    state_bytes: int = 0
    waited: float = 0.0  # seconds of `busy` that used no core


def own_name(operator: str, instance: int) -> str:
    """Return the name of the sample of one instance; a period holds it beside the sum over all instances."""
    return f"{operator}[{instance}]"


def merged(samples: Iterable[Sample]) -> dict[str, Sample]:
    """Return one sample per operator: rows and busy time add up, and the largest state counts.

    An operator has several samples if a period spans several batches.
    """
    found: dict[str, Sample] = {}
    for sample in samples:
        before = found.get(sample.operator)
        found[sample.operator] = sample if before is None else _added(before, sample)
    return found


def _added(one: Sample, other: Sample) -> Sample:
    return Sample(
        one.operator,
        _summed(one.rows_in, other.rows_in),
        _summed(one.rows_out, other.rows_out),
        one.busy + other.busy,
        # State is a level, not a flow: adding it up over batches would count the same bytes again.
        max(one.state_bytes, other.state_bytes),
        one.waited + other.waited,
    )


def _summed(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}
