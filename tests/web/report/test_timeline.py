from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drover.control.record import PeriodOutcome, PeriodRecord
from drover.web.report.timeline import period_series
from tests.web.sample_run import PERIODS, record, records


def test_periods_are_laid_end_to_end() -> None:
    line = period_series(records())
    assert len(line.periods) == PERIODS
    assert line.times[:2] == pytest.approx([2.01, 2.01 + 2.02])
    assert line.time_of(2) == pytest.approx(4.03)
    assert line.time_of(0) == 0.0
    assert line.total("rows") == sum(range(1001, 1013))


def test_a_period_without_rows_has_no_replication() -> None:
    idle = replace(record(2), figures={**record(2).figures, "replication": 0.0})
    assert period_series([record(1), idle]).mean("replication") == pytest.approx(1.01)


def test_an_approval_does_not_count_as_a_period() -> None:
    approval = PeriodRecord(2, PeriodOutcome.MOVED, "approved", (0.1,), 1)
    assert period_series([record(1), record(2), approval]).periods.tolist() == [1, 2]


def test_a_node_that_was_not_there_has_no_load() -> None:
    few = PeriodRecord(3, PeriodOutcome.STEADY, "", (0.7,), 1, figures={"seconds": 1.0})
    loads = period_series([record(1), few]).loads
    assert loads.shape == (2, 3)
    assert loads[1, 0] == 0.7
    assert np.isnan(loads[1, 1:]).all()


def test_no_records_are_an_empty_timeline() -> None:
    line = period_series([])
    assert (line.seconds, line.nodes, line.total("rows"), line.mean("replication")) == (0.0, 0, 0.0, 0.0)
