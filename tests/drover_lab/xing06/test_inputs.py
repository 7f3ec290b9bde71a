from __future__ import annotations

from collections.abc import Callable

import polars as pl

from drover_lab.xing06.trees import OTHERS
from tests.drover_lab.verdicts import table, verdict


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
