from __future__ import annotations

import pytest

from drover_lab.table import Value
from drover_lab.zong15 import churn
from tests.drover_lab.verdicts import table, verdict
from tests.drover_lab.zong15.made_rows import Line


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
