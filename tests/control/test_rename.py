"""Measurements of operators that got other names."""

from __future__ import annotations

from pathlib import Path

from drover.control import history
from drover.control.history import SavedState
from drover.control.rename import rename_history, renamed_state
from drover.control.settings import MEMORY
from drover.control.state import ControlState
from drover.flow.state.storage import open_root
from drover.load.sample import Sample
from drover.load.window import Period, Window


def period(number: int) -> Period:
    samples = {
        "split": Sample("split", {"s": 3.0}, {"split.x": 2.0, "split.y": 1.0}, 0.5),
        "sums": Sample("sums", {"split.x": 2.0}, {"sums": 1.0}, 0.1, 80),
        "pairs[1]": Sample("pairs[1]", {"sums": 1.0}, {"pairs": 1.0}, 0.2),
        "old": Sample("old", {"s": 3.0}, {"old": 3.0}, 0.7),
    }
    return Period(number, 1.0, {"s": 3.0}, samples)


STATE = ControlState(Window(MEMORY, (period(1), period(2))), moved={"sums": 1, "pairs[1]": 2})
NAMES = {"split": "cut", "sums": "old", "pairs": "couples"}


def test_operators_streams_and_instances_get_their_new_names() -> None:
    found = renamed_state(STATE, NAMES)
    samples = found.window.periods[-1].samples
    assert set(samples) == {"cut", "old", "couples[1]"}  # the measurements of the former `old` are gone
    assert samples["cut"].rows_out == {"cut.x": 2.0, "cut.y": 1.0}
    assert samples["old"] == Sample("old", {"cut.x": 2.0}, {"old": 1.0}, 0.1, 80)
    assert samples["couples[1]"].operator == "couples[1]"
    assert found.moved == {"old": 1, "couples[1]": 2}


def test_all_periods_are_renamed_on_disk(tmp_path: Path) -> None:
    root = open_root(str(tmp_path))
    for number in (1, 2):
        window = Window(MEMORY, STATE.window.periods[:number])
        history.save_state(*root, SavedState(ControlState(window, moved=STATE.moved), frozenset({3}), "n"))
    rename_history(*root, NAMES)
    saved = history.load_state(*root)
    assert saved.state == renamed_state(STATE, NAMES)
    assert (saved.drained, saved.network) == (frozenset({3}), "n")


def test_nothing_is_written_without_renames_or_without_a_history(tmp_path: Path) -> None:
    rename_history(*open_root(str(tmp_path)), {})
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_history_is_left_to_the_loop(tmp_path: Path) -> None:
    root = open_root(str(tmp_path))
    history.save_state(*root, SavedState(STATE))
    path = tmp_path / history.FOLDER / "state.json"
    path.write_text("{}")
    rename_history(*root, NAMES)
    assert path.read_text() == "{}"
