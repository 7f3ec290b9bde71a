from __future__ import annotations

from dataclasses import replace

from drover_lab.draw import draw, line_styles
from drover_lab.run import run
from tests.drover_lab.toy import TOY

PNG = b"\x89PNG"

SVG = b"<?xml"


def test_equal_rows_give_equal_figures() -> None:
    one, other = (draw(TOY, run(TOY).rows) for _ in range(2))
    assert one == other
    assert one["png"].startswith(PNG)
    assert one["svg"].startswith(SVG)
    assert draw(TOY, run(TOY, quick=True).rows) != one


def test_figures_show_panels_lines_and_what_is_printed() -> None:
    svg = draw(TOY, run(TOY).rows)["svg"].decode()
    for word in ("X-fig1: Products", "3, as printed", "drawn", "product"):
        assert word in svg


def test_a_line_looks_the_same_in_every_panel() -> None:
    rows = run(TOY).rows
    whole = line_styles(rows, TOY.panels[0])
    assert [style["label"] for style in whole.values()] == ["1", "3", "7"]
    assert len({(style["color"], style["marker"]) for style in whole.values()}) == 3
    assert line_styles(rows, replace(TOY.panels[0], where={"factor": 7})) == whole
