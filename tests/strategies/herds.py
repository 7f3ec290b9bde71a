"""Assignment problems, drawn whole: subscriptions, rates, weights and servers."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.herding.problem import HerdingProblem

SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def herds(
    draw: st.DrawFn,
    max_queries: int = 30,
    max_servers: int = 5,
    max_sources: int = 8,
    *,
    plain: bool = False,
    single: bool = False,
) -> HerdingProblem:
    """A problem; `plain` has unit weights, equal servers and rates, `single` one source per query.

    Numbers come from a drawn seed, so that failures shrink in size, not digit by digit.
    """
    n = draw(st.integers(1, max_queries))
    k = draw(st.integers(1, max_servers))
    m = draw(st.integers(1, max_sources))
    most = 1 if single else draw(st.integers(1, 4))
    rng = default_rng(draw(SEEDS))
    popularity = rng.exponential(1, m) ** 2 + 1e-9
    sets = [
        np.sort(rng.choice(m, min(int(rng.integers(1, most + 1)), m), replace=False, p=popularity / popularity.sum()))
        for _ in range(n)
    ]
    equal_rates = plain or draw(st.booleans())
    unit_weights = plain or draw(st.booleans())
    equal_servers = plain or draw(st.booleans())
    return HerdingProblem(
        start=np.concatenate([[0], np.cumsum([len(sources) for sources in sets])]),
        source=np.concatenate(sets),
        rate=np.ones(m) if equal_rates else np.where(rng.random(m) < 0.1, 0.0, rng.exponential(10, m)),
        capacity=np.ones(k) if equal_servers else rng.choice([0.5, 1.0, 3.0], k),
        weight=np.ones(n) if unit_weights else rng.choice([0.1, 0.25, 1.0, 2.0, 2.7], n),
        state=np.round(rng.exponential(1000, n)),
        slack=draw(st.sampled_from([0.0, 0.05, 0.5])),
        allowance=draw(st.sampled_from([1.0, 3.0, 10.0] if plain else [0.0, 1.0, 10.0])),
    )
