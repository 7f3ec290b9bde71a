from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl

from drover_lab.table import Value, tabulate
from drover_lab.xing05.sensitivity import DYNAMIC, STATIC, VARIED
from tests.drover_lab.verdicts import verdict


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
    swapped = {
        "correlation": "largest-first",
        "largest-first": "correlation",
        "cor-se-imp": "llf-bal",
        "llf-bal": "cor-se-imp",
    }
    bad = varied(lambda policy, *others: as_in_the_text(swapped[policy], *others))
    for claim in ("glb-insensitive", "se-insensitive", "llf-suffers", "half-window", "half-window-rounds"):
        assert (verdict("B-fig9", claim, bad).holds, verdict("B-fig9", claim, bad).judged) == (False, True), claim
    worse = varied(lambda policy, *others: as_in_the_text(policy, *others) * (3 if policy == "largest-first" else 1))
    assert not verdict("B-fig9", "many-operators", worse).holds
    few = good.filter(pl.col("vary") == "samples")
    for claim in ("llf-suffers", "many-operators", "half-window"):
        assert not verdict("B-fig9", claim, few).judged
