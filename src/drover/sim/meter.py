"""The last periods of a run as arrays, and the load statistics that follow from them.

Rule 1: this is `load.window` and `load.series` for samples that are arrays already. It gives the same numbers in a
tenth of the time, which matters because a control loop runs every second.
Rule 2: measurements override the model's profile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from drover.load.arrays import Flags, Floats
from drover.load.profile import Profile
from drover.load.series import LoadSeries
from drover.load.statistics import Behaviour, Statistics
from drover.sim import meter_kernels as kernels
from drover.sim.meter_kernels import Seen, StreamGraph
from drover.sim.model import Model
from drover.sim.world import NOBODY, SimulationCounts


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedPeriods:
    """The last `length` periods, h of them, oldest first."""

    model: Model
    said: Statistics  # statistics of the model's profile
    network: StreamGraph
    counted: Flags  # (p,) ports whose tuples count: a stream on both sides of a join counts once
    length: int
    seen: Seen

    def push(self, seconds: float, counts: SimulationCounts) -> SimulatedPeriods:
        """Return the history with one more period; an operator without rows gets no sample, even if it was busy."""
        had = self.rows(counts.taken) > 0  # (m,)
        given = counts.given.copy()
        given[len(self.model.sources) :] *= np.repeat(had, np.diff(self.model.first))
        new = (np.array(seconds), counts.arrived, counts.taken, given, counts.busy * had)
        rows = (np.concatenate([old, row[None]])[-self.length :] for old, row in zip(self.seen, new, strict=True))
        return replace(self, seen=Seen(*rows))

    def rows(self, taken: Floats) -> Floats:
        """Return, (m,), the rows of each operator, given those of each port, (p,)."""
        return np.bincount(self.model.reader, taken * self.counted, self.model.m).astype(np.float64)

    def __bool__(self) -> bool:
        return len(self.seen.seconds) > 0


def empty_history(model: Model, length: int) -> SimulatedPeriods:
    """Return a history without periods."""
    d = len(model.sources)
    p = len(model.reader)
    e = len(model.streams)
    m = model.m
    order = {operator.name: at for at, operator in enumerate(model.profile.network.operators)}
    ports = np.searchsorted(model.reader, np.arange(m + 1))
    network = StreamGraph(
        np.array([order[operator.name] for operator in model.profile.network.order], dtype=np.int64),
        *(np.array(each) for each in (ports, model.read, model.join, model.first)),
    )
    right = np.flatnonzero(model.side == 1)
    counted = np.ones(p, dtype=np.bool_)
    counted[right] = model.read[right] != model.read[right - 1]
    seen = Seen(*(np.zeros((0, *shape)) for shape in ((), (d,), (p,), (e,), (m,))))
    return SimulatedPeriods(model, statistics_of(model.profile), network, counted, length, seen)


def statistics_of(profile: Profile) -> Statistics:
    """Return the statistics of a profile, for operators that have not been measured yet."""
    said: dict[str, Behaviour] = {}
    for operator in profile.network.operators:
        shares = {stream: profile.selectivities[stream] for stream in operator.outputs}
        found_at: dict[str, float] = {}
        if operator.pair_windows is not None and profile.gains[operator.name] > 0:
            # The rate, equal on both sides, that gives the join this gain; see `find_gains`.
            rate = len(set(operator.inputs)) / profile.gains[operator.name]
            found_at = dict.fromkeys(operator.inputs, rate)
        said[operator.name] = Behaviour(profile.costs[operator.name], shares, found_at=found_at)
    return Statistics(profile.rates, said)


def measured(history: SimulatedPeriods) -> Statistics:
    """Return the measured statistics of a history; see `load.window.measured`."""
    model = history.model
    seen = history.seen
    rows = np.array([history.rows(taken) for taken in seen.taken])  # (h, m)
    total = rows.sum(axis=0)
    seconds = (rows > 0).T @ seen.seconds  # (m,) length of the periods in which an operator had rows
    busy, given, taken = (each.sum(axis=0).tolist() for each in (seen.busy, seen.given, seen.taken))
    ports: list[list[int]] = [[] for _ in range(model.m)]
    for port in np.flatnonzero(history.counted).tolist():
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


def measured_series(history: SimulatedPeriods, profile: Profile) -> LoadSeries:
    """Return the ideal loads of units in each period of a history; see `load.series.measured_series`."""
    model = history.model
    cost = np.array([profile.costs[name] for name in model.operators])
    share = np.array([profile.selectivities.get(name, 1.0) for name in model.streams])
    gain = np.array([profile.gains.get(name, float(NOBODY)) for name in model.operators])
    loads = np.zeros((model.m, len(history.seen.seconds)))
    kernels.ideal_loads(history.network, history.seen, cost, share, gain, loads)
    values = np.zeros((len(model.units), loads.shape[1]))
    np.add.at(values, model.unit_of, loads)
    return LoadSeries(model.units, values)
