from __future__ import annotations

import pytest

from drover_lab.table import Value
from drover_lab.zong15 import rates
from tests.drover_lab.verdicts import table, verdict


@pytest.mark.parametrize(("mms", "correlation", "holds"), [(1.5, 1.0, True), (1.01, -1.0, False)])
def test_rates(mms: float, correlation: float, holds: bool) -> None:
    levels = {"negative": 1.0, "random": 1.0 + correlation / 2, "positive": 1.0 + correlation}

    def found(rates: str, policy: str, **_: Value) -> dict[str, Value]:
        return {"replication": levels[rates] * (mms if policy == "mms" else 1.0)}

    rows = table({"rates": rates.KINDS, "skew": (2.0,), "policy": rates.TEXT}, found)
    assert verdict("H-fig8", "negative", rows).holds is holds
    assert verdict("H-fig8", "correlation", rows).holds is holds
