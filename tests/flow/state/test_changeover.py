"""Units that are dropped or renamed without a batch."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from drover.flow.state.changeover import change_units
from drover.flow.state.segments import Key, Segment
from drover.flow.state.versions import PartState, Version, advance


def segment(unit: str, file: str, *, replace: bool = False) -> Segment:
    return Segment(unit, "panes", file, 0, 10, 7, 3, 100, replace)


VERSION = Version(
    4,
    MappingProxyType(
        {
            "a": {"panes": PartState((segment("a", "1", replace=True), segment("a", "2")), 50)},
            "b": {"panes": PartState((segment("b", "3"),)), "other": PartState((), 9)},
            "c": {"panes": PartState((segment("c", "4"),))},
        }
    ),
)


def changed_over(names: dict[str, str | None]) -> Version:
    def becomes(key: Key) -> str | None:
        return names.get(key[0], key[0])

    found = change_units(VERSION, becomes)
    return advance(VERSION, 5, found.added, found.bounds, found.dropped)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"a": None}, id="dropped"),
        pytest.param({"a": "x"}, id="renamed"),
        pytest.param({"a": "b", "b": "a"}, id="swapped"),
        pytest.param({"a": "b", "b": "c", "c": None}, id="moved up"),
        pytest.param({"a": None, "b": None, "c": None}, id="nothing stays"),
    ],
)
def test_parts_follow_their_unit(names: dict[str, str | None]) -> None:
    after = changed_over(names)
    expected = {now: VERSION.units[old] for old in VERSION.units if (now := names.get(old, old)) is not None}
    assert set(after.units) == set(expected)
    for unit, parts in expected.items():
        assert set(after.units[unit]) == set(parts)
        for part, state in parts.items():
            found = after.units[unit][part]
            assert found.bound == state.bound
            assert [(one.file, one.unit) for one in found.segments] == [(one.file, unit) for one in state.segments]


def test_a_single_part_can_go() -> None:
    found = change_units(VERSION, lambda key: None if key == ("b", "panes") else key[0])
    assert found.dropped == (("b", "panes"),)
    assert (found.added, found.bounds) == ((), {})
