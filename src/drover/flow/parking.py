"""Parked operators: what failed, what it keeps, and how it holds the watermarks of everything behind it.

Rule 1: an operator that holds its input loses nothing. While it is parked, watermarks downstream of it stand still, so
that no window closes without its rows.
Rule 2: in every batch, `late` of an operator is the `now` that it had in the batch before, with and without caps.
Windows that time out rely on it.
Rule 3: everything here follows from the last commit and from the entry of the batch in the plan log. So a batch that is
run again after a crash has the same operators parked, and the same watermarks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Final

from drover.flow.operators import Watermarks
from drover.network.durations import Micros
from drover.network.model import Network
from drover.wording import count


@dataclass(frozen=True, slots=True)
class ParkedOperator:
    """An operator that does not run, and why."""

    reason: str
    holds: bool = False  # whether it keeps its input; else rows pass it by
    frozen: Micros | None = None  # the watermark at which everything downstream of it stands, if it holds its input
    since: int | None = None  # the batch in which it was parked; None if an old checkpoint does not say
    at: float | None = None  # seconds since 1970: when it was parked
    rows: int = 0  # that it holds
    bytes: int = 0  # that it holds


DETAILS: Final = tuple(one.name for one in fields(ParkedOperator) if one.name != "reason")  # in JSON


@dataclass(frozen=True, slots=True)
class WatermarkCaps:
    """Upper limits of watermarks downstream of operators that hold their input, by operator.

    A limit of None means that there is no watermark yet.
    """

    late: Mapping[str, Micros | None] = field(default_factory=dict)
    now: Mapping[str, Micros | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parking:
    """The parked operators of one batch; `resumed` process what they hold and then run as usual.

    `discarded` are parked and no longer hold their input. What they held is dropped with this batch.
    """

    parked: Mapping[str, ParkedOperator] = field(default_factory=dict)
    resumed: Mapping[str, ParkedOperator] = field(default_factory=dict)
    discarded: Mapping[str, ParkedOperator] = field(default_factory=dict)  # as they were before

    @property
    def names(self) -> frozenset[str]:
        """The operators that do not run."""
        return frozenset(self.parked)

    @property
    def holding(self) -> frozenset[str]:
        """The operators that do not run and keep their input."""
        return frozenset(name for name, one in self.parked.items() if one.holds)

    @property
    def working_off(self) -> frozenset[str]:
        """The operators that run on what they have held, before the rows of the batch."""
        return frozenset(name for name, one in self.resumed.items() if one.holds)

    @property
    def stateful(self) -> frozenset[str]:
        """The operators with something held in their state, whether they have other state or not."""
        return self.holding | self.working_off | frozenset(self.discarded)

    def caps(self) -> WatermarkCaps:
        """Return the limits of watermarks in this batch.

        A resumed operator emits rows from its frozen watermark on, so these are not late. Once they are in, windows may
        close.
        """
        now = {name: one.frozen for name, one in self.parked.items() if one.holds}
        ending = {**self.resumed, **self.discarded}
        return WatermarkCaps({**now, **{name: one.frozen for name, one in ending.items() if one.holds}}, now)

    def park(self, failed: Mapping[str, ParkedOperator]) -> Parking:
        """Return the parking with these operators added; one that fails on its resume keeps what it holds."""
        added = {name: self._parked_again(name, one) for name, one in failed.items()}
        resumed = {name: one for name, one in self.resumed.items() if name not in added}
        held = {**self.parked, **self.resumed}
        discarded = {name: held[name] for name, one in added.items() if name in held and not one.holds}
        return Parking({**self.parked, **added}, resumed, {**self.discarded, **discarded})

    def _parked_again(self, name: str, failed: ParkedOperator) -> ParkedOperator:
        before = self.resumed.get(name)
        if before is None or not (before.holds and failed.holds):
            return failed
        # It keeps its frozen watermark and its date: the rows that it holds are from then.
        return replace(before, reason=failed.reason)

    def after(self, held: Iterable[HeldInput]) -> dict[str, ParkedOperator]:
        """Return the parked operators after the batch, with the size of what they hold."""
        sizes = {one.operator: one for one in held}
        return {
            name: replace(one, rows=sizes[name].rows, bytes=sizes[name].bytes) if name in sizes else one
            for name, one in self.parked.items()
        }


@dataclass(frozen=True, slots=True)
class HeldInput:
    """The size of what a parked operator holds after a batch."""

    operator: str
    rows: int
    bytes: int


def begin_parking(
    before: Mapping[str, ParkedOperator], resumed: Collection[str], parked: Mapping[str, ParkedOperator]
) -> Parking:
    """Return the parking of a batch: `before` is from the last commit, the other two from the plan log."""
    begun = Parking(
        {name: one for name, one in before.items() if name not in resumed},
        {name: one for name, one in before.items() if name in resumed},
    )
    return begun.park(parked)


def newly_parked(
    reasons: Mapping[str, str], watermarks: Mapping[str, Watermarks], batch: int, *, holds: bool, at: float | None
) -> dict[str, ParkedOperator]:
    """Return operators to park from `batch` on, for these reasons; `watermarks` are those of the batch."""
    return {
        name: ParkedOperator(reason, holds, watermarks[name].late if holds else None, batch, at)
        for name, reason in reasons.items()
    }


def holders_of(network: Network, names: Collection[str]) -> dict[str, frozenset[str]]:
    """Return, for every stream, which of these operators its rows pass."""
    found = {source.name: frozenset[str]() for source in network.sources}
    for operator in network.order:
        passed = frozenset[str]().union(*(found[stream] for stream in operator.inputs))
        if operator.name in names:
            passed |= {operator.name}
        found |= dict.fromkeys(operator.outputs, passed)
    return found


def parked_from_json(
    reasons: Mapping[str, str], details: Mapping[str, Mapping[str, Any]]
) -> dict[str, ParkedOperator]:  # Any: JSON
    """Return parked operators from their reasons; an old checkpoint has no details, and nothing was held."""
    return {
        name: ParkedOperator(reason, **{key: value for key, value in details.get(name, {}).items() if key in DETAILS})
        for name, reason in reasons.items()
    }


def details_to_json(parked: Mapping[str, ParkedOperator]) -> dict[str, dict[str, Any]]:  # Any: JSON
    """Return everything about parked operators except the reasons."""
    return {name: {key: getattr(one, key) for key in DETAILS} for name, one in parked.items()}


def describe_parked(name: str, one: ParkedOperator) -> str:
    """Return in words that an operator is parked, since when, why, and what it holds."""
    since = "" if one.since is None else f" since batch {one.since}"
    clock = "" if one.at is None else f", {datetime.fromtimestamp(one.at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    does = f"It holds {count(one.rows, 'row')}, {one.bytes:,} bytes." if one.holds else "Its input is lost meanwhile."
    return f"{name} is parked{since}{clock}: {one.reason}. {does}"
