"""A run that was interrupted continues after the rows that it has finished."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from drover_lab import resume
from drover_lab.resume import resuming
from drover_lab.run import run, run_here
from drover_lab.table import Row
from tests.drover_lab import toy
from tests.drover_lab.toy import TOY


class Interrupted:
    """Measures some rows, and then fails once."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.seen: list[Row] = []

    def __call__(self, row: Row) -> Row:
        if len(self.seen) == self.after:
            self.after = -1
            raise KeyboardInterrupt
        self.seen.append(row)
        return toy.measure(row)


def test_finished_rows_are_not_measured_again(tmp_path: Path) -> None:
    measure = Interrupted(2)
    broken = replace(TOY, measure=measure)
    runner = resuming(tmp_path / "rows", run_here)
    with pytest.raises(KeyboardInterrupt):
        run(broken, quick=True, runner=runner)
    assert_frame_equal(run(broken, quick=True, runner=runner).rows, run(TOY, quick=True).rows)
    assert len(measure.seen) == 4


def test_a_line_that_was_cut_off_and_another_version_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rows"
    run(TOY, quick=True, runner=resuming(file, run_here))
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([*lines[:2], lines[2][:20], ""]), encoding="utf-8")
    measure = Interrupted(9)
    run(replace(TOY, measure=measure), quick=True, runner=resuming(file, run_here))
    assert len(measure.seen) == 2
    monkeypatch.setattr(resume, "version", lambda: "another")
    run(replace(TOY, measure=measure), quick=True, runner=resuming(file, run_here))
    assert len(measure.seen) == 6


def test_what_was_not_measured_stays_unknown(tmp_path: Path) -> None:
    def nothing(_row: Row) -> Row:
        return {"product": math.nan, "drawn": math.inf}

    for _ in range(2):
        found = run(replace(TOY, measure=nothing), quick=True, runner=resuming(tmp_path / "rows", run_here))
        assert found.rows["product"].is_nan().all()
        assert found.rows["drawn"].is_infinite().all()
