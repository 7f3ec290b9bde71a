from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drover.control.history import SavedState
from drover.load.sample import Sample
from drover.placement.plan import Plan
from drover.web.report import RunFiles, build_report
from tests.web.sample_run import run_files


def test_units_have_loads_of_the_model_and_the_busiest_is_first() -> None:
    units = build_report(run_files()).units
    assert [unit.name for unit in units] == ["suspects", "small", "busy", "sizes", "counts", "requests"]
    first = units[0]
    assert first.node == 2
    assert [first.load, first.share] == pytest.approx([0.3, 0.6])  # its capacity is 0.5


def test_rates_and_headroom_come_from_the_last_window() -> None:
    report = build_report(run_files())
    assert report.rates == pytest.approx({"east": 400.0, "west": 200.0})
    assert report.headroom is not None
    assert report.headroom.all.node == 2
    assert report.missing == ()


def test_without_settings_capacities_are_assumed() -> None:
    report = build_report(replace(run_files(), settings=None))
    assert report.missing == ("capacities: the report assumes 1 busy second per second for every node",)
    assert report.units[0].share == pytest.approx(0.3)


def test_before_the_first_period_loads_are_unknown() -> None:
    report = build_report(replace(run_files(), saved=SavedState()))
    assert "loads and headroom: nothing has been measured yet" in report.missing
    assert report.headroom is None
    assert all(np.isnan(unit.load) for unit in report.units)


def test_a_plan_without_some_units_of_the_network_leaves_headroom_unknown() -> None:
    report = build_report(replace(run_files(), plan=Plan(3, 3, {"requests": 0})))
    assert [each.partition(":")[0] for each in report.missing] == ["headroom"]
    assert report.headroom is None
    assert [unit.name for unit in report.units] == ["requests"]


def test_without_a_network_the_first_instance_of_a_spread_join_has_its_own_load() -> None:
    given = run_files()
    samples = [Sample(name, {}, {}, busy, 8) for name, busy in (("j", 3.0), ("j[0]", 1.0), ("j[1]", 2.0))]
    state = replace(given.saved.state, window=type(given.saved.state.window)().push(1, 2.0, {}, samples))
    files = replace(given, network=None, plan=Plan(1, 2, {"j": 0}), saved=replace(given.saved, state=state))
    (unit,) = build_report(files).units
    assert unit.load == pytest.approx(0.5)


def test_without_a_plan_there_are_no_units() -> None:
    assert build_report(RunFiles("x")).units == ()
