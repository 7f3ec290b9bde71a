"""The experiments by name: what is not in EXPERIMENTS is no experiment.

Rule 1: a name is the letter of the text and the figure or table there, or a word if it has none; on the real engine it
ends in `-spark`.
Rule 2: a family is a module with a tuple of experiments; FAMILIES is the order in which they are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drover.errors import DroverError, nearest, shorten
from drover.experiments.b import courses, offline, plans, rounds, sensitivity, unpredictable
from drover.experiments.d import adapting, balance, scaling
from drover.experiments.engine import bursts, migration, traffic
from drover.experiments.h import churn, online, rates, real
from drover.experiments.h import offline as known
from drover.experiments.r import bounds, inputs, links, lower, sizes
from drover.experiments.t import courses as minutes
from drover.experiments.t import growth, readings
from drover.experiments.table import Experiment

TEXTS: Final[Mapping[str, str]] = {
    "B": "Correlation-based load distribution [Xing05]",
    "R": "Resilient operator distribution [Xing06]",
    "H": "Herding small queries [Zong15]",
    "D": "Adaptive load diffusion for stream joins [Gu05]",
    "T": "Neighbour protocol for hierarchies [Kots14]",
}
FAMILIES: Final = (
    plans,
    rounds,
    courses,
    sensitivity,
    unpredictable,
    offline,
    bounds,
    sizes,
    inputs,
    lower,
    links,
    bursts,
    migration,
    traffic,
    known,
    online,
    churn,
    rates,
    real,
    scaling,
    balance,
    adapting,
    minutes,
    readings,
    growth,
)

EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    experiment.name: experiment for family in FAMILIES for experiment in family.EXPERIMENTS
}


def find(name: str) -> Experiment:
    """Return an experiment by name; an unknown name says the nearest."""
    if name not in EXPERIMENTS:
        by_case = {known.lower(): known for known in EXPERIMENTS}
        near = by_case.get(name.lower(), "")
        hint = f"Did you mean {near}? " if near else nearest(name, EXPERIMENTS)
        raise DroverError(
            f"NAME is {shorten(name)}, but there is no experiment of that name. {hint}"
            f"See `drover experiment list` for all {len(EXPERIMENTS)}."
        )
    return EXPERIMENTS[name]
