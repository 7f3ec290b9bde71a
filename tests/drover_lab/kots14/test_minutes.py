from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pytest

from drover_lab.kots14.minutes import MINUTES, WITH, WITHOUT
from drover_lab.table import Value
from tests.drover_lab.verdicts import table, verdict


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
