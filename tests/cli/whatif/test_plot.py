"""The figures of `drover simulate --plot`: charts of an answer, as SVG and as PNG."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from drover.cli.simulate import simulate
from drover.cli.whatif import plot
from drover.cli.whatif.answer import SimulationReport, run
from drover.cli.whatif.scenario import Options, read_scenario
from drover.errors import DroverError

TRAFFIC = str(Path(__file__).parents[3] / "examples" / "traffic.yaml")


@pytest.fixture(scope="module")
def answer() -> SimulationReport:
    options = "--seconds 20 --mode fluid --scale east=2@8 --kill 1@12 --compare stay,cor-bal"
    words = simulate.make_context("simulate", [TRAFFIC, *options.split()]).params
    asked = read_scenario(Options(**{name: words[name] for name in Options.__slots__}))
    return SimulationReport(asked, tuple(run(asked, variant) for variant in asked.variants))


def test_every_variant_has_a_chart_and_latency_has_one(answer: SimulationReport) -> None:
    *variants, latency = plot.charts_of(answer)
    assert [chart.title for chart in variants] == ["stay", "cor-bal"]
    assert [series.name for series in latency.series] == ["stay", "cor-bal"]
    assert latency.log
    for chart, result in zip(variants, answer.results, strict=True):
        nodes = result.outcome.nodes
        for node, series in enumerate(chart.series):
            wanted = nodes.filter(node=node).sort("begin")["utilisation"].to_numpy()
            assert np.array_equal(series.values, wanted)
        assert chart.end == pytest.approx(20.0)
        assert chart.warmup == answer.scenario.warmup


def test_events_are_marks_in_order_of_time(answer: SimulationReport) -> None:
    for chart in plot.charts_of(answer):
        assert [(mark.time, mark.label) for mark in chart.marks] == [(8.0, "east x 2"), (12.0, "kill 1")]


def test_an_svg_file_is_well_formed_and_needs_no_matplotlib(
    answer: SimulationReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    path = tmp_path / "figure.svg"
    plot.demand_figure(str(path))
    plot.write_figure(answer, str(path))
    texts = [each.text for each in ET.fromstring(path.read_bytes()).iter("{http://www.w3.org/2000/svg}text")]
    assert {"stay", "cor-bal", "node 0", "utilisation", "east x 2", "kill 1"} <= set(texts)


def test_a_png_file_is_drawn_by_matplotlib(answer: SimulationReport, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "figure.png"
    plot.write_figure(answer, str(path))
    assert path.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_a_png_file_is_refused_with_the_extra_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        plot, "find_spec", lambda name: None if name == "matplotlib" else importlib.util.find_spec(name)
    )
    with pytest.raises(DroverError, match=r"needs matplotlib.*drover\[lab\]"):
        plot.demand_figure(str(tmp_path / "figure.png"))
    plot.demand_figure(str(tmp_path / "figure.svg"))


@pytest.mark.parametrize(
    ("name", "says"), [("a.gif", "a .png or a .svg file"), ("no/a.svg", "there is no such folder")]
)
def test_a_path_that_cannot_hold_a_figure_is_refused(name: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DroverError, match=says):
        plot.demand_figure(str(tmp_path / name))
