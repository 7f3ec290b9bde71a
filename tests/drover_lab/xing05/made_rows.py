"""Made-up rows of [Xing05]: policies whose figures are known, at several loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from drover_lab.table import Value
from drover_lab.xing05.unpredictable import COMBINED
from tests.drover_lab.verdicts import table

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
