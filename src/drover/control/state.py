"""What the loop remembers from one period to the next.

Rule 1: a state is never edited. Rule 2: it is JSON and back, so that a restart goes on with windows and cool-downs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from drover.control.record import Proposal, proposal_of
from drover.control.settings import MEMORY
from drover.control.shift import changed, rates_of, repriced
from drover.control.weigh import Price
from drover.load.arrays import Floats
from drover.load.sample import Sample
from drover.load.window import Period, Window

LEARN: Final = 0.3  # weight of the newest measurement of what a byte costs, if many were moved
MANY: Final = 1e7  # bytes; of fewer, what they took drowns in how much batches differ, and they count for less


@dataclass(frozen=True, slots=True)
class State:
    """The memory of the loop."""

    window: Window = field(default_factory=lambda: Window(MEMORY))
    moved: Mapping[str, int] = field(default_factory=dict)  # period of a unit's last move
    price: Price = field(default_factory=Price)
    since: int = 0  # period of the last lasting change of load: what was before it counts no more
    known: int = 0  # period from which on the load is known: what it did since then is no change
    placed: bool = False  # whether the first plan from scratch was decided on
    trial: Proposal | None = None  # has to keep its promise before it is let pass
    waiting: Proposal | None = None  # waits for somebody to apply it
    speeds: tuple[tuple[float, ...], ...] = ()  # by period and node: CPU seconds per second of its tasks; 0: unknown
    herds: tuple[tuple[float, ...], ...] = ()  # by period and node: busy seconds per second of submitted queries

    @property
    def period(self) -> int:
        """The number of the newest period, 0 before the first."""
        return self.window.periods[-1].number if self.window.periods else 0

    def unsettled(self, window: int) -> bool:
        """Return whether the load has changed for good so lately that a window still has periods of before."""
        return self.since > 0 and self.period - self.since + 1 < window

    def notice(self, nodes: Floats | None = None) -> State:
        """Return the state that knows of a lasting change, if the newest periods show one.

        `nodes`, (n, h) for the periods of the window, is of `shift.node_costs`; without it, only rates are looked at.
        What was before the last change but one is forgotten, so that a load that goes and comes back is seen to do so;
        one that does so again is known to burst.
        """
        periods = [period for period in self.window.periods if period.number >= self.known]
        at = changed(rates_of(Window(MEMORY, tuple(periods))))
        if at is None and nodes is not None:
            at = repriced(nodes[:, nodes.shape[1] - len(periods) :])
        if at is None or (now := periods[at].number) <= self.since:  # the same one, seen again a period later
            return self
        return replace(self, since=now, known=self.since or now)

    def clock(self, speeds: Sequence[float], herd: Sequence[float] = ()) -> State:
        """Return the state with one more period's speeds of the nodes, (n,), 0 where a node did too little to tell.

        `herd`, (n,), is what submitted queries took of them.
        """
        return replace(self, speeds=(*self.speeds, tuple(speeds))[-MEMORY:], herds=(*self.herds, tuple(herd))[-MEMORY:])

    def learn(self, seconds: float, size: float) -> State:
        """Return the state with one more measurement of what moving that many bytes took."""
        if size <= 0:
            return self
        weight = LEARN * size / (size + MANY)
        found = (1 - weight) * self.price.per_byte + weight * seconds / size
        return replace(self, price=replace(self.price, per_byte=max(found, 0.0)))

    def resting(self, cool_down: int) -> dict[str, int]:
        """Return the units that moved lately, with the periods that they still rest."""
        left = {unit: period + cool_down - self.period for unit, period in self.moved.items()}
        return {unit: periods for unit, periods in left.items() if periods > 0}


def to_json(state: State) -> dict[str, Any]:  # Any: JSON
    """Return a state as JSON."""
    return {
        "periods": [period_to_json(period) for period in state.window.periods],
        "moved": dict(state.moved),
        "price": asdict(state.price),
        "since": state.since,
        "known": state.known,
        "placed": state.placed,
        "trial": None if state.trial is None else asdict(state.trial),
        "waiting": None if state.waiting is None else asdict(state.waiting),
        "speeds": [list(speeds) for speeds in state.speeds],
        "herds": [list(herd) for herd in state.herds],
    }


def state_of(body: Mapping[str, Any]) -> State:  # Any: JSON
    """Return a state from JSON."""
    trial, waiting = (None if body[name] is None else proposal_of(body[name]) for name in ("trial", "waiting"))
    return State(
        Window(MEMORY, tuple(map(period_of, body["periods"]))),
        {str(unit): int(period) for unit, period in body["moved"].items()},
        Price(**body["price"]),
        int(body["since"]),
        int(body["known"]),
        bool(body["placed"]),
        trial,
        waiting,
        tuple(tuple(map(float, speeds)) for speeds in body["speeds"]),
        tuple(tuple(map(float, herd)) for herd in body.get("herds", ())),  # absent in files of older runs
    )


def period_to_json(period: Period) -> dict[str, Any]:  # Any: JSON
    """Return a period as JSON."""
    return {
        "number": period.number,
        "seconds": period.seconds,
        "sources": dict(period.sources),
        "samples": {
            name: [dict(one.rows_in), dict(one.rows_out), one.busy, one.state_bytes]
            for name, one in period.samples.items()
        },
    }


def period_of(body: Mapping[str, Any]) -> Period:  # Any: JSON
    """Return a period from JSON."""
    samples = {name: Sample(name, *_counts(sample)) for name, sample in body["samples"].items()}
    return Period(int(body["number"]), float(body["seconds"]), body["sources"], samples)


def _counts(sample: list[Any]) -> tuple[dict[str, float], dict[str, float], float, int]:
    rows_in, rows_out, busy, size = sample
    return dict(rows_in), dict(rows_out), float(busy), int(size)
