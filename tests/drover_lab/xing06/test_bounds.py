from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from tests.drover_lab.verdicts import verdict


def clouds(ratio: Callable[[float, float], float]) -> pl.DataFrame:
    """2000 matrices whose ratio depends on g and on where a plan lies between the bounds."""
    rng = np.random.default_rng(1)
    kinds = [("uniform", 10, 3), ("exponential", 10, 3), ("plans", 10, 3), ("uniform", 5, 3)]
    rows = []
    for kind, nodes, streams in kinds:
        for g, place in rng.random((2000, 2)) * 0.5 + [0.1, 0.0]:
            size = ratio(g, place)
            rows.append(
                {
                    "kind": kind,
                    "nodes": nodes,
                    "streams": streams,
                    "g": g,
                    "r": size ** (1 / 3),
                    "ball": g / 2,
                    "ratio": size,
                }
            )
    return pl.DataFrame(rows)


def test_bounds() -> None:
    good = clouds(lambda g, place: g * (1 + 2 * place))
    for claim in ("bound", "rises", "linear", "spread"):
        assert verdict("R-fig4.5", claim, good).holds, claim
    for claim in ("bound", "rises", "power", "guides"):
        assert verdict("R-fig4.7", claim, good).holds, claim
    below = clouds(lambda g, place: g * (0.8 + place))
    assert not verdict("R-fig4.5", "bound", below).holds
    level = clouds(lambda g, place: 0.6 + place * 0.01 - g * 0.1)
    for claim in ("rises", "spread"):
        assert (verdict("R-fig4.5", claim, level).holds, verdict("R-fig4.5", claim, level).judged) == (False, True)
    assert not verdict("R-fig4.7", "guides", level).holds
    bent = clouds(lambda g, place: g * (1 + 2 * place)).with_columns(r=pl.col("ratio"))
    assert not verdict("R-fig4.7", "power", bent).holds
    curved = clouds(lambda g, place: 3 * g**6 + 1e-6 * place)
    assert not verdict("R-fig4.5", "linear", curved).holds
    assert not verdict("R-fig4.5", "rises", good.head(50)).judged
