from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import polars as pl
import pytest

from drover_lab.table import Value
from drover_lab.xing06.lower import PRINTED
from drover_lab.xing06.trees import ROD, SIZES
from tests.drover_lab.verdicts import table, verdict


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
