"""Claims of text H are functions of rows: made-up rows, true and false."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl
import pytest

from drover.experiments.h import churn, offline, online, rates, real
from drover.experiments.table import Value
from tests.experiments.judging import table, verdict

Line = Callable[[float], float]
KNOWN: Mapping[str, Line] = {
    "random-types": lambda x: 16 / x + (x == 1) * 60,
    "mqp": lambda x: 8 / x,
    "ic": lambda x: 4.05 / x,
    "mms": lambda x: 4 / x,
}
COMING: Mapping[str, Line] = {
    "random": lambda x: 16 / x,
    "least-cost": lambda x: 4 / x,
    "least-source": lambda x: 4.1 / x,
    "least-types": lambda x: 15.5 / x,
    "mms": lambda x: 4.2 / x,
    "gather": lambda x: 3.5 / x,
}


def by_skew(lines: Mapping[str, Line]) -> pl.DataFrame:
    vary: dict[str, tuple[Value, ...]] = {"part": ("skew",), "skew": (1.0, 2.0, 3.0), "policy": tuple(lines)}
    return table(vary, lambda policy, skew, **_: {"replication": lines[policy](skew)})


def grown(part: str, values: tuple[Value, ...], lines: Mapping[str, Line]) -> pl.DataFrame:
    vary = {"part": (part,), part: values, "policy": tuple(lines)}
    return table(vary, lambda policy, **given: {"replication": lines[policy](float(given[part]))})


@pytest.mark.parametrize(
    ("experiment", "claim", "lines", "bent"),
    [
        pytest.param("H-fig4", "skew", KNOWN, {"mqp": lambda x: x}, id="one rises with the skew"),
        pytest.param("H-fig4", "best", KNOWN, {"mqp": lambda _x: 1.0}, id="MQP is better"),
        pytest.param("H-fig4", "four-times", KNOWN, {"random-types": lambda x: 9 / x}, id="only twice"),
        pytest.param("H-fig5", "best", COMING, {"least-source": lambda x: 3 / x}, id="LeastSource is better"),
        pytest.param("H-fig5", "four-times", COMING, {"random": lambda x: 9 / x}, id="only twice, online"),
        pytest.param("H-fig5", "offline", COMING, {"mms": lambda x: 3 / x}, id="MMS is always better"),
        pytest.param("H-fig5", "least-source", COMING, {"least-source": lambda x: 8 / x}, id="not close"),
        pytest.param("H-fig5", "least-types", COMING, {"least-types": lambda x: 8 / x}, id="not as OnRand"),
    ],
)
def test_order_of_policies(experiment: str, claim: str, lines: Mapping[str, Line], bent: dict[str, Line]) -> None:
    assert verdict(experiment, claim, by_skew(lines)).holds
    found = verdict(experiment, claim, by_skew({**lines, **bent}))
    assert (found.holds, found.judged) == (False, True)


@pytest.mark.parametrize(("servers", "holds"), [(lambda k: 1 + len(str(int(k))), True), (lambda k: k, False)])
def test_growth_with_servers(servers: Line, holds: bool) -> None:
    lines = dict.fromkeys(online.TEXT, servers)
    assert verdict("H-fig5", "servers", grown("servers", (1, 10, 100, 1000), lines)).holds is holds


@pytest.mark.parametrize(("queries", "holds"), [(lambda _n: 2.0, True), (lambda n: n, False)])
def test_indifference_to_queries(queries: Line, holds: bool) -> None:
    lines = dict.fromkeys(online.TEXT, queries)
    assert verdict("H-fig5", "queries", grown("queries", (10, 100), lines)).holds is holds


@pytest.mark.parametrize(("factor", "holds"), [(1.9, True), (2.1, False)])
def test_single_sources(factor: float, holds: bool) -> None:
    lines: dict[str, Line] = dict.fromkeys(offline.TEXT, lambda _d: factor)
    assert verdict("H-fig4", "single", grown("sources", (1, 2), lines)).holds is holds


@pytest.mark.parametrize(
    ("claim", "lines", "holds"),
    [
        pytest.param("sublinear", {"least-cost": lambda x: x**0.1}, True, id="slow"),
        pytest.param("sublinear", {"least-cost": lambda x: x}, False, id="linear"),
        pytest.param("gather", {"least-cost": lambda _x: 2.0, "gather": lambda _x: 1.9}, True, id="less"),
        pytest.param("gather", {"least-cost": lambda _x: 2.0, "gather": lambda _x: 2.1}, False, id="more"),
    ],
)
def test_life_times(claim: str, lines: dict[str, Line], holds: bool) -> None:
    vary: dict[str, tuple[Value, ...]] = {
        "life": ("exponential",),
        "lifetime": (10.0, 100.0, 1000.0),
        "policy": tuple(lines),
    }
    rows = table(vary, lambda policy, lifetime, **_: {"replication": lines[policy](lifetime)})
    assert verdict("H-fig6", claim, rows).holds is holds


@pytest.mark.parametrize(("pareto", "holds"), [(2.1, True), (3.0, False)])
def test_pareto(pareto: float, holds: bool) -> None:
    vary = {"life": ("exponential", "pareto"), "lifetime": (10.0,), "policy": churn.TEXT}
    rows = table(vary, lambda life, **_: {"replication": pareto if life == "pareto" else 2.0})
    assert verdict("H-fig6", "pareto", rows).holds is holds


@pytest.mark.parametrize(("changed", "holds"), [(1.05, True), (1.2, False)])
def test_changes_of_servers(changed: float, holds: bool) -> None:
    vary = {"period": (0.0, 1e4), "policy": churn.TEXT}
    rows = table(vary, lambda period, **_: {"replication": changed if period else 1.0})
    assert verdict("H-fig7", "robust", rows).holds is holds


@pytest.mark.parametrize(("mms", "correlation", "holds"), [(1.5, 1.0, True), (1.01, -1.0, False)])
def test_rates(mms: float, correlation: float, holds: bool) -> None:
    levels = {"negative": 1.0, "random": 1.0 + correlation / 2, "positive": 1.0 + correlation}

    def found(rates: str, policy: str, **_: Value) -> dict[str, Value]:
        return {"replication": levels[rates] * (mms if policy == "mms" else 1.0)}

    rows = table({"rates": rates.KINDS, "skew": (2.0,), "policy": rates.TEXT}, found)
    assert verdict("H-fig8", "negative", rows).holds is holds
    assert verdict("H-fig8", "correlation", rows).holds is holds


@pytest.mark.parametrize(("part", "worst", "holds"), [(0.11, 1.1, True), (0.4, 3.0, False)])
def test_real_subscriptions(part: float, worst: float, holds: bool) -> None:
    def found(policy: str, **_: Value) -> dict[str, Value]:
        return {"replication": 10 * part if policy == "least-cost" else 10.0, "worst": 10 * worst}

    rows = table({"workload": real.WORKLOADS, "servers": (10,), "policy": real.TEXT}, found)
    assert verdict("H-fig9", "eleven-percent", rows).holds is holds
    assert verdict("H-fig9", "nearly-worst", rows).holds is holds
    assert verdict("H-fig9", "less", rows).holds


@pytest.mark.parametrize("name", real.WORKLOADS)
def test_subscriptions_are_there(name: str) -> None:
    sets = real.subscriptions(name)
    assert len(sets) == {"reviews": 40_000, "jobs": 25_428, "libraries": 5_551}[name]
    assert all(sets)


def test_rows_without_a_policy_tell_nothing() -> None:
    assert not verdict("H-fig5", "best", by_skew({"random": lambda _x: 1.0})).judged
