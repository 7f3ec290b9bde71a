"""The table of all experiments.

Rule 1: a name is the letter of the text, then its figure or table, or a word if it has none; E is drover's own.
Experiments on the real engine end in `-spark`. Rule 2: a family is a module with a tuple EXPERIMENTS; FAMILIES gives
the order of the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drover.errors import DroverError, nearest, shorten
from drover_lab.engine import bursts, migration, saturation, traffic
from drover_lab.gu05 import adapting, balance, scaling
from drover_lab.kots14 import growth, minutes, readings
from drover_lab.table import Experiment
from drover_lab.xing05 import offline, plans, recovery, rounds, sensitivity, unpredictable
from drover_lab.xing06 import bounds, inputs, links, lower, sizes
from drover_lab.zong15 import churn, online, rates, real
from drover_lab.zong15 import offline as known

TEXTS: Final[Mapping[str, str]] = {
    "B": "Correlation-based load distribution [Xing05]",
    "R": "Resilient operator distribution [Xing06]",
    "H": "Herding small queries [Zong15]",
    "D": "Adaptive load diffusion for stream joins [Gu05]",
    "T": "Neighbour protocol for hierarchies [Kots14]",
    "E": "The engine at the edge of overload, beyond the texts",
}
FAMILIES: Final = (
    plans,
    rounds,
    recovery,
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
    saturation,
)

EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    experiment.name: experiment for family in FAMILIES for experiment in family.EXPERIMENTS
}


def find(name: str) -> Experiment:
    """Return an experiment by name; the error for an unknown name suggests the nearest."""
    if name not in EXPERIMENTS:
        by_case = {known.lower(): known for known in EXPERIMENTS}
        near = by_case.get(name.lower(), "")
        hint = f"Did you mean {near}? " if near else nearest(name, EXPERIMENTS)
        raise DroverError(
            f"NAME is {shorten(name)}, but there is no experiment of that name. {hint}"
            f"See `drover experiment list` for all {len(EXPERIMENTS)}."
        )
    return EXPERIMENTS[name]
