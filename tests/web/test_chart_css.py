"""Contrast by the formulas of WCAG 2.1, and colour blindness by the matrices of Machado et al. (2009)."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from drover.load.arrays import Floats
from drover.web import charts
from drover.web.templates import style_sheet

SHEET = style_sheet("chart.css")
LIGHT, DARK = (dict(re.findall(r"--(\w+): (#\w{6});", part)) for part in SHEET.split("@media")[:2])
COLOURS = {name: (LIGHT[name], DARK[name]) for name in LIGHT}
LINES = tuple(name for name in COLOURS if name.startswith("line"))

BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour: str) -> Floats:
    """Red, green and blue, (3,), as amounts of light."""
    values = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    lights = sorted(float(linear(each) @ np.array([0.2126, 0.7152, 0.0722])) for each in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["ink", "soft", "link", "alarm", *LINES])  # lines have words in their colours
@pytest.mark.parametrize("ground", ["paper", "panel"])
def test_text_has_enough_contrast(name: str, ground: str, side: int) -> None:
    assert contrast(COLOURS[name][side], COLOURS[ground][side]) >= 4.5


def test_the_formula_itself() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def lab(light: Floats) -> Floats:
    """CIE L*a*b*, (3,), of an amount of light under D65."""
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    ratio = matrix @ np.clip(light, 0, 1) / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("kind", BLINDNESS)
def test_colour_blind_readers_can_distinguish_lines(kind: str, side: int) -> None:
    seen = {name: lab(np.array(BLINDNESS[kind]) @ linear(COLOURS[name][side])) for name in LINES}
    near = {pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]])) for pair in combinations(LINES, 2)}
    assert min(near.values()) > 10, sorted(near.items(), key=lambda item: item[1])[:3]  # 2.3 is just noticeable


def test_light_and_dark_have_the_same_colours_and_use_all_of_them() -> None:
    assert set(LIGHT) == set(DARK)
    assert set(re.findall(r"var\(--(\w+)\)", SHEET + style_sheet("page.css"))) == set(LIGHT)


def test_there_is_a_rule_for_every_style_that_a_line_may_have() -> None:
    assert len(LINES) == charts.COLOURS
    for number in range(charts.COLOURS):
        assert f".stroke{number} {{ stroke: var(--line{number}); }}" in SHEET
        assert f"svg .fill{number} {{ fill: var(--line{number}); }}" in SHEET
    dashes = re.findall(r"\.dash(\d) \{ stroke-dasharray: ([\d ]+); \}", SHEET)
    assert [int(number) for number, _ in dashes] == list(range(1, charts.DASHES))  # dash0 is solid
    assert len({pattern for _, pattern in dashes}) == len(dashes)
