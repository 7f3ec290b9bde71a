"""Builds a placement problem from a network and its known load.

Rule 1: this is the only module of placement that sees operators; all others see units and arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from drover.errors import ProblemError, nearest
from drover.load.arrays import Floats
from drover.load.linear import linear_model
from drover.load.links import find_links
from drover.load.profile import Profile
from drover.load.series import LoadSeries, given_series
from drover.network.model import Network
from drover.placement.plan import Plan, unit_of
from drover.placement.problem import NOWHERE, Groups, PlacementProblem


def unit_names(network: Network) -> dict[str, str]:
    """Return the unit of each operator, by name."""
    return {operator.name: unit_of(operator) for operator in network.operators}


def problem_of(
    profile: Profile,
    capacity: Floats,
    *,
    series: LoadSeries | Mapping[str, Sequence[float]] | None = None,
    current: Plan | None = None,
    pins: Mapping[str, int] | None = None,
    state: Mapping[str, float] | None = None,
    cut_costs: Mapping[str, float] | None = None,
) -> PlacementProblem:
    """Return the problem of placing a network's units on nodes with this capacity, (n,).

    `series` holds measured loads by unit, or rates by source; without it, the problem has only the linear model. `pins`
    and `state` (bytes) are by unit. `cut_costs` has, by stream, the busy seconds per row at each end of a cut.
    """
    network = profile.network
    names = unit_names(profile.network)
    model = linear_model(profile, names, with_streams=True)
    loads = series if isinstance(series, LoadSeries) else given_series(profile, series or {}, names)
    # One sticky operator makes its whole unit sticky, because a unit moves as one.
    sticky = {names[operator.name] for operator in network.operators if operator.is_sticky}
    problem = PlacementProblem(
        units=model.units,
        capacity=capacity,
        coefficients=model.coefficients,
        rates=model.rates,
        series=loads.values,
        sticky=np.array([unit in sticky for unit in model.units]),
        pinned=_pinned(model.units, pins or {}),
        state=np.array([(state or {}).get(unit, 0.0) for unit in model.units]),
        links=find_links(model, network, names, cut_costs),
        readers=_readers(network, model.units, names),
    )
    return problem if current is None else problem.starting_from(current)


def _readers(network: Network, units: tuple[str, ...], names: Mapping[str, str]) -> Groups:
    """Return, for each source that several units read, these units."""
    numbers = {unit: j for j, unit in enumerate(units)}
    read = ([numbers[names[operator.name]] for operator in network.readers[one.name]] for one in network.sources)
    groups = (tuple(dict.fromkeys(found)) for found in read)
    return tuple(dict.fromkeys(group for group in groups if len(group) > 1))


def _pinned(units: tuple[str, ...], pins: Mapping[str, int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    for unit in pins:
        if unit not in units:
            raise ProblemError(
                f"pins names {unit!r}, but there is no unit of that name. {nearest(unit, units)}Correct the name."
            )
    return np.array([pins.get(unit, NOWHERE) for unit in units], dtype=np.int64)
