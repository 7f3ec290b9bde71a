from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import polars as pl
import pytest

from drover.experiments.b import plans
from drover.experiments.b.courses import POLICIES, times
from drover.experiments.b.offline import GLOBAL
from drover.experiments.b.rounds import IMPROVED, ONE_WAY
from drover.experiments.b.sensitivity import DYNAMIC, STATIC, VARIED
from drover.experiments.b.unpredictable import COMBINED
from drover.experiments.table import Value, tabulate
from tests.experiments.judging import table, verdict

LOADS = (0.5, 0.7, 0.8, 0.9)
Bent = Mapping[str, float]


def at_loads(level: Bent, y: str = "latency_ratio", loads: Sequence[float] = LOADS, **others: float) -> pl.DataFrame:
    """Rows of policies whose y is their level times the load."""

    def found(load: float, policy: str, **_rest: object) -> dict[str, Value]:
        return {"latency_ratio": 1.0, "moved": 1.0, "deviation": 1.0, "bound": 0.05, **others, y: level[policy] * load}

    return table({"load": loads, "policy": tuple(level), "mode": ("event",), "offsets": ("even", "drawn")}, found)


GLOBALLY = {"correlation": 1.0, "balanced-random": 9.0, "largest-first": 5.0, "steady": 0.9}
ONE_BY_ONE = {"cor-bal": 10.0, "rand-bal": 11.0, "llf-bal": 12.0}
PAIRWISE = {**ONE_BY_ONE, "cor-re-imp": 4.0, "cor-se-imp": 3.0, "correlation": 1.0, "thrifty": 2.0}
ON_OFF = dict(zip(COMBINED, (3.0, 2.0, 4.0, 9.0, 8.0, 1.0, 1.5), strict=True))


@pytest.mark.parametrize(
    ("experiment", "claim", "level", "bent", "y"),
    [
        ("B-fig3", "correlation-best", GLOBALLY, {"largest-first": 1.9}, "latency_ratio"),
        ("B-fig3", "correlation-below", GLOBALLY, {"balanced-random": 0.9}, "latency_ratio"),
        ("B-fig3", "drawn-offsets", GLOBALLY, {"balanced-random": 1.9}, "latency_ratio"),
        ("B-fig3", "steady-below", GLOBALLY, {"steady": 1.1}, "latency_ratio"),
        ("B-fig4", "correlation-smaller", GLOBALLY, {"largest-first": 1.5}, "deviation"),
        ("B-fig5", "latency", GLOBALLY, {"correlation": 6.0}, "latency_ratio"),
        ("B-fig5", "moved", GLOBALLY, {"correlation": 6.0}, "moved"),
        ("B-fig5", "moved", GLOBALLY, {"correlation": 0.0, "largest-first": 0.0}, "moved"),
        ("B-fig6", "cor-bal-best", PAIRWISE, {"rand-bal": 9.9}, "latency_ratio"),
        ("B-fig6", "moved-alike", PAIRWISE, {"llf-bal": 15.0}, "moved"),
        ("B-fig6", "global-better", PAIRWISE, {"correlation": 6.0}, "latency_ratio"),
        ("B-fig7", "two-way-better", PAIRWISE, {"cor-re-imp": 6.0}, "latency_ratio"),
        ("B-fig7", "thrifty-below", PAIRWISE, {"thrifty": 3.5}, "latency_ratio"),
        ("B-fig10", "effective", ON_OFF, {"cor-glb-bal": 8.5}, "latency_ratio"),
        ("B-fig10", "two-way-effective", ON_OFF, {"cor-glb-re-imp": 8.5}, "latency_ratio"),
        ("B-fig10", "ours-below", ON_OFF, {"steady-thrifty": 2.5}, "latency_ratio"),
        ("B-fig10", "searched-below", ON_OFF, {"searched": 8.5}, "latency_ratio"),
    ],
)
def test_one_policy_below_others(experiment: str, claim: str, level: Bent, bent: Bent, y: str) -> None:
    assert verdict(experiment, claim, at_loads(level, y)).holds
    found = verdict(experiment, claim, at_loads({**level, **bent}, y))
    assert (found.holds, found.judged) == (False, True)


def test_low_loads_and_missing_policies_say_nothing() -> None:
    assert not verdict("B-fig3", "correlation-best", at_loads(GLOBALLY, loads=(0.5, 0.6))).judged
    assert not verdict("B-fig6", "global-better", at_loads(GLOBALLY)).judged
    assert not verdict("B-fig6", "moved-alike", at_loads(PAIRWISE, loads=(0.9,))).judged
    slow = {**GLOBALLY, "correlation": 4.0}
    assert not verdict("B-fig3", "correlation-best", at_loads(slow)).holds


def test_close_to_the_bound() -> None:
    near, far = ({**GLOBALLY, "correlation": value} for value in (1.2, 1.3))
    for level, holds in ((near, True), (far, False)):
        rows = at_loads(level, "deviation").with_columns(bound="load")
        assert verdict("B-fig4", "near-bound", rows).holds is holds


def two_chains(connected: Callable[[float], float], fluid: float = 1.0) -> pl.DataFrame:
    def found(mode: str, load: float, plan: str) -> dict[str, Value]:
        value = connected(load) if plan == "connected" else 1.5
        return {"latency_ratio": value * (fluid if mode == "fluid" else 1.0)}

    return table({"mode": ("event", "fluid"), "load": LOADS, "plan": ("connected", "cut")}, found)


