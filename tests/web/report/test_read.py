from __future__ import annotations

from pathlib import Path

import pytest

from drover.control.record import PeriodOutcome, PeriodRecord
from drover.errors import DroverError
from drover.web.report import build_report, read_run, render_page
from tests.web.sample_run import PERIODS, PLAN, SETTINGS, checkpoint, record, records


def test_everything_in_a_checkpoint_is_found(tmp_path: Path) -> None:
    found = read_run(checkpoint(tmp_path))
    assert found.missing == ()
    assert found.name == "traffic"
    assert found.plan == PLAN
    assert found.settings == SETTINGS
    assert found.records == tuple(records())
    assert found.written is not None
    assert build_report(found).missing == ()


def test_only_the_last_periods_if_asked(tmp_path: Path) -> None:
    assert [each.period for each in read_run(checkpoint(tmp_path), 3).records] == [10, 11, 12]


def test_an_approval_is_part_of_its_period(tmp_path: Path) -> None:
    every = records()
    approval = PeriodRecord(11, PeriodOutcome.MOVED, "approved", (), 3)
    root = checkpoint(tmp_path, [*every[:11], approval, every[11]])
    assert [each.period for each in read_run(root, 2).records] == [11, 11, 12]
    assert [each.period for each in read_run(root, 50).records] == [*range(1, 12), 11, 12]


def test_records_of_many_files(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [record(period) for period in range(1, 201)])
    assert [each.period for each in read_run(root).records] == list(range(1, 201))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        pytest.param("network.yaml", "network file", id="the network"),
        pytest.param("plans/000000000000.json", "plan", id="the plan"),
        pytest.param("control/state.json", "control loop state", id="the memory"),
        pytest.param("control/history/000000000000.json", "control loop history", id="the decisions"),
    ],
)
@pytest.mark.parametrize("damaged", [False, True], ids=["gone", "damaged"])
def test_missing_files_are_named_and_the_rest_is_shown(tmp_path: Path, path: str, said: str, damaged: bool) -> None:
    root = checkpoint(tmp_path)
    if damaged:
        (root / path).write_text("nonsense", encoding="utf-8")
    else:
        (root / path).unlink()
    report = build_report(read_run(root))
    assert any(each.startswith(said) for each in report.missing)
    shown = render_page(report)
    assert said in shown
    if "plans" not in path:
        assert 'scope="row">counts</th>' in shown
    if "history" not in path:
        assert len(report.timeline.periods) == PERIODS


def test_without_the_network_loads_are_those_of_operators(tmp_path: Path) -> None:
    root = checkpoint(tmp_path)
    (root / "network.yaml").unlink()
    counts = next(unit for unit in build_report(read_run(root)).units if unit.name == "counts")
    assert counts.load == pytest.approx(0.1)
    assert counts.state_bytes == 64.0


def test_a_path_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("", encoding="utf-8")
    for path, why in (
        (tmp_path, "it has no network.yaml"),
        (file, "it is a file"),
        (tmp_path / "no", "it does not exist"),
    ):
        with pytest.raises(DroverError, match=why):
            read_run(path)
