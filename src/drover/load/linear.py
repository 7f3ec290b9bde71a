"""The linear load model: the load of a unit is the sum over variables of coefficient x rate.

Rule 1: rows are units, in the order of their first operators. Columns are variables: the sources of the network, then
the variables that `linearise` adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from drover.errors import LoadError
from drover.load.arrays import Floats, frozen
from drover.load.linearise import expand, needed
from drover.load.profile import Profile
from drover.network.model import Network


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """L^o of a network, and its present rates."""

    units: tuple[str, ...]  # m
    variables: tuple[str, ...]  # d: sources, then new variables
    sources: int  # how many of them are sources
    coefficients: Floats  # (m, d) L^o: busy seconds of unit j per row of variable k
    rates: Floats  # (d,) rows per second at present
    streams: Mapping[str, Floats]  # (d,) each: rows of a stream per row of variable k; empty unless asked for

    def __post_init__(self) -> None:
        """Store read-only copies."""
        object.__setattr__(self, "coefficients", frozen(self.coefficients))
        object.__setattr__(self, "rates", frozen(self.rates))

    @property
    def loads(self) -> Floats:
        """(m,) busy seconds per second of each unit at present."""
        loads: Floats = self.coefficients @ self.rates
        return loads


def units_of(network: Network, unit_of: Mapping[str, str]) -> tuple[str, ...]:
    """Return the units of a network in the order of their first operators; `unit_of` is by operator."""
    missing = [operator.name for operator in network.operators if operator.name not in unit_of]
    if missing:
        raise LoadError(
            f"operator {missing[0]!r} has no unit, but every operator belongs to one. Give it a unit of its own name."
        )
    return tuple(dict.fromkeys(unit_of[operator.name] for operator in network.operators))


def linear_model(profile: Profile, unit_of: Mapping[str, str], *, with_streams: bool = False) -> LinearModel:
    """Return the linear model of a network; `unit_of` maps operators to units.

    With `with_streams`, the model also has the rate of every stream as a sum over the variables. That may need more
    variables: two streams that only a union reads are one variable for its load, but two for traffic between nodes.
    """
    units = units_of(profile.network, unit_of)
    expansion = expand(profile)
    d = len(profile.network.sources)
    loads = np.zeros((len(units), len(expansion.names)))
    rows = {unit: row for row, unit in enumerate(units)}
    for operator, vector in expansion.loads.items():
        for index, value in vector.items():
            loads[rows[unit_of[operator]], index] += value
    streams = _dense(expansion.streams, len(expansion.names)) if with_streams else {}
    # Sources stay as they are; only the added variables may be merged.
    added, mixture = needed(np.vstack([loads[:, d:], *(vector[None, d:] for vector in streams.values())]))
    # Sources are kept even if no unit reads them: rates and bounds are given by source.
    columns = [*range(d), *(d + index for index in added)]
    values = np.array(expansion.values)
    return LinearModel(
        units,
        (*expansion.names[:d], *(_name(expansion.names[d:], row) for row in mixture)),
        d,
        loads[:, columns],
        np.concatenate([values[:d], mixture @ values[d:]]),
        {name: frozen(vector[columns]) for name, vector in streams.items()},
    )


def _dense(vectors: Mapping[str, Mapping[int, float]], length: int) -> dict[str, Floats]:
    table = np.zeros((len(vectors), length))
    for row, vector in enumerate(vectors.values()):
        for index, value in vector.items():
            table[row, index] = value
    return dict(zip(vectors, table, strict=True))


def _name(names: list[str], row: Floats) -> str:
    """Return the name of a variable: the name of its stream, or of all streams that it combines."""
    return " + ".join(name for name, part in zip(names, row, strict=True) if part > 0)
