"""Claims of text T are functions of rows: made-up rows, true and false."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pytest

from drover.experiments.t.courses import MINUTES, WITH, WITHOUT
from drover.experiments.t.plays import BASE
from drover.experiments.table import Value
from tests.experiments.judging import table, verdict


def minutes(**bent: Mapping[int, float]) -> pl.DataFrame:
    """Return courses in which all is as the text says, but for what is bent: columns with the protocol, by minute."""

    def found(minute: int, protocol: str, **_: Value) -> dict[str, Value]:
        height = 8 - abs(minute - 8.5)
        plain: dict[str, Value] = {
            "average": height / 10,
            "spread": 0.2,
            "overloaded": height,
            "fewer": 0.0,
            "steadier": 0.0,
        }
        if protocol == WITHOUT:
            return plain
        helped = {"average": height / 10, "spread": 0.1, "overloaded": 0.7 * height, "fewer": 0.9, "steadier": 1.0}
        return {**helped, **{name: values[minute] for name, values in bent.items() if minute in values}}

    return table({"minute": MINUTES, "protocol": (WITHOUT, WITH), "seed": (0, 1)}, found)


@pytest.mark.parametrize(
    ("experiment", "claim", "bent"),
    [
        pytest.param("T-fig15", "average", {"average": {3: 0.9}}, id="something is lost"),
        pytest.param("T-fig15", "spread", {"steadier": dict.fromkeys(range(1, 9), 0.5)}, id="not steadier"),
        pytest.param("T-fig16", "less", {"overloaded": dict.fromkeys(range(6, 12), 8.0)}, id="not that much less"),
        pytest.param("T-fig16", "fewer", {"fewer": dict.fromkeys(range(1, 9), 0.5)}, id="not for so long"),
        pytest.param("T-fig16", "run", {"fewer": dict.fromkeys(range(1, 9), 0.7)}, id="in no run"),
        pytest.param("T-fig16", "over-time", {"overloaded": {8: 9.0}}, id="more for a minute"),
    ],
)
def test_courses(experiment: str, claim: str, bent: dict[str, dict[int, float]]) -> None:
    assert verdict(experiment, claim, minutes()).holds
    found = verdict(experiment, claim, minutes(**bent))
    assert (found.holds, found.judged) == (False, True)
    assert not verdict(experiment, claim, minutes().filter(pl.col("minute") > 16)).judged


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


@pytest.mark.parametrize(
    ("claim", "column", "large"),
    [("messages", "messages", 12.0), ("work", "work", 30.0), ("busiest", "busiest", 99.0), ("less", "less", 0.1)],
)
def test_growth(claim: str, column: str, large: float) -> None:
    def rows(last: float) -> pl.DataFrame:
        flat = {"messages": 10.0, "work": 10.0, "busiest": 20.0, "less": 0.3}
        return table(
            {"nodes": (15, 63, 10_000), "seed": (0,)}, lambda nodes, **_: flat | ({column: last} if nodes > 99 else {})
        )

    assert verdict("T-growth", claim, rows({"less": 0.3}.get(column, 10.0))).holds
    assert not verdict("T-growth", claim, rows(large)).holds
