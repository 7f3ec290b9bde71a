from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.flow.state.layout import state_name
from drover.flow.state.retention import files_of
from drover.flow.state.scatter import scattered
from drover.flow.state.segments import Segment
from drover.flow.state.versions import Version, advance, should_compact


def segment(unit: str, file: str, length: int = 100, *, replace: bool = False) -> Segment:
    return Segment(unit, "p", file, 0, length, 0, 1, None, replace)


# File 1 holds a small part, file 2 a large one, file 3 both.
MADE = advance(
    Version(), 0, [segment("small", "1"), segment("large", "2", 900), segment("small", "3"), segment("large", "3", 900)]
)


@pytest.mark.parametrize(
    ("files", "limit", "units"),
    [
        pytest.param(3, 10_000, set(), id="few enough files"),
        pytest.param(2, 10_000, {"small"}, id="the cheapest file is freed first"),
        pytest.param(1, 10_000, {"small", "large"}, id="then the next"),
        pytest.param(1, 500, {"small"}, id="not more at a time than the limit"),
        pytest.param(2, 10, {"small"}, id="but always one"),
    ],
)
def test_parts_that_pin_files(files: int, limit: int, units: set[str]) -> None:
    assert {unit for unit, _ in scattered(MADE, files, limit)} == units


# Freeing all files costs 100 bytes for `a`, 300 for `b`, which is in two of them, and 600 for `c`.
COSTS = advance(
    Version(), 0, [segment("c", "1", 600), segment("b", "2", 200), segment("b", "3", 100), segment("a", "4")]
)


@pytest.mark.parametrize(
    ("limit", "units"),
    [
        pytest.param(1000, {"a", "b", "c"}, id="all bytes may be rewritten"),
        pytest.param(999, {"a", "b"}, id="a byte less, and the last part waits"),
        pytest.param(400, {"a", "b"}, id="two parts fit"),
        pytest.param(399, {"a"}, id="a part counts with all its segments"),
    ],
)
def test_the_limit_holds_for_all_parts_together(limit: int, units: set[str]) -> None:
    assert {unit for unit, _ in scattered(COSTS, 0, limit)} == units


def test_nothing_is_scattered_over_no_files() -> None:
    assert scattered(Version(), 1) == frozenset()


@given(units=st.integers(1, 60), step=st.integers(1, 7))
def test_units_that_change_rarely_do_not_pin_files_without_bound(units: int, step: int) -> None:
    """One of many units changes per batch; every tenth batch also writes anew what is scattered."""
    version = Version()
    most = 20
    for batch in range(400):
        file = state_name(batch, 0, "a")
        unit = f"u{batch * step % units}"
        again = {unit for unit, _ in scattered(version, most)} if batch % 10 == 0 else set()
        added = [segment(other, file, replace=True) for other in sorted(again)]
        if unit not in again:
            added.append(segment(unit, file, replace=should_compact(version.part(unit, "p"), 100, 100)))
        version = advance(version, batch, added)
        assert len(files_of([version])) <= most + 11
