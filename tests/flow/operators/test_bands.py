"""Bands: the bounds that a predicate implies are found, and nothing else is taken for one."""

from __future__ import annotations

import math

import polars as pl
import pytest

from drover.flow.operators.bands import find_band, numbers
from drover.network.expressions import parse_pair
from drover.network.types import parse_type
from tests.flow.pairs import COLUMNS

TYPES = {name: parse_type(kind) for name, kind in COLUMNS.items()}


@pytest.mark.parametrize(
    ("where", "side"),
    [
        pytest.param("abs(left.x - right.x) <= 2", "right", id="a distance"),
        pytest.param("abs(right.y - left.y) < 2 AND left.k > 0", "right", id="among other conditions"),
        pytest.param("5 >= abs(left.x - right.y)", "right", id="the other way round"),
        pytest.param("left.y BETWEEN right.y AND right.x", "left", id="between"),
        pytest.param("abs(left.x - right.x) > 2", None, id="far apart is no band"),
        pytest.param("abs(left.x - left.k) < 2", None, id="of one side only"),
        pytest.param("abs(left.x - right.x) < right.k", None, id="no constant distance"),
        pytest.param("abs(left.x - right.x) < 2 OR left.k = 1", None, id="not necessarily"),
        pytest.param("left.x < right.x", None, id="one bound"),
        pytest.param("abs(CAST(left.y - right.y AS INT)) <= 2", None, id="a cast that cuts digits off"),
    ],
)
def test_bands_are_found_in_predicates(where: str, side: str | None) -> None:
    band = find_band(parse_pair(where, TYPES, TYPES), "right")
    assert (None if band is None else band.side) == side


def test_without_a_predicate_there_is_no_band() -> None:
    assert find_band(None, "left") is None


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_key_of_a_distance_is_on_the_side_that_is_sorted(side: str) -> None:
    other = "right" if side == "left" else "left"
    band = find_band(parse_pair("abs(left.x - right.x) <= 2", TYPES, TYPES), side)
    assert band is not None
    assert band.key.meta.root_names() == [f"{side}.x"]
    probes = pl.DataFrame({f"{other}.x": [10, None]})
    assert numbers(probes, band.low).tolist()[0] == 8
    assert numbers(probes, band.high).tolist()[0] == 12
    assert math.isnan(numbers(probes, band.low)[1])


def test_bounds_of_both_sides_of_between() -> None:
    band = find_band(parse_pair("left.y BETWEEN right.y - 0.5 AND right.y + 1", TYPES, TYPES), "right")
    assert band is not None
    probes = pl.DataFrame({"right.y": [3.0]})
    assert (numbers(probes, band.low).tolist(), numbers(probes, band.high).tolist()) == ([2.5], [4.0])


@pytest.mark.parametrize("distance", ["CAST('Infinity' AS DOUBLE)", "CAST('NaN' AS DOUBLE)"])
def test_an_infinite_distance_is_no_band(distance: str) -> None:
    assert find_band(parse_pair(f"abs(left.y - right.y) <= {distance}", TYPES, TYPES), "left") is None


def test_null_is_nan_and_nan_is_above_all_numbers() -> None:
    rows = pl.DataFrame({"x": [1.5, None, math.nan]})
    one, null, largest = numbers(rows, pl.col("x"))
    assert (one, largest) == (1.5, math.inf)
    assert math.isnan(null)
