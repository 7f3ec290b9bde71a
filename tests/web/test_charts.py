from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.web.charts import (
    HEIGHT,
    MANY_MARKS,
    MOST_NODES,
    POINTS,
    RIGHT,
    ROWS,
    WIDTH,
    Chart,
    ChartMark,
    ChartSeries,
    figure,
    node_series,
)
from drover.web.formatting import percent, seconds

SVG = "{http://www.w3.org/2000/svg}"


def chart(*values: list[float], **fields: object) -> Chart:
    """A chart with a value per second and line."""
    series = [ChartSeries(f"line {style}", np.array(each), style) for style, each in enumerate(values)]
    times = np.arange(1.0, len(values[0]) + 1)
    made = Chart("c", "A chart", times, series, percent)
    return replace(made, **fields)  # type: ignore[arg-type]  # the fields that a test is about


def test_a_line_runs_from_its_first_to_its_last_value() -> None:
    ((look, path),) = chart([0.0, 0.5, 1.0, 1.0]).layout().paths
    right = WIDTH / 4
    up = -HEIGHT / 2
    assert path == f"M{right:g} {HEIGHT:g}l{right:g} {up:g}l{right:g} {up:g}l{right:g} 0"
    assert look == "line stroke0 dash0"


def test_a_line_has_a_gap_where_nothing_was_measured_and_a_lone_value_is_a_diamond() -> None:
    line, diamond = chart([0.5, 0.5, np.nan, np.nan, np.nan, 1.0]).layout().paths
    assert line[0] == "line stroke0 dash0"
    assert diamond == ("fill0", f"M{WIDTH:g} -3l3 3l-3 3l-3 -3z")


def test_a_long_series_has_a_band_that_keeps_its_peak() -> None:
    values = [0.5] * 3000
    values[1500] = 1.0
    (look, band), (_, line) = chart(values).layout().paths
    assert look == "band fill0"
    assert line.count("l") < POINTS
    numbers = [float(each) for each in re.findall(r"-?[\d.]+", band)]
    heights = np.cumsum(numbers[1::2])
    assert heights.min() == pytest.approx(0)
    assert heights.max() == pytest.approx(HEIGHT / 2)


@pytest.mark.parametrize(
    ("most", "limit", "top", "drawn"),
    [
        pytest.param(0.9, 1.0, 1.0, True, id="a limit that is near"),
        pytest.param(1.7, 1.0, 2.0, True, id="a limit that is exceeded"),
        pytest.param(0.1, 1.0, 0.1, False, id="a limit that is far away"),
        pytest.param(0.9, None, 1.0, False, id="no limit"),
        pytest.param(0.0, 1.0, 1.0, True, id="zeros"),
        pytest.param(np.nan, None, 1.0, False, id="nothing measured"),
    ],
)
def test_the_value_axis_reaches_values_and_limits_that_are_near(
    most: float, limit: float | None, top: float, drawn: bool
) -> None:
    given = chart([0.0, most], limit=limit, limit_label="capacity")
    assert given.value_ticks()[0] == 0.0
    assert given.value_ticks()[-1] == pytest.approx(top)
    assert (given.layout().limit is not None) == drawn
    assert ("is above this chart" in figure([given])) == (limit is not None and not drawn)


def test_a_logarithmic_axis_omits_values_without_a_logarithm() -> None:
    given = chart([0.0, 0.01, 10.0], log=True, format=seconds)
    assert [label for _, label in given.layout().value_ticks] == ["10 ms", "100 ms", "1 s", "10 s"]
    ((_, line),) = given.layout().paths
    assert line.startswith(f"M{2 * WIDTH / 3:.1f} {HEIGHT:g}")
    assert chart([np.nan], log=True).layout().paths == []


def test_the_table_has_every_value_of_a_short_series() -> None:
    given = chart([0.1, np.nan, 0.3], [0.4, np.nan, np.nan])
    assert given.table() == [["0:01", "10.0 %", "40.0 %"], ["0:03", "30.0 %", "-"]]
    assert given.table_note == "each period"


def test_the_table_has_means_of_a_long_series() -> None:
    given = chart([0.1, 0.3] * 50 * ROWS)
    assert len(given.table()) == ROWS
    assert {row[1] for row in given.table()} == {"20.0 %"}
    assert given.table_note == f"means over {ROWS} intervals"


