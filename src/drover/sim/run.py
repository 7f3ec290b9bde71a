"""The entry point of the simulator: a network, a workload, a cluster and a plan in; a result out.

Rule 1: equal arguments give equal results in any process, because chance comes from the seed alone.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from drover.errors import ProblemError
from drover.load.arrays import Ints
from drover.placement.plan import Plan
from drover.sim.arrivals import begin, streams_of
from drover.sim.cluster import SimulatedCluster
from drover.sim.control import SimulatedControl
from drover.sim.core import Core
from drover.sim.engine import Engine
from drover.sim.fluid import STEP, Fluid
from drover.sim.loop import ROUNDING, Loop, Span
from drover.sim.model import QUANTUM, Model
from drover.sim.outcome import SimulationResult
from drover.sim.workload import Workload

Mode: TypeAlias = Literal["event", "fluid"]
Schedule: TypeAlias = Literal["fifo", "round-robin"]


def simulate(
    model: Model,
    workload: Workload,
    cluster: SimulatedCluster,
    places: Ints | Plan,
    control: SimulatedControl | None = None,
    *,
    seconds: float,
    warmup: float = 0.0,
    seed: int = 0,
    mode: Mode = "event",
    schedule: Schedule = "fifo",
    quantum: int = QUANTUM,
    sample: float | None = None,
    step: float = STEP,
) -> SimulationResult:
    """Simulate a network for `seconds` of virtual time, `warmup` included; return the measurements after the warm-up.

    `places`, (units,), is the first plan. Without a control loop it changes only when nodes come or go. `sample` is the
    length of a period. It defaults to that of the control loop's samples, or a second. Periods that begin before the
    end of the warm-up do not count. `step` is the step of the fluid mode, in seconds. The fluid mode has no schedule,
    and only its rates are random.
    """
    if seed < 0:
        raise ProblemError(f"seed is {seed}, but must be a whole number of at least 0. Give 0.")
    first = _places(model, cluster, places)
    loops = control if control is not None else SimulatedControl()
    span = _span(seconds, warmup, loops.sample if sample is None else sample)
    streams = streams_of(workload, model.sources)
    engine: Core
    if mode == "event":
        engine = Engine(model, cluster, first[model.unit_of], seed=seed, schedule=schedule, quantum=quantum)
    elif mode == "fluid":
        engine = Fluid(model, cluster, first[model.unit_of], step)
    else:
        raise ProblemError(f"mode is {mode!r}, but must be event or fluid. Choose one.")
    loop = Loop(engine, begin(streams, seed, step if mode == "fluid" else None), cluster, loops, span)
    return loop.run(seed).outcome(engine.kept, engine.served)


def _places(model: Model, cluster: SimulatedCluster, given: Ints | Plan) -> Ints:
    """Return a plan as places, (units,); raise ProblemError if it does not fit the model or the cluster."""
    if isinstance(given, Plan):
        missing = [unit for unit in model.units if unit not in given.node_of]
        if missing:
            raise ProblemError(f"places has no node for unit {missing[0]!r}. Make a plan for this network.")
        places = np.array([given.node_of[unit] for unit in model.units], dtype=np.int64)
    else:
        places = np.array(given, dtype=np.int64)
    if places.shape != (len(model.units),):
        raise ProblemError(
            f"places has shape {places.shape}, but there are {len(model.units)} units. Give a node each."
        )
    for j in np.flatnonzero((places < 0) | (places >= cluster.n)):
        raise ProblemError(
            f"places puts unit {model.units[j]!r} on node {places[j]}, but the nodes at the start are 0 to "
            f"{cluster.n - 1}. Name one of them."
        )
    return places


def _span(seconds: float, warmup: float, sample: float) -> Span:
    for name, value, least in (("seconds", seconds, 0.0), ("sample", sample, 0.0)):
        if not value > least or not np.isfinite(value):
            raise ProblemError(f"{name} is {value}, but must be above 0 and finite. Give 60 and 1, for example.")
    if not 0 <= warmup < seconds:
        raise ProblemError(f"warmup is {warmup}, but must be at least 0 and below the {seconds:g} seconds of the run.")
    if np.ceil(warmup / sample) * sample >= seconds * (1 - ROUNDING):
        raise ProblemError(
            f"sample is {sample:g}, but then no period of that length begins between the warm-up's end at {warmup:g} "
            f"and {seconds:g}. Shorten it."
        )
    return Span(float(seconds), float(warmup), float(sample))
