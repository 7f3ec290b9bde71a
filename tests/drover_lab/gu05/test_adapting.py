from __future__ import annotations

import polars as pl
import pytest

from drover_lab.table import Value
from tests.drover_lab.verdicts import table, verdict


def adapted(gain: float, dip: float = 0.0) -> pl.DataFrame:
    def found(policy: str, at: float, seed: int, **_: Value) -> dict[str, Value]:
        level = {"ssp": 10.0, "ssp-adaptive": 10.0 + gain, "grid": 10.5, "grid-adaptive": 10.5 + 2 * gain}[policy]
        return {"throughput": level + 0.001 * seed - dip * (at == 600.0 and "adaptive" in policy), "changes": 3}

    at = tuple(50.0 * (number + 1) for number in range(40))
    policies = ("ssp", "ssp-adaptive", "grid", "grid-adaptive")
    return table({"at": at, "servers": (5, 12), "policy": policies, "section": (500.0,), "seed": (0, 1, 2)}, found)


@pytest.mark.parametrize("claim", ["adaptive", "adaptive-12", "grid", "never-below"])
def test_adapting(claim: str) -> None:
    assert verdict("D-fig7", claim, adapted(0.3)).holds
    found = verdict("D-fig7", claim, adapted(-0.6))
    assert (found.holds, found.judged) == (False, True)


def test_one_bad_sample_is_beyond_noise() -> None:
    assert not verdict("D-fig7", "never-below", adapted(0.3, dip=2.0)).holds