def test_a_chart_is_described_in_words() -> None:
    assert chart([0.1, 0.3, np.nan], [np.nan] * 3).description == (
        "line 0: 10.0 % to 30.0 %, 20.0 % on average, 30.0 % last; line 1: nothing measured."
    )


@given(times=st.lists(st.floats(0, 100), max_size=60), label=st.text("abc", min_size=1, max_size=40))
def test_flags_never_overlap_and_stay_in_the_chart(times: list[float], label: str) -> None:
    marks = [ChartMark(time, label) for time in sorted(times)]
    layout = chart([0.5] * 100, marks=marks).layout()
    assert bool(layout.flags) == bool(times)
    ends = [(x, x + width) for x, width, _ in layout.flags]
    # Only the last flag may be pushed left by the edge of the chart.
    assert all(earlier[1] < later[0] for earlier, later in pairwise(ends[:-1]))
    assert all(end <= WIDTH + RIGHT + 1e-9 for _, end in ends)


def test_marks_that_are_close_share_a_flag() -> None:
    marks = [
        ChartMark(time, label) for time, label in ((10, "1"), (50, "2"), (50.1, "3"), (80, "4"), (80, "5"), (80, "6"))
    ]
    layout = chart([0.5] * 100, marks=marks).layout()
    assert [label for _, _, label in layout.flags] == ["1", "2, 3", "4 ... 6"]
    assert len(layout.marks) == 4
    assert layout.marks_bottom == HEIGHT


def test_very_many_marks_do_not_cover_the_lines() -> None:
    marks = [ChartMark(time, "x") for time in range(MANY_MARKS + 1)]
    assert chart([0.5] * 100, marks=marks).layout().marks_bottom == 0


def test_every_interval_shows_its_values_under_the_pointer() -> None:
    hovers = chart([0.1, 0.2], [np.nan, 0.3]).layout().hovers
    assert [text for _, _, text in hovers] == ["0:01: line 0 10.0 %", "0:02: line 0 20.0 %, line 1 30.0 %"]
    assert hovers[0][0] == 0
    assert hovers[-1][0] + hovers[-1][1] == pytest.approx(WIDTH)


def test_thirty_lines_look_different() -> None:
    looks = {ChartSeries("", np.zeros(1), style).stroke for style in range(30)}
    assert len(looks) == 30


def test_of_many_nodes_the_busiest_have_lines_and_the_others_their_maximum() -> None:
    loads = np.tile(np.arange(MOST_NODES + 2) / 100, (3, 1))
    loads[1, 1] = np.nan
    series = node_series(loads)
    assert [each.name for each in series] == [*(f"node {i}" for i in range(2, MOST_NODES + 2)), "others, max"]
    assert series[-1].values.tolist() == [0.01, 0.0, 0.01]
    assert [each.name for each in node_series(loads[:, :2])] == ["node 0", "node 1"]


def test_a_figure_is_a_well_formed_file_of_accessible_charts() -> None:
    one = chart([0.1, 0.2], title="<one> & 'other'", warmup=1.0, unit="load")
    root = ET.fromstring(figure([one, replace(one, id="d", limit=9.0, limit_label="capacity")]))
    charts = root.findall(f"{SVG}svg")
    assert [each.get("role") for each in charts] == ["img", "img"]
    assert [each.get("aria-labelledby") for each in charts] == ["c-title c-desc", "d-title d-desc"]
    assert charts[0].findtext(f"{SVG}title") == "<one> & 'other'"
    assert charts[0].findtext(f"{SVG}desc") == one.description
    texts = [each.text for each in charts[0].iter(f"{SVG}text")]
    assert {"<one> & 'other'", "load", "warm-up", "line 0", one.time_label} <= set(texts)
    assert "capacity (900 %) is above this chart" in [each.text for each in charts[1].iter(f"{SVG}text")]
    bottoms = [float(each.get("y", "")) + float(each.get("height", "")) for each in charts]
    assert bottoms[0] <= float(charts[1].get("y", ""))
    assert not [each for each in root.iter() if each.get("style")]
