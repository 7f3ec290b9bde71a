from __future__ import annotations

import pytest

from drover_lab.table import Value
from tests.drover_lab.verdicts import table, verdict


@pytest.mark.parametrize(("ssp", "grid", "balanced", "used"), [(0.1, 2.0, True, True), (1.0, 0.5, False, False)])
def test_balance(ssp: float, grid: float, balanced: bool, used: bool) -> None:
    def found(policy: str, server: int, **_: Value) -> dict[str, Value]:
        return {"utilisation": {"llf": server / 10, "ssp": 0.5 + ssp * server / 10, "grid": grid}[policy]}

    rows = table({"server": tuple(range(1, 11)), "policy": ("ssp", "grid", "llf"), "seed": (0, 1)}, found)
    assert verdict("D-fig6", "balanced", rows).holds is balanced
    assert verdict("D-fig6", "grid", rows).holds is used