def test_cut_and_connected() -> None:
    assert verdict("B-fig1", "cut-far-below", two_chains(lambda load: 2 if load < 0.8 else 10)).holds
    assert not verdict("B-fig1", "cut-far-below", two_chains(lambda _load: 4)).holds
    assert not verdict("B-fig1", "cut-far-below", two_chains(lambda load: 1 if load < 0.8 else 10)).holds
    assert not verdict("B-fig1", "cut-far-below", two_chains(lambda _load: 4).filter(pl.col("load") < 0.8)).judged


def test_event_and_fluid() -> None:
    mixed = two_chains(lambda _load: 4).with_columns(offsets=pl.lit("even"))
    drawn = mixed.filter(pl.col("mode") == "event").with_columns(offsets=pl.lit("drawn"), latency_ratio=pl.lit(99.0))
    assert plans.agree(("plan",), pl.concat([mixed, drawn])).holds, "other offsets are not compared"
    assert plans.agree(("plan",), two_chains(lambda _load: 4, fluid=1.4)).holds
    assert not plans.agree(("plan",), two_chains(lambda _load: 4, fluid=0.4)).holds
    assert not plans.agree(("plan",), two_chains(lambda _load: 4).filter(pl.col("mode") == "event")).judged


GOOD_COURSE = {  # latency ratio, moved, deviation
    "cor-bal": (200.0, 0.1, 0.3),
    "cor-re-imp": (60.0, 3.0, 0.06),
    "cor-se-imp": (50.0, 1.0, 0.1),
    "correlation": (20.0, 0.9, 0.05),
    "thrifty": (30.0, 0.5, 0.08),
    "steady": (15.0, 0.9, 0.05),
}


@pytest.mark.parametrize(
    ("claim", "bent"),
    [
        ("re-moves-more", {"cor-re-imp": (60.0, 1.2, 0.06)}),
        ("re-ends-closer", {"cor-re-imp": (60.0, 3.0, 0.2)}),
        ("se-better", {"cor-se-imp": (70.0, 1.0, 0.1)}),
        ("global-better", {"correlation": (20.0, 4.0, 0.05)}),
        ("global-better", {"correlation": (70.0, 0.9, 0.05)}),
        ("thrifty-below", {"thrifty": (55.0, 0.5, 0.08)}),
    ],
)
def test_courses(claim: str, bent: dict[str, tuple[float, float, float]]) -> None:
    for figures, holds in ((GOOD_COURSE, True), ({**GOOD_COURSE, **bent}, False)):
        rows = table(
            {"policy": POLICIES, "at": times(50.0)},
            lambda policy, at, figures=figures: {
                "latency_ratio": figures[policy][0],
                "moved": figures[policy][1] * at / 50,
                "deviation": figures[policy][2],
                "correlation": 0.5,
            },
        )
        assert verdict("B-fig8", claim, rows).holds is holds


def varied(ratio: Callable[[str, str, int, int], float]) -> pl.DataFrame:
    """Rows of Fig. 9: latency by policy, parameter, the value's place and how many there are."""
    rows: list[dict[str, Value]] = []
    for name, values in VARIED.items():
        for at, value in enumerate(values):
            base: dict[str, Value] = {key: other[0] for key, other in VARIED.items()}
            rows += [
                {
                    **base,
                    "vary": name,
                    name: value,
                    "policy": policy,
                    "latency_ratio": ratio(policy, name, at, len(values)),
                }
                for policy in (*STATIC, *DYNAMIC)
            ]
    return tabulate(rows)


def as_in_the_text(policy: str, name: str, at: int, count: int) -> float:
    if policy in {"correlation", "cor-se-imp"}:
        return 100.0 if (name, at) == ("per_node", 0) else 5.0
    rising = {"nodes": -1, "per_node": -1, "period": 1, "ratio": 1}.get(name, 0)
    return math.ldexp(8.0, rising * at if rising >= 0 else count - 1 - at)


def test_sensitivity() -> None:
    good = varied(as_in_the_text)
    for claim in (
        "glb-insensitive",
        "se-insensitive",
        "llf-suffers",
        "many-operators",
        "half-window",
        "half-window-rounds",
    ):
        assert verdict("B-fig9", claim, good).holds, claim
    swapped = {"correlation": "largest-first", "largest-first": "correlation", "cor-se-imp": "llf-bal",
               "llf-bal": "cor-se-imp"}  # fmt: skip
    bad = varied(lambda policy, *others: as_in_the_text(swapped[policy], *others))
    for claim in ("glb-insensitive", "se-insensitive", "llf-suffers", "half-window", "half-window-rounds"):
        assert (verdict("B-fig9", claim, bad).holds, verdict("B-fig9", claim, bad).judged) == (False, True), claim
    worse = varied(lambda policy, *others: as_in_the_text(policy, *others) * (3 if policy == "largest-first" else 1))
    assert not verdict("B-fig9", "many-operators", worse).holds
    few = good.filter(pl.col("vary") == "samples")
    for claim in ("llf-suffers", "many-operators", "half-window"):
        assert not verdict("B-fig9", claim, few).judged


def test_names_of_policies_are_those_that_are_run() -> None:
    assert {*GLOBAL, *ONE_WAY, *IMPROVED} <= {*GLOBALLY, *PAIRWISE}
