"""Linearisation: new variables where a network is not linear, and no more than needed.

Rule 1: a new variable is a rate that does not follow from the rates of the sources: the output of a join, or of an
operator whose selectivity varies (section 4.4.2 of Xing's dissertation). Rule 2: a variable whose loads are a mixture
of those of other variables is not needed; it is merged into them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from drover.load.arrays import Floats
from drover.load.profile import Profile
from drover.network.operators import Operator

SAME: Final = 1e-9  # columns of length 1 that differ by less are the same


@dataclass(slots=True)
class Expansion:
    """Every load and every stream as a sum over q variables: sources and new ones."""

    names: list[str]  # q: the sources, then the new variables
    values: list[float]  # q rates at present, rows per second
    streams: dict[str, dict[int, float]] = field(default_factory=dict)  # rows per row of variable; zeros are left out
    loads: dict[str, dict[int, float]] = field(default_factory=dict)  # by operator, busy seconds per row of variable

    def add(self, name: str, value: float) -> int:
        """Add a new variable, and return its number."""
        self.names.append(name)
        self.values.append(value)
        return len(self.names) - 1


def expand(profile: Profile) -> Expansion:
    """Return loads and streams, with a new variable wherever the network is not linear."""
    rates = {stream: float(rate) for stream, rate in profile.stream_rates().items()}
    sources = [source.name for source in profile.network.sources]
    expansion = Expansion(sources[:], [rates[source] for source in sources])
    expansion.streams = {source: {index: 1.0} for index, source in enumerate(sources)}
    for operator in profile.network.order:
        if operator.pair_windows is not None:
            _expand_join(operator, profile, rates, expansion)
        else:
            incoming = _sum([expansion.streams[stream] for stream in operator.inputs])
            expansion.loads[operator.name] = _scaled(incoming, profile.costs[operator.name])
            _expand_outputs(operator, incoming, profile, rates, expansion)
    return expansion


def _expand_join(join: Operator, profile: Profile, rates: Mapping[str, float], expansion: Expansion) -> None:
    """Make the join's output rate r a variable: with cost c and selectivity s, its load is (c / s) r.

    If the selectivity varies or is 0, that does not hold, and the variable is the number of rows in.
    """
    cost = profile.costs[join.name]
    selectivity = profile.selectivities[join.name]
    if selectivity > 0 and join.name not in profile.varying:
        index = expansion.add(join.name, rates[join.name])
        expansion.loads[join.name] = {index: cost / selectivity}
        expansion.streams[join.name] = {index: 1.0}
        return
    left, right = join.inputs
    # The output rate cannot stand for the load here, because it is 0 or has no fixed ratio to it.
    matched = profile.gains[join.name] * rates[left] * rates[right]
    index = expansion.add(f"rows into {join.name}", matched)
    expansion.loads[join.name] = {index: cost}
    _expand_outputs(join, {index: 1.0}, profile, rates, expansion)


def _expand_outputs(
    operator: Operator, incoming: dict[int, float], profile: Profile, rates: Mapping[str, float], expansion: Expansion
) -> None:
    for output in operator.outputs:
        if operator.name in profile.varying:
            expansion.streams[output] = {expansion.add(output, rates[output]): 1.0}
        else:
            expansion.streams[output] = _scaled(incoming, profile.selectivities[output])


def _sum(vectors: list[dict[int, float]]) -> dict[int, float]:
    total: dict[int, float] = {}
    for vector in vectors:
        for index, value in vector.items():
            total[index] = total.get(index, 0.0) + value
    return total


def _scaled(vector: dict[int, float], factor: float) -> dict[int, float]:
    return {index: factor * value for index, value in vector.items()} if factor else {}


def needed(columns: Floats) -> tuple[list[int], Floats]:
    """Return the p of q columns that are needed, and the mixture, (p, q), with columns[:, kept] @ mixture = columns.

    `columns` is (rows, q) without negative entries. The kept columns are the edges of the cone that all columns span:
    none is a mixture of the others. Entry (a, b) of the mixture is the multiple of kept column a in column b. So the
    values of the kept variables are the mixture times the old values.
    """
    tallest = columns.max(axis=1, initial=0.0)
    rows = (
        columns[tallest > 0] / tallest[tallest > 0, None]
    )  # without scaling, rounding would lose busy seconds beside whole rows
    lengths = np.linalg.norm(rows, axis=0)
    units = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    # A column that is the only one to load some row is an edge. Joins are such columns, which saves most of the search.
    alone = (rows > 0)[np.count_nonzero(rows, axis=1) == 1].any(axis=0)
    edges = _edges(units, [int(index) for index in np.flatnonzero(~alone & (lengths > 0))])
    kept = sorted([*map(int, np.flatnonzero(alone)), *edges])
    mixture = np.zeros((len(kept), columns.shape[1]))
    mixture[np.arange(len(kept)), kept] = 1.0
    places = [kept.index(edge) for edge in edges]
    for index in set(map(int, np.flatnonzero(~alone & (lengths > 0)))) - set(edges):
        mixture[places, index] = _contained(units[:, edges], units[:, index])[0] * lengths[index] / lengths[edges]
    return kept, mixture


def _edges(units: Floats, indices: list[int]) -> list[int]:
    """Return the columns, of length 1 each, that are not a mixture of the others; of equal columns, only one."""
    kept: list[int] = []
    for index in indices:
        if not any(np.abs(units[:, other] - units[:, index]).max() <= SAME for other in kept):
            kept.append(index)
    for index in tuple(kept):
        others = [other for other in kept if other != index]
        if others and _contained(units[:, others], units[:, index])[1] <= SAME:
            kept = others
    return kept


def _contained(others: Floats, column: Floats) -> tuple[Floats, float]:
    """Return the multiple of each of the `others` in a column, and the length of the rest."""
    from scipy.optimize import nnls  # noqa: PLC0415 - takes half a second to import

    parts, rest = nnls(others, column)
    return parts, float(rest)
