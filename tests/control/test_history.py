"""The files of the loop: what a restart finds, and what of it is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from drover.control import history
from drover.control.history import SavedState
from drover.control.record import PeriodOutcome, PeriodRecord
from drover.control.settings import MEMORY
from drover.errors import StateError
from drover.flow.state.storage import open_root
from tests.control.runs import shifted, start


def test_what_was_saved_period_by_period_is_there_again(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    assert history.load_state(fs, root) == SavedState()
    run, saved = start(nodes=2, count=2, plan="whole", load=0.4), SavedState()
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
