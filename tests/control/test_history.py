"""The files of the loop: what a restart finds, and what of it is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from drover.control import history
from drover.control.history import SavedState
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal
from drover.control.settings import MEMORY, Control, settings_to_json
from drover.control.state import ControlState
from drover.errors import StateError
from drover.flow.state.documents import FORMAT, seal
from drover.flow.state.storage import open_root
from drover.placement.plan import Move
from tests.control.runs import shifted, start


def test_what_was_saved_period_by_period_is_there_again(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    assert history.load_state(fs, root) == SavedState()
    run = start(nodes=2, count=2, plan="whole", load=0.4)
    saved = SavedState()
    for _ in range(MEMORY + 5):
        run.go(1, shifted(14, 0, 3.0))
        saved = SavedState(run.state, frozenset({1}), "chains", "auto")
        history.save_state(fs, root, saved)
    assert history.load_state(fs, root) == saved
    assert run.state.moved
    assert len(list((tmp_path / "control" / "periods").iterdir())) == MEMORY


def test_a_period_that_the_state_does_not_know_of_yet_is_left_out(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    run = start(nodes=2, count=2)
    run.go(1)
    before = SavedState(run.state)
    history.save_state(fs, root, before)
    kept = (tmp_path / "control" / "state.json").read_bytes()
    run.go(1)
    history.save_state(fs, root, SavedState(run.state))
    (tmp_path / "control" / "state.json").write_bytes(kept)  # as if it had been killed between the two files
    assert history.load_state(fs, root) == before


def test_a_damaged_file_is_told_from_a_missing_one(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    history.save_state(fs, root, SavedState())
    path = tmp_path / "control" / "state.json"
    path.write_bytes(path.read_bytes().replace(b"observe", b"0bserve"))
    with pytest.raises(StateError, match="damaged"):
        history.load_state(fs, root)


def test_records_come_back_in_order_however_many_a_period_has(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    written: list[PeriodRecord] = []
    for period in range(1, 150):
        for kind in [PeriodOutcome.PROPOSED, PeriodOutcome.MOVED] if period % 20 == 0 else [PeriodOutcome.STEADY]:
            written.append(PeriodRecord(period, kind, "because", (0.5,), 1, figures={"rows": 3.0}))
            history.write_records(fs, root, written)
    assert history.read_records(fs, root) == written
    assert history.read_records(fs, root, 70) == written[-70:]


def test_what_a_person_has_approved_is_there_again(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    approved = Proposal("p1", 3, 1, 2, (Move("a", 0, 1, 10.0),), "even", 0.1, 0.0, (0.5,), (0.4,))
    settings = settings_to_json(Control(window=5))
    saved = SavedState(ControlState(), frozenset({2, 0}), "chains", "propose", settings, approved)
    history.save_state(fs, root, saved)
    assert history.load_state(fs, root) == saved


def test_files_of_other_content_are_named(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    folder = tmp_path / "control"
    (folder / "history").mkdir(parents=True)
    (folder / "state.json").write_bytes(seal({"format": FORMAT, "batch": 0})[0])
    (folder / "history" / f"{7:012}.json").write_bytes(seal({"format": FORMAT, "batch": 7, "records": [{}]})[0])
    says = r"/control/state.json: expected the state of a control loop, but found KeyError\('state'\). Restore it"
    with pytest.raises(StateError, match=says):
        history.load_state(fs, root)
    says = (
        r"/history/000000000007.json: expected records of a control loop, but found KeyError\('proposal'\). Restore it"
    )
    with pytest.raises(StateError, match=says):
        history.read_records(fs, root)


def steady(periods: range) -> list[PeriodRecord]:
    return [PeriodRecord(period, PeriodOutcome.STEADY, "because", (0.5,), 1) for period in periods]


def test_a_chunk_of_records_is_one_file_and_old_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "CHUNK", 4)
    monkeypatch.setattr(history, "KEPT", 3)
    fs, root = open_root(str(tmp_path))
    history.write_records(fs, root, [])
    assert list(tmp_path.iterdir()) == []
    for period in range(1, 22):
        history.write_records(fs, root, steady(range(max(1, period - 6), period + 1)))
    names = sorted(path.name for path in (tmp_path / "control" / "history").iterdir())
    assert names == [f"{chunk:012}.json" for chunk in (3, 4, 5)]
    assert history.read_records(fs, root) == steady(range(12, 22))


def test_no_more_files_are_read_than_records_are_asked_for(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    for last in (59, 119):
        history.write_records(fs, root, steady(range(1, last + 1)))
    (tmp_path / "control" / "history" / f"{0:012}.json").write_bytes(b"")
    (tmp_path / "control" / "history" / "notes.json").write_bytes(b"a stranger")
    assert history.read_records(fs, root, 60) == steady(range(60, 120))
    with pytest.raises(StateError, match=r"000000000000\.json"):
        history.read_records(fs, root, 61)


def test_a_period_that_is_missing_is_skipped(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    run = start(nodes=2, count=2)
    for _ in range(4):
        run.go(1)
        history.save_state(fs, root, SavedState(run.state))
    (tmp_path / "control" / "periods" / f"{2:012}.json").unlink()
    assert [period.number for period in history.load_state(fs, root).state.window.periods] == [1, 3, 4]
