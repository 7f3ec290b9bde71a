from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drover.control.record import PeriodOutcome, PeriodRecord
from drover.control.settings import Control
from drover.web.report import build_report
from drover.web.report.sections import (
    batch_chart,
    load_chart,
    node_summaries,
    replication_chart,
    routed_chart,
    setting_rows,
)
from tests.web.sample_run import SETTINGS, record, run_files


def test_the_chart_of_loads_has_a_line_per_node_and_a_flag_per_plan_change() -> None:
    chart = load_chart(build_report(run_files()))
    assert [series.name for series in chart.series] == ["node 0", "node 1", "node 2"]
    assert chart.series[2].values[-1] == pytest.approx(0.412)
    assert [mark.label for mark in chart.marks] == ["1", "2"]
    assert chart.marks[0].time == pytest.approx(7 * 2.0 + 28 / 100)  # the end of period 7
    assert chart.limit == 1.0


def test_the_chart_of_batches_has_the_mean_and_both_maxima() -> None:
    chart = batch_chart(build_report(run_files()))
    assert [(series.name, series.values[0]) for series in chart.series] == [
        ("mean", 0.301),
        ("slowest", 0.501),
        ("nodes, slowest", 0.201),
    ]


def test_replication_is_counted_in_nodes_and_in_bytes_per_second() -> None:
    report = build_report(run_files())
    assert replication_chart(report).series[0].values[:2] == pytest.approx([1.01, 1.02])
    assert routed_chart(report).series[0].values[:2] == pytest.approx([51_000 / 2.01, 52_000 / 2.02])


def test_charts_of_one_page_have_different_ids() -> None:
    report = build_report(run_files())
    charts = [make(report) for make in (load_chart, batch_chart, replication_chart, routed_chart)]
    assert len({chart.id for chart in charts}) == len(charts)


def test_nodes_are_summed_up() -> None:
    first, second, third = node_summaries(build_report(run_files()))
    assert (first.node, first.units, first.state_bytes) == (0, 1, 0.0)
    assert (second.units, second.state_bytes) == (3, 128.0 + 192.0 + 256.0)
    assert [third.last, third.most, third.least] == pytest.approx([0.412, 0.412, 0.101])


def test_a_node_that_came_and_went_has_no_last_load() -> None:
    gone = PeriodRecord(2, PeriodOutcome.STEADY, "", (0.7,), 1, figures={"seconds": 1.0})
    report = build_report(replace(run_files(), records=(record(1), gone)))
    _, second, _ = node_summaries(report)
    assert np.isnan(second.last)
    assert second.mean == pytest.approx(0.201)


def test_settings_are_texts() -> None:
    found = dict(setting_rows(SETTINGS))
    assert found["mode"] == "auto"
    assert found["capacity"] == "1.0, 1.0, 0.5"
    assert found["pins"] == "small: 1"
    assert dict(setting_rows(Control()))["pins"] == "-"
