from __future__ import annotations

import polars as pl
import pytest

from drover_lab.kots14.paired_runs import BASE
from drover_lab.table import Value
from tests.drover_lab.verdicts import verdict


def varied(**bent: float) -> pl.DataFrame:
    """Return rows in which one parameter at a time is varied; `bent` is what is found with little memory."""
    good: dict[str, Value] = {
        "less": 0.4,
        "excess": 0.3,
        "fewer": 0.9,
        "fewer_when": 0.9,
        "spell": 10.0,
        "spell_without": 20.0,
        "stopped": 0.1,
    }
    rows = [{**BASE, "capacity": 150.0, **good}, {**BASE, **good, **bent}]
    rows += [{**BASE, "loss": 0.2, **good, **{name: value for name, value in bent.items() if name == "loss_less"}}]
    return pl.DataFrame(rows, strict=False)


@pytest.mark.parametrize(
    ("claim", "bent"),
    [
        pytest.param("always", {"less": -0.1}, id="it may harm"),
        pytest.param("excess", {"excess": -0.1}, id="what is above the mark may grow"),
        pytest.param("shorter", {"spell": 30.0}, id="it may take longer"),
        pytest.param("loss", {"less": 0.6}, id="loss costs more"),
    ],
)
def test_readings(claim: str, bent: dict[str, float]) -> None:
    assert verdict("T-readings", claim, varied()).holds
    assert not verdict("T-readings", claim, varied(**bent)).holds


def test_printed_figures_may_be_out_of_reach() -> None:
    assert verdict("T-readings", "printed", varied(less=0.1)).holds
    bent = varied().with_columns(fewer=pl.lit(0.5), fewer_when=pl.lit(0.5))
    assert not verdict("T-readings", "printed", bent).holds
    assert verdict("T-readings", "counted", varied()).holds
    assert not verdict("T-readings", "counted", bent).holds
