from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl
import pytest

from drover.experiments.r.lower import PRINTED
from drover.experiments.r.trees import OTHERS, ROD, SIZES
from drover.experiments.table import Value
from tests.experiments.judging import table, verdict

Line = Callable[[int], float]
GOOD: Mapping[str, Line] = {  # as in the text's figure: ratio by number of operators
    ROD: lambda m: 0.9 * m / 200,
    "correlation": lambda m: 0.7 * m / 200,
    "largest-first": lambda m: 0.4 * m / 200,
    "random": lambda m: 0.3 * m / 200,
    "connected": lambda m: 0.15 * m / 200,
}


def sizes(lines: Mapping[str, Line], runs: int = 2, off: float = 0.0) -> pl.DataFrame:
    def found(operators: int, policy: str, run: int, **_seed: int) -> dict[str, Value]:
        value = lines[policy](operators) * (1 + (run - (runs - 1) / 2) * (policy != ROD) * 1.2 / runs)
        return {"ratio": value, "counted": value + off, "to_rod": value / lines[ROD](operators)}

    return table({"operators": SIZES, "policy": tuple(lines), "run": tuple(range(runs)), "seed": (0,)}, found)


@pytest.mark.parametrize(
    ("experiment", "claim", "bent"),
    [
        pytest.param("R-fig6.3", "rod-best", {"correlation": lambda _m: 0.85}, id="another is better once"),
        pytest.param("R-fig6.1", "rod-best", {"random": lambda _m: 0.85}, id="the same, counted"),
        pytest.param("R-fig6.3", "connected-worst", {"connected": GOOD["largest-first"]}, id="not the worst"),
        pytest.param("R-fig6.3", "correlation-next", {"random": lambda _m: 0.3}, id="random is better with few"),
        pytest.param("R-fig6.3", "approaches", {ROD: lambda m: 0.7 * m / 200}, id="far from ideal"),
        pytest.param("R-fig6.3", "approaches", {ROD: lambda m: 1 - m / 1000}, id="falling"),
        pytest.param(
            "R-fig6.3", "others-improve", dict.fromkeys(OTHERS[:2], lambda m: 1 / m),
            id="two do not rise",
        ),
        pytest.param("R-fig6.2", "same-lead", {"connected": lambda _m: 0.1}, id="one does not grow with ROD"),
    ],
)  # fmt: skip
def test_order_of_policies(experiment: str, claim: str, bent: dict[str, Line]) -> None:
    assert verdict(experiment, claim, sizes(GOOD)).holds
    found = verdict(experiment, claim, sizes({**GOOD, **bent}))
    assert (found.holds, found.judged) == (False, True)


def test_counting_tracks_integrating() -> None:
    assert verdict("R-fig6.3", "tracks", sizes(GOOD, off=0.04)).holds
    assert not verdict("R-fig6.3", "tracks", sizes(GOOD, off=0.06)).holds


def test_few_operators_say_nothing_about_many() -> None:
    few = sizes(GOOD).filter(pl.col("operators") < 200)
    assert not verdict("R-fig6.1", "approaches", few).judged


def test_many_runs_over_rod() -> None:
    rows = sizes(GOOD, runs=200)  # from 0.4 to 1.6 times the mean
    assert verdict("R-fig6.4", "varies", rows).holds
    assert verdict("R-fig6.4", "best-below", rows).holds
    flat = rows.with_columns(to_rod=pl.lit(1.01))
    assert not verdict("R-fig6.4", "varies", flat).holds
    assert not verdict("R-fig6.4", "best-below", flat).holds
    assert not verdict("R-fig6.4", "varies", sizes(GOOD, runs=5)).judged


def clouds(ratio: Callable[[float, float], float]) -> pl.DataFrame:
    """2000 matrices whose ratio depends on g and on where a plan lies between the bounds."""
    rng = np.random.default_rng(1)
    kinds = [("uniform", 10, 3), ("exponential", 10, 3), ("plans", 10, 3), ("uniform", 5, 3)]
    rows = []
    for kind, nodes, streams in kinds:
        for g, place in rng.random((2000, 2)) * 0.5 + [0.1, 0.0]:
            size = ratio(g, place)
            rows.append({"kind": kind, "nodes": nodes, "streams": streams, "g": g, "r": size ** (1 / 3),
                         "ball": g / 2, "ratio": size})  # fmt: skip
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


def inputs(share: Callable[[str, int], float]) -> pl.DataFrame:
    vary = {"per_stream": (20,), "streams": (2, 3, 4, 5, 6), "policy": OTHERS}
    return table(vary, lambda per_stream, streams, policy: {"to_rod": share(policy, streams) * per_stream / 20})


def test_inputs() -> None:
    good = inputs(lambda _policy, d: 0.8**d if d > 2 else 0.9)
    for claim in ("falls", "constant-gain", "two-inputs"):
        assert verdict("R-fig6.5", claim, good).holds
    assert not verdict("R-fig6.5", "falls", inputs(lambda _policy, _d: 0.5)).holds
    assert not verdict("R-fig6.5", "constant-gain", inputs(lambda _policy, d: 1 - (d - 4) ** 2 / 9)).holds
    assert not verdict("R-fig6.5", "two-inputs", inputs(lambda _policy, d: 0.8**d if d > 2 else 0.3)).holds
    assert not verdict("R-fig6.5", "constant-gain", good.filter(pl.col("streams") < 4)).judged


def penalties(line: Callable[[str, int], float]) -> pl.DataFrame:
    vary: dict[str, Sequence[Value]] = {
        "operators": SIZES,
        "assumed": tuple(PRINTED),
        "method": (ROD,),
        "seed": range(3),
    }

    def found(operators: int, assumed: str, method: str, seed: int) -> dict[str, Value]:
        del method
        lost = line(assumed, SIZES.index(operators))
        return {"penalty": lost if seed else float("nan"), "informed": 0.5, "misled": 0.5 * (1 - lost)}

    return table(vary, found)


def test_penalties() -> None:
    good = penalties(lambda assumed, at: PRINTED[assumed][at] + 0.05)
    assert verdict("R-table6.1", "falls", good).holds
    assert verdict("R-table6.1", "as-printed", good).holds
    assert not verdict("R-table6.1", "as-printed", penalties(lambda _assumed, at: 0.9 - at / 10)).holds
    assert not verdict("R-table6.1", "falls", penalties(lambda _assumed, at: 0.5 + at / 10)).holds
    assert not verdict("R-table6.1", "as-printed", good.filter(pl.col("operators") < 200)).judged


def sloped(x: str, turn: int, seed: int, **_others: object) -> dict[str, Value]:
    return {x: seed / 60, "penalty": 0.5 + turn * seed / 200}


@pytest.mark.parametrize(
    ("experiment", "claim", "x", "assumed", "sign"),
    [("R-fig6.6", "drops-off", "height", "origin", -1), ("R-fig6.7", "rises", "distance", "other", 1)],
)
def test_trends_of_penalties(experiment: str, claim: str, x: str, assumed: str, sign: int) -> None:
    vary: dict[str, Sequence[Value]] = {"operators": (50,), "assumed": (assumed,), "method": (ROD,), "seed": range(60)}
    for turn, holds in ((sign, True), (-sign, False)):
        rows = table(vary, partial(sloped, x, turn))
        assert verdict(experiment, claim, rows).holds is holds
        assert not verdict(experiment, claim, rows.head(10)).judged


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
