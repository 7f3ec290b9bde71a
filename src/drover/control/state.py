"""What the loop remembers from one period to the next.

Rule 1: a state is never edited. Rule 2: it is JSON and back, so that a restart goes on with windows and cool-downs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from drover.control.record import Proposal, proposal_of
from drover.control.shift import changed, rates_of
from drover.control.weigh import Price
from drover.load.sample import Sample
from drover.load.window import Period, Window

MEMORY: Final = 60  # periods that tell what is usual; decisions look at the last few of them
LEARN: Final = 0.3  # weight of the newest measurement of what a byte costs


@dataclass(frozen=True, slots=True)
class State:
    """The memory of the loop."""

    window: Window = field(default_factory=lambda: Window(MEMORY))
    moved: Mapping[str, int] = field(default_factory=dict)  # period of a unit's last move
    price: Price = field(default_factory=Price)
    since: int = 0  # period of the last lasting change of load: what was before it counts no more
    placed: bool = False  # whether the first plan from scratch was decided on
    trial: Proposal | None = None  # has to keep its promise before it is let pass
    waiting: Proposal | None = None  # waits for somebody to apply it

    @property
    def period(self) -> int:
        """The number of the newest period, 0 before the first."""
        return self.window.periods[-1].number if self.window.periods else 0

    def notice(self) -> State:
        """Return the state that knows of a lasting change, if the newest periods show one."""
        periods = [period for period in self.window.periods if period.number >= self.since]
        at = changed(rates_of(Window(MEMORY, tuple(periods))))
        return self if at is None else replace(self, since=periods[at].number)

    def learn(self, seconds: float, size: float) -> State:
        """Return the state with one more measurement of what moving that many bytes took."""
        if size <= 0:
            return self
        found = (1 - LEARN) * self.price.per_byte + LEARN * max(seconds, 0.0) / size
        return replace(self, price=replace(self.price, per_byte=found))

    def resting(self, cool_down: int) -> dict[str, int]:
        """Return the units that moved lately, with the periods that they still rest."""
        left = {unit: period + cool_down - self.period for unit, period in self.moved.items()}
        return {unit: periods for unit, periods in left.items() if periods > 0}


def to_json(state: State) -> dict[str, Any]:  # Any: JSON
    """Return a state as JSON."""
    return {
        "periods": [_period(period) for period in state.window.periods],
        "moved": dict(state.moved),
        "price": asdict(state.price),
        "since": state.since,
        "placed": state.placed,
        "trial": None if state.trial is None else asdict(state.trial),
        "waiting": None if state.waiting is None else asdict(state.waiting),
    }


def state_of(body: Mapping[str, Any]) -> State:  # Any: JSON
    """Return a state from JSON."""
    periods = tuple(
        Period(
            int(period["number"]),
            float(period["seconds"]),
            period["sources"],
            {name: Sample(name, *_counts(sample)) for name, sample in period["samples"].items()},
        )
        for period in body["periods"]
    )
    trial, waiting = (None if body[name] is None else proposal_of(body[name]) for name in ("trial", "waiting"))
    return State(
        Window(MEMORY, periods),
        {str(unit): int(period) for unit, period in body["moved"].items()},
        Price(**body["price"]),
        int(body["since"]),
        bool(body["placed"]),
        trial,
        waiting,
    )


def _period(period: Period) -> dict[str, Any]:
    return {
        "number": period.number,
        "seconds": period.seconds,
        "sources": dict(period.sources),
        "samples": {
            name: [dict(one.rows_in), dict(one.rows_out), one.busy, one.state_bytes]
            for name, one in period.samples.items()
        },
    }


def _counts(sample: list[Any]) -> tuple[dict[str, float], dict[str, float], float, int]:
    rows_in, rows_out, busy, size = sample
    return dict(rows_in), dict(rows_out), float(busy), int(size)
