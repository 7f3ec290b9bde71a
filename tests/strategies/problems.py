"""Placement problems, drawn whole: loads, capacities and rules that some plan keeps."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.links import UnitLinks
from drover.placement.problem import PlacementProblem

SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def problems(
    draw: st.DrawFn, max_units: int = 10, max_nodes: int = 4, *, ruled: bool = True, equal_nodes: bool = False
) -> PlacementProblem:
    """A problem with coefficients, rates, series, links and a current plan; `ruled` adds pins, groups and gaps.

    Numbers come from a drawn seed, so that failures shrink in size and in rules, not digit by digit.
    """
    m = draw(st.integers(1, max_units))
    n = draw(st.integers(1, max_nodes))
    d = draw(st.integers(1, 4))
    h = draw(st.integers(2, 8))
    rng = default_rng(draw(SEEDS))
    coefficients = rng.uniform(0.1, 1, (m, d)) * (rng.random((m, d)) < draw(st.sampled_from([1.0, 0.4])))
    rates = rng.uniform(0, 2, d)
    series = coefficients @ (rates[:, None] * rng.uniform(0, 2, (d, h)))
    if draw(st.booleans()):
        series[rng.random(m) < 0.4] = 1.0  # constant series have no correlation
    g = draw(st.integers(0, 2 * m)) if m > 1 else 0
    source = rng.integers(0, m, g)
    names = tuple(f"s{t}" for t in range(g))
    target = (source + rng.integers(1, max(m, 2), g)) % m
    links = UnitLinks(names, source, target, rng.random((g, d)), rng.random((g, d)))
    home = rng.integers(0, n, m)  # a plan that keeps the rules below, so that they never contradict each other
    rules = _rules(draw, home, n) if ruled else {}
    return PlacementProblem(
        units=tuple(f"u{j}" for j in range(m)),
        capacity=np.ones(n) if equal_nodes else rng.uniform(0.5, 2, n),
        coefficients=coefficients,
        series=series,
        rates=rates,
        state=np.round(rng.exponential(1000, m)),
        links=links,
        **rules,  # type: ignore[arg-type]  # a dictionary of fields has no type of its own
    )


def _rules(draw: st.DrawFn, home: np.ndarray[tuple[int], np.dtype[np.int64]], n: int) -> dict[str, object]:
    m = len(home)
    rng = default_rng(draw(SEEDS))
    found: dict[str, object] = {}
    if draw(st.booleans()):
        found["pinned"] = np.where(rng.random(m) < 0.3, home, -1)
    if draw(st.booleans()):
        found["allowed"] = (rng.random((m, n)) < 0.6) | (home[:, None] == np.arange(n))
    if draw(st.booleans()):
        found["together"] = tuple(
            tuple(int(j) for j in np.flatnonzero(home == i)[:2]) for i in range(n) if (home == i).sum() > 1
        )
    if draw(st.booleans()):
        found["apart"] = (tuple(int(np.flatnonzero(home == i)[-1]) for i in range(n) if (home == i).any()),)
    if draw(st.booleans()):
        found["sticky"] = rng.random(m) < 0.4
    if draw(st.booleans()):
        found["current"] = np.where(rng.random(m) < 0.9, home, -1)
    return found
