from __future__ import annotations

from collections.abc import Callable

import polars as pl

from drover_lab.table import Value
from drover_lab.xing06.trees import ROD, SIZES
from tests.drover_lab.verdicts import table, verdict


def clusters(gain: Callable[[int, float], float], costs: tuple[float, ...], connected: float = 0.5) -> pl.DataFrame:
    vary = {"operators": SIZES, "cost": costs, "policy": (ROD, "clustered", "clustered-wide", "connected")}

    def found(operators: int, cost: float, policy: str) -> dict[str, Value]:
        plain = 0.3 / (1 + cost)
        value = {ROD: plain, "connected": connected * plain}.get(policy, plain * gain(operators, cost))
        return {"ratio": value, "to_rod": value / plain}

    return table(vary, found)


def test_clusters_where_streams_cost_processor_time() -> None:
    costs = (0.0, 0.5, 1.0)
    good = clusters(lambda m, cost: 1 + cost * m / 100, costs)
    for reading in ("", "-wide"):
        assert verdict("R-fig6.8", f"matters-more{reading}", good).holds
        assert verdict("R-fig6.9", f"always-better{reading}", good).holds
        assert verdict("R-fig6.9", f"more-operators{reading}", good).holds
    narrow = good.with_columns(ratio=pl.when(pl.col("policy") == "clustered").then(0.01).otherwise("ratio"))
    assert not verdict("R-fig6.9", "always-better", narrow).holds
    assert verdict("R-fig6.9", "always-better-wide", narrow).holds
    assert not verdict("R-fig6.8", "matters-more", clusters(lambda _m, _cost: 1.0, costs)).holds
    assert not verdict("R-fig6.9", "always-better", clusters(lambda _m, _cost: 1.0, costs, connected=1.1)).holds
    assert not verdict("R-fig6.9", "more-operators", clusters(lambda m, _cost: 100 / m, costs)).holds


def test_clusters_under_limited_bandwidth() -> None:
    costs = (0.2, 0.8, 1.0, 2.0, 10.0)
    good = clusters(lambda _m, cost: 1.0 if cost < 1 else 1 + cost, costs)
    bad = clusters(lambda _m, cost: 1.1 if cost < 1 else 1.0, costs)
    for claim in ("abundant", "edge", "scarce"):
        assert verdict("R-fig6.10", claim, good).holds
        assert not verdict("R-fig6.10", claim, bad).holds
    assert verdict("R-fig6.11", "always-better", good).holds
