from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from polars.testing import assert_frame_equal

from drover.errors import DroverError
from drover_lab.run import run, run_here, run_in_processes, share
from drover_lab.table import Row
from tests.drover_lab import toy
from tests.drover_lab.toy import TOY


def test_rows_come_out_in_the_order_in_which_they_went_in() -> None:
    result = run(TOY)
    assert result.rows["product"].to_list() == [row["size"] * row["factor"] for row in TOY.rows()]  # type: ignore[operator]  # numbers
    assert result.rows["experiment"].unique().to_list() == ["X-fig1"]
    assert [verdict.claim for verdict in result.verdicts] == ["larger", "smaller", "unknown"]


def test_any_number_of_processes_gives_the_same_rows() -> None:
    assert_frame_equal(run(TOY).rows, run(TOY, runner=run_in_processes(3)).rows)


def test_processes_share_the_work() -> None:
    result = run(replace(TOY, measure=toy.whoami), runner=run_in_processes(2))
    assert 1 <= result.rows["drawn"].n_unique() <= 2
    assert run(replace(TOY, measure=toy.whoami)).rows["drawn"].to_list() != result.rows["drawn"].to_list()


def test_progress_tells_rows_done_of_all() -> None:
    shown: list[tuple[int, int]] = []
    run(TOY, quick=True, progress=lambda done, total: shown.append((done, total)))
    assert shown == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_rows_can_be_shared() -> None:
    first = run(TOY, quick=True)
    second = share(first, replace(TOY, name="X-fig2", claims=TOY.claims[:1]))
    assert second.rows["experiment"].unique().to_list() == ["X-fig2"]
    assert_frame_equal(second.rows.drop("experiment"), first.rows.drop("experiment"))
    assert [verdict.claim for verdict in second.verdicts] == ["larger"]


def test_a_runner_may_be_anything_that_keeps_the_order() -> None:
    def backwards(measure: toy.Measure, rows: Sequence[Row]) -> list[Row]:
        return list(run_here(measure, rows[::-1]))[::-1]

    assert_frame_equal(run(TOY, runner=backwards).rows, run(TOY).rows)


def test_a_failing_row_ends_the_run() -> None:
    with pytest.raises(KeyError, match="size"):
        list(run_in_processes(2)(toy.measure, [{"seed": 1, "factor": 1}] * 3))


@pytest.mark.parametrize(("jobs", "seeds"), [(0, 1), (-3, 1), (1, 0)])
def test_nobody_and_nothing_are_refused(jobs: int, seeds: int) -> None:
    with pytest.raises(DroverError, match=r"(jobs|seeds) is -?\d, but .* Give 1 or more"):
        run(TOY, seeds=seeds, runner=run_in_processes(jobs))
