"""A network as arrays: the cost of each operator, its outputs and their readers.

Rule 1: a model is made from the same load profile that placement uses; it knows neither nodes nor time.
Rule 2: letters are those of `world`: operator j of m, source k of d, stream of e (sources first), port of p, output of
y.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from drover.errors import LoadError, nearest
from drover.load.arrays import Floats, Ints, frozen
from drover.load.links import row_bytes
from drover.load.profile import Profile
from drover.placement.model import unit_names
from drover.placement.plan import units_of
from drover.sim.world import FIFO, NOBODY, TURNS, Net

SHORTEST: Final = 1e-3  # seconds: least length of a join's windows together; two births are never exactly equal
SCHEDULES: Final[Mapping[str, int]] = {"fifo": FIFO, "round-robin": TURNS}
QUANTUM: Final = 16  # tuples of one operator in a turn
ARRAYS: Final = (
    *("unit_of", "cost", "spread", "pair_cost", "left", "right", "state", "first", "selectivity", "width"),
    *("output", "reader", "read", "side"),
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Model:
    """A network to simulate; to change costs or selectivities, change its profile."""

    profile: Profile
    operators: tuple[str, ...]  # m
    units: tuple[str, ...]  # what is placed, in the order of the placement problem
    unit_of: Ints  # (m,) number of an operator's unit
    sources: tuple[str, ...]  # d
    streams: tuple[str, ...]  # e
    outputs: tuple[str, ...]  # y streams that leave the network; sources are not among them
    cost: Floats  # (m,) busy seconds per tuple in; of a join, besides those for pairs
    spread: Floats  # (m,) fraction of the cost that is exponentially distributed: 0 is a fixed cost
    pair_cost: Floats  # (m,) busy seconds per pair, of joins
    left: Floats  # (m,) seconds a left tuple of a join waits for right ones
    right: Floats  # (m,) the other way round
    state: Floats  # (m,) bytes that move with an operator, besides the tuples in a join's windows
    first: Ints  # (m + 1,) streams that operator j makes are first[j] : first[j + 1]
    selectivity: Floats  # (e,) tuples out per tuple in, of a join per pair; 1 for sources
    width: Floats  # (e,) bytes per tuple
    output: Ints  # (e,) number of the output, or -1
    reader: Ints  # (p,) operator of a port
    read: Ints  # (p,) stream that it reads
    side: Ints  # (p,) 1 for the right side of a join, else 0

    def __post_init__(self) -> None:
        """Store read-only copies; raise LoadError for a cost, fraction or selectivity out of range."""
        for name in ARRAYS:
            object.__setattr__(self, name, frozen(getattr(self, name)))
        for name, most in (("cost", np.inf), ("pair_cost", np.inf), ("spread", 1.0), ("selectivity", np.inf)):
            array = getattr(self, name)
            wrong = np.flatnonzero(~((array >= 0) & (array <= most) & np.isfinite(array)))
            if len(wrong):
                raise LoadError(
                    f"{name}[{wrong[0]}] is {array[wrong[0]]:g}, but must be from 0 to {most:g} and finite. Correct it."
                )

    @property
    def m(self) -> int:
        """The number of operators."""
        return len(self.operators)

    @property
    def join(self) -> Ints:
        """(m,) the number of a join, or -1."""
        kinds = [operator.pair_windows is not None for operator in self.profile.network.operators]
        return np.where(kinds, np.cumsum(kinds) - 1, NOBODY).astype(np.int64)

    def with_spread(self, share: float) -> Model:
        """Return the same model with that fraction of every cost exponentially distributed."""
        return replace(self, spread=np.full(self.m, share))


def model_of(profile: Profile, *, state: Mapping[str, float] | None = None) -> Model:
    """Return the model of a network; `state` is bytes by unit, divided equally among its operators."""
    network = profile.network
    names = unit_names(profile.network)
    units = units_of(network)
    operators = tuple(operator.name for operator in network.operators)
    sources = tuple(source.name for source in network.sources)
    made = tuple(stream for operator in network.operators for stream in operator.outputs)
    streams = (*sources, *made)
    number = {stream: index for index, stream in enumerate(streams)}
    unit_of = np.array([units.index(names[name]) for name in operators], dtype=np.int64)
    ports = [
        (j, number[stream], side if operator.pair_windows is not None else 0)
        for j, operator in enumerate(network.operators)
        for side, stream in enumerate(_read(operator.inputs, operator.pair_windows is not None))
    ]
    outputs = tuple(stream for stream in network.outputs if stream in set(made))
    return Model(
        profile=profile,
        operators=operators,
        units=units,
        unit_of=unit_of,
        sources=sources,
        streams=streams,
        outputs=outputs,
        **_behaviour(profile, made),
        spread=np.zeros(len(operators)),
        state=_shared_state(units, unit_of, state or {}),
        first=np.cumsum([len(sources), *(len(operator.outputs) for operator in network.operators)]),
        width=np.array([row_bytes(network.streams[stream]) for stream in streams]),
        output=np.array([outputs.index(each) if each in outputs else NOBODY for each in streams], dtype=np.int64),
        reader=np.array([j for j, _, _ in ports], dtype=np.int64),
        read=np.array([stream for _, stream, _ in ports], dtype=np.int64),
        side=np.array([side for _, _, side in ports], dtype=np.int64),
    )


def _read(inputs: tuple[str, ...], join: bool) -> tuple[str, ...]:
    """Return the stream of each port: both sides of a join, even if they are one stream; else each stream once."""
    return inputs if join else tuple(dict.fromkeys(inputs))


def _behaviour(profile: Profile, made: tuple[str, ...]) -> dict[str, Floats]:
    """Return costs, selectivities and windows.

    A join's load is cost x gain x left x right, and r1 r2 (W1 + W2) pairs meet per second. So a pair costs
    cost x gain / (W1 + W2) and yields selectivity x gain / (W1 + W2) results.
    """
    operators = profile.network.operators
    cost = np.array([profile.costs[operator.name] for operator in operators])
    share = np.array([profile.selectivities[stream] for stream in made])
    pair_cost, left, right = (np.zeros(len(operators)) for _ in range(3))
    at = {stream: index for index, stream in enumerate(made)}
    for j, operator in enumerate(operators):
        if operator.pair_windows is not None:
            spans = np.array(operator.pair_windows) / 1e6
            left[j], right[j] = spans if spans.sum() >= SHORTEST else (SHORTEST / 2, SHORTEST / 2)
            pairs = profile.gains[operator.name] / (left[j] + right[j])
            pair_cost[j] = cost[j] * pairs
            cost[j] = 0.0
            share[at[operator.name]] *= pairs
    selectivity = np.concatenate([np.ones(len(profile.network.sources)), share])
    return {"cost": cost, "pair_cost": pair_cost, "left": left, "right": right, "selectivity": selectivity}


def _shared_state(units: tuple[str, ...], unit_of: Ints, state: Mapping[str, float]) -> Floats:
    for unit in state:
        if unit not in units:
            raise LoadError(f"state has {unit!r}, but there is no such unit. {nearest(unit, units)}Leave it out.")
    bytes_of = np.array([state.get(unit, 0.0) for unit in units])
    return np.asarray(bytes_of[unit_of] / np.bincount(unit_of, minlength=len(units))[unit_of])


def net_of(model: Model, schedule: str, quantum: int = QUANTUM) -> Net:
    """Return the arrays of a model for the event core."""
    if schedule not in SCHEDULES:
        raise LoadError(f"schedule is {schedule!r}, but must be one of {', '.join(SCHEDULES)}. Choose one.")
    if quantum < 1:
        raise LoadError(f"quantum is {quantum}, but must be at least 1 tuple per turn. Give 1 or more.")
    readers = np.argsort(model.read, kind="stable")
    start = np.searchsorted(model.read[readers], np.arange(len(model.streams) + 1))
    copies = (np.ceil(model.selectivity) + 1).astype(np.int64) * np.diff(start)  # (e,)
    totals = np.concatenate([[0], np.cumsum(copies)])
    return Net(
        cost=np.array(model.cost),
        spread=np.array(model.spread),
        first=np.array(model.first),
        selectivity=np.array(model.selectivity),
        start=start.astype(np.int64),
        readers=readers.astype(np.int64),
        reader=np.array(model.reader),
        side=np.array(model.side),
        join=model.join,
        pair_cost=np.array(model.pair_cost),
        left=np.array(model.left),
        right=np.array(model.right),
        output=np.array(model.output),
        width=np.array(model.width),
        most=totals[model.first[1:]] - totals[model.first[:-1]],
        schedule=SCHEDULES[schedule],
        quantum=quantum,
    )
