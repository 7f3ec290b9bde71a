"""The files of the loop: what a restart finds, and what of it is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from drover.control import history
from drover.control.explain import explain
from drover.control.history import Saved
from drover.control.record import Kind, Record
from drover.control.settings import MEMORY
from drover.errors import DroverError, StateError
from drover.flow.state.storage import open_root
from tests.control.runs import shifted, start


def test_what_was_saved_period_by_period_is_there_again(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    assert history.load(fs, root) == Saved()
    run, saved = start(nodes=2, count=2, plan="whole", load=0.4), Saved()
    for _ in range(MEMORY + 5):
        run.go(1, shifted(14, 0, 3.0))
        saved = Saved(run.state, frozenset({1}), "chains", "auto")
        history.save(fs, root, saved)
    assert history.load(fs, root) == saved
    assert run.state.moved
    assert len(list((tmp_path / "control" / "periods").iterdir())) == MEMORY


def test_a_period_that_the_state_does_not_know_of_yet_is_left_out(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    run = start(nodes=2, count=2)
    run.go(1)
    before = Saved(run.state)
    history.save(fs, root, before)
    kept = (tmp_path / "control" / "state.json").read_bytes()
    run.go(1)
    history.save(fs, root, Saved(run.state))
    (tmp_path / "control" / "state.json").write_bytes(kept)  # as if it had been killed between the two files
    assert history.load(fs, root) == before


def test_a_damaged_file_is_told_from_a_missing_one(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    history.save(fs, root, Saved())
    path = tmp_path / "control" / "state.json"
    path.write_bytes(path.read_bytes().replace(b"observe", b"0bserve"))
    with pytest.raises(StateError, match="damaged"):
        history.load(fs, root)


def test_records_come_back_in_order_however_many_a_period_has(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    written: list[Record] = []
    for period in range(1, 150):
        for kind in [Kind.PROPOSED, Kind.MOVED] if period % 20 == 0 else [Kind.STEADY]:
            written.append(Record(period, kind, "because", (0.5,), 1, figures={"rows": 3.0}))
            history.write(fs, root, written)
    assert history.read(fs, root) == written
    assert history.read(fs, root, 70) == written[-70:]


def test_a_unit_is_explained_by_what_was_decided_and_what_it_would_be_elsewhere() -> None:
    run = start(plan="whole", load=0.4)
    run.go(20, shifted(0, 0, 3.0))
    moved = next(iter(run.state.moved))
    found = explain(moved, run.state, run.world, run.settings, run.records)
    assert found.node == run.world.plan.node_of[moved]
    assert found.decisions[0].startswith(f"in period {run.state.moved[moved]} moved ({moved}: node 0 -> node")
    assert found.text.startswith(f"{moved} is on node {found.node} and takes ")
    assert len(found.elsewhere) == 4
    still = next(unit for unit in run.world.plan.node_of if unit not in run.state.moved)
    assert "no decision was made" in explain(still, run.state, run.world, run.settings, []).text


def test_an_unknown_unit_is_refused_with_the_nearest_name() -> None:
    run = start()
    with pytest.raises(DroverError, match=r"there is no unit 's0-00'\. Did you mean s\d-0\?"):
        explain("s0-00", run.state, run.world, run.settings, [])
    assert "Nothing was measured yet" in explain("s0-0", run.state, run.world, run.settings, []).text
