"""What the loop remembers from one period to the next.

Rule 1: a state is never edited. Rule 2: a state converts to JSON and back, so windows and cool-downs survive a restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from drover.control.change_detection import find_cost_change, find_rate_change, source_rates
from drover.control.moves import MoveCost
from drover.control.promises import Promise, promise_of
from drover.control.record import Proposal, proposal_of
from drover.control.settings import MEMORY
from drover.load.arrays import Floats
from drover.load.batch_model import KEPT, BatchMeasure, measure_of, measure_to_json
from drover.load.sample import Sample
from drover.load.window import Period, Window

BACKLOGS: Final = 10  # periods whose backlogs are kept
LEARN: Final = 0.3  # weight of the newest measured cost per byte, if many bytes were moved
MANY: Final = 1e7  # bytes; the cost of fewer is lost in the noise between batches, so it gets less weight


@dataclass(frozen=True, slots=True)
class ControlState:
    """The memory of the loop."""

    window: Window = field(default_factory=lambda: Window(MEMORY))
    moved: Mapping[str, int] = field(default_factory=dict)  # period of each unit's last move
    weighed: Mapping[str, int] = field(default_factory=dict)  # period in which each join got its last weights
    move_cost: MoveCost = field(default_factory=MoveCost)
    last_change: int = 0  # period of the last lasting change of load; decisions ignore earlier periods
    known_from: int = 0  # first period that counts as usual; a rate seen since then is not a change
    placed: bool = False  # whether the first plan from scratch was decided on
    trial: Proposal | None = None  # has to prove itself before it is accepted
    waiting: Proposal | None = None  # waits to be applied
    speeds: tuple[tuple[float, ...], ...] = ()  # by period and node: busy seconds per second of its tasks; 0: unknown
    query_loads: tuple[tuple[float, ...], ...] = ()  # by period and node: busy seconds per second of submitted queries
    batches: tuple[BatchMeasure, ...] = ()  # of the last periods, oldest first
    backlogs: tuple[float, ...] = ()  # by period: rows that wait at the sources; -1: unknown
    promise: Promise | None = None  # of the last proposal that was carried out, until it is compared with what came

    @property
    def period(self) -> int:
        """The number of the newest period, 0 before the first."""
        return self.window.periods[-1].number if self.window.periods else 0

    def changed_recently(self, window: int) -> bool:
        """Return whether the last lasting change of load is less than a window ago."""
        return self.last_change > 0 and self.period - self.last_change + 1 < window

    def detect_change(self, nodes: Floats | None = None) -> ControlState:
        """Return the state; if the newest periods show a lasting change of load, the state records it.

        `nodes`, (n, h) for the periods of the window, comes from `change_detection.node_costs`. Without it, only rates
        are compared. Periods before the last change but one are forgotten. A load that rises and falls back counts as
        two changes; after that both levels are known, and the next rise counts as a burst.
        """
        periods = [period for period in self.window.periods if period.number >= self.known_from]
        at = find_rate_change(source_rates(Window(MEMORY, tuple(periods))))
        if at is None and nodes is not None:
            at = find_cost_change(nodes[:, nodes.shape[1] - len(periods) :])
        if at is None or (now := periods[at].number) <= self.last_change:  # the same change, seen again a period later
            return self
        return replace(self, last_change=now, known_from=self.last_change or now)

    def add_speeds(self, speeds: Sequence[float], query_load: Sequence[float] = ()) -> ControlState:
        """Return the state with the node speeds of one more period, (n,); 0 where a node did too little to tell.

        `query_load`, (n,), is the load of submitted queries on each node.
        """
        return replace(
            self,
            speeds=(*self.speeds, tuple(speeds))[-MEMORY:],
            query_loads=(*self.query_loads, tuple(query_load))[-MEMORY:],
        )

    def add_batches(self, measures: Sequence[BatchMeasure], backlog: float = -1.0) -> ControlState:
        """Return the state with the measured batches of a period, and the rows that wait at its end, -1 if unknown."""
        return replace(self, batches=(*self.batches, *measures)[-KEPT:], backlogs=(*self.backlogs, backlog)[-BACKLOGS:])

    def learn_move_cost(self, seconds: float, size: float) -> ControlState:
        """Return the state with one more measurement: moving `size` bytes took so many seconds."""
        if size <= 0:
            return self
        # A large move outweighs the noise between batches, and a small one does not.
        weight = LEARN * size / (size + MANY)
        found = (1 - weight) * self.move_cost.per_byte + weight * seconds / size
        # `seconds` is a difference between batches, so noise can make it negative. A negative cost would reward moves.
        return replace(self, move_cost=replace(self.move_cost, per_byte=max(found, 0.0)))

    def resting(self, cool_down: int) -> dict[str, int]:
        """Return the units in their cool-down, with the periods that are left of it."""
        left = {unit: period + cool_down - self.period for unit, period in self.moved.items()}
        return {unit: periods for unit, periods in left.items() if periods > 0}


def to_json(state: ControlState) -> dict[str, Any]:  # Any: JSON
    """Return a state as JSON."""
    return {
        # The keys keep the words of earlier versions, so that their checkpoints can be read.
        "periods": [period_to_json(period) for period in state.window.periods],
        "moved": dict(state.moved),
        "weighed": dict(state.weighed),
        "price": asdict(state.move_cost),
        "since": state.last_change,
        "known": state.known_from,
        "placed": state.placed,
        "trial": None if state.trial is None else asdict(state.trial),
        "waiting": None if state.waiting is None else asdict(state.waiting),
        "speeds": [list(speeds) for speeds in state.speeds],
        "herds": [list(load) for load in state.query_loads],
        "batches": [measure_to_json(one) for one in state.batches],
        "backlogs": list(state.backlogs),
        "promise": None if state.promise is None else asdict(state.promise),
    }


def state_of(body: Mapping[str, Any]) -> ControlState:  # Any: JSON
    """Return a state from JSON."""
    trial, waiting = (None if body[name] is None else proposal_of(body[name]) for name in ("trial", "waiting"))
    return ControlState(
        Window(MEMORY, tuple(map(period_of, body["periods"]))),
        {str(unit): int(period) for unit, period in body["moved"].items()},
        {str(join): int(period) for join, period in body.get("weighed", {}).items()},  # absent in files of older runs
        MoveCost(**body["price"]),
        int(body["since"]),
        int(body["known"]),
        bool(body["placed"]),
        trial,
        waiting,
        tuple(tuple(map(float, speeds)) for speeds in body["speeds"]),
        tuple(tuple(map(float, load)) for load in body.get("herds", ())),  # absent in files of older runs
        tuple(map(measure_of, body.get("batches", ()))),  # as above
        tuple(map(float, body.get("backlogs", ()))),  # as above
        None if body.get("promise") is None else promise_of(body["promise"]),
    )


def period_to_json(period: Period) -> dict[str, Any]:  # Any: JSON
    """Return a period as JSON."""
    return {
        "number": period.number,
        "seconds": period.seconds,
        "sources": dict(period.sources),
        "samples": {
            name: [dict(one.rows_in), dict(one.rows_out), one.busy, one.state_bytes, one.waited]
            for name, one in period.samples.items()
        },
    }


def period_of(body: Mapping[str, Any]) -> Period:  # Any: JSON
    """Return a period from JSON."""
    samples = {name: Sample(name, *_counts(sample)) for name, sample in body["samples"].items()}
    return Period(int(body["number"]), float(body["seconds"]), body["sources"], samples)


def _counts(sample: list[Any]) -> tuple[dict[str, float], dict[str, float], float, int, float]:
    rows_in, rows_out, busy, size, *rest = sample
    (waited,) = rest or (0.0,)  # absent in files of older runs
    return dict(rows_in), dict(rows_out), float(busy), int(size), float(waited)
