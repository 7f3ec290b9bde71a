"""The last periods of a run as arrays, and what they say of its load.

Rule 1: this is `load.window` and `load.series` for a run whose samples are arrays already: the same numbers, a tenth of
the time, since a control loop asks every second. Rule 2: what was measured wins over what the model's profile says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from drover.load.arrays import Flags, Floats
from drover.load.profile import Profile
from drover.load.series import LoadSeries
from drover.load.statistics import Behaviour, Statistics
from drover.network.operators import Join
from drover.sim.meter import kernels
from drover.sim.meter.kernels import Network, Seen
from drover.sim.model import Model
from drover.sim.world import NOBODY, Books


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """The last `length` periods, h of them, oldest first."""

    model: Model
    said: Statistics  # what the model's profile says
    network: Network
    counted: Flags  # (p,) ports whose tuples count: a stream on both sides of a join counts once
    length: int
    seen: Seen

    def push(self, seconds: float, books: Books) -> Ledger:
        """Return the ledger with one more period; an operator without rows has no sample, whatever it did."""
        had = self.rows(books.taken) > 0  # (m,)
        given = books.given.copy()
        given[len(self.model.sources) :] *= np.repeat(had, np.diff(self.model.first))
        new = (np.array(seconds), books.arrived, books.taken, given, books.busy * had)
        rows = (np.concatenate([old, row[None]])[-self.length :] for old, row in zip(self.seen, new, strict=True))
        return replace(self, seen=Seen(*rows))

    def rows(self, taken: Floats) -> Floats:
        """Return, (m,), the rows of each operator, from those of the ports, (p,)."""
        return np.bincount(self.model.reader, taken * self.counted, self.model.m).astype(np.float64)

    def __bool__(self) -> bool:
        return len(self.seen.seconds) > 0


def open_ledger(model: Model, length: int) -> Ledger:
    """Return a ledger with nothing in it."""
    d, p, e, m = len(model.sources), len(model.reader), len(model.streams), model.m
    order = {operator.name: at for at, operator in enumerate(model.profile.network.operators)}
    ports = np.searchsorted(model.reader, np.arange(m + 1))
    network = Network(
        np.array([order[operator.name] for operator in model.profile.network.order], dtype=np.int64),
        *(np.array(each) for each in (ports, model.read, model.join, model.first)),
    )
    right = np.flatnonzero(model.side == 1)
    counted = np.ones(p, dtype=np.bool_)
    counted[right] = model.read[right] != model.read[right - 1]
    seen = Seen(*(np.zeros((0, *shape)) for shape in ((), (d,), (p,), (e,), (m,))))
    return Ledger(model, statistics_of(model.profile), network, counted, length, seen)


def statistics_of(profile: Profile) -> Statistics:
    """Return what a profile says, so that it stands in where nothing was measured yet."""
    said: dict[str, Behaviour] = {}
    for operator in profile.network.operators:
        shares = {stream: profile.selectivities[stream] for stream in operator.outputs}
        found_at: dict[str, float] = {}
        if isinstance(operator, Join) and profile.gains[operator.name] > 0:
            # Rates, equal on both sides, at which the join's gain is what it is: see `find_gains`.
            rate = len(set(operator.inputs)) / profile.gains[operator.name]
            found_at = dict.fromkeys(operator.inputs, rate)
        said[operator.name] = Behaviour(profile.costs[operator.name], shares, found_at=found_at)
    return Statistics(profile.rates, said)


def measured(ledger: Ledger) -> Statistics:
    """Return what a ledger says: see `load.window.measured`."""
    model, seen = ledger.model, ledger.seen
    rows = np.array([ledger.rows(taken) for taken in seen.taken])  # (h, m)
    total = rows.sum(axis=0)
    seconds = (rows > 0).T @ seen.seconds  # (m,) of the periods in which an operator had rows
    busy, given, taken = (each.sum(axis=0).tolist() for each in (seen.busy, seen.given, seen.taken))
    ports: list[list[int]] = [[] for _ in range(model.m)]
    for port in np.flatnonzero(ledger.counted).tolist():
        ports[model.reader[port]].append(port)
    said = {
        model.operators[j]: Behaviour(
            busy[j] / total[j],
            {model.streams[stream]: given[stream] / total[j] for stream in range(*model.first[j : j + 2].tolist())},
            found_at={model.streams[model.read[port]]: taken[port] / seconds[j] for port in ports[j]},
        )
        for j in np.flatnonzero(total > 0).tolist()
    }
    rates = seen.arrived / seen.seconds[:, None]  # (h, d)
    means = seen.arrived.sum(axis=0) / seen.seconds.sum()
    return Statistics(
        dict(zip(model.sources, means.tolist(), strict=True)),
        said,
        {name: tuple(rates[:, k].tolist()) for k, name in enumerate(model.sources)},
    )


def measured_series(ledger: Ledger, profile: Profile) -> LoadSeries:
    """Return the ideal loads of the units in the periods of a ledger: see `load.series.measured_series`."""
    model = ledger.model
    cost = np.array([profile.costs[name] for name in model.operators])
    share = np.array([profile.selectivities.get(name, 1.0) for name in model.streams])
    gain = np.array([profile.gains.get(name, float(NOBODY)) for name in model.operators])
    loads = np.zeros((model.m, len(ledger.seen.seconds)))
    kernels.ideal_loads(ledger.network, ledger.seen, cost, share, gain, loads)
    values = np.zeros((len(model.units), loads.shape[1]))
    np.add.at(values, model.unit_of, loads)
    return LoadSeries(model.units, values)
