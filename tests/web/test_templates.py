from __future__ import annotations

import base64
import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from drover.errors import visible
from drover.web import templates
from drover.web.templates import LONGEST, content_policy, figure_style, render, style_sheet
from tests.web.parsed import parse

HOSTILE = "<script>alert(1)</script>\"'&--><![CDATA[\u202e\x00\x1b[2J"


def rendered(template: str, **values: object) -> str:
    return templates._environment().from_string(template).render(values)


@given(given=st.text(max_size=60) | st.just(HOSTILE))
def test_text_is_escaped_and_adds_no_element(given: str) -> None:
    (found,) = parse(rendered('<p title="{{ text }}">{{ text }}</p>', text=given)).children
    assert not isinstance(found, str)
    assert found.text == visible(given)
    assert found.attributes == {"title": visible(given)}
    assert [node.tag for node in found.all()] == ["p"]


@given(given=st.text(alphabet="<>&\"'/=ab \x00", max_size=12))
def test_text_within_macros_stays_text(given: str) -> None:
    macro = "{% macro cell(text) %}<td>{{ text }}{{ caller() }}</td>{% endmacro %}"
    (cell,) = parse(rendered(macro + "{% call cell(text) %}<b>{{ text }}</b>{% endcall %}", text=given)).children
    assert not isinstance(cell, str)
    assert cell.text == visible(given) * 2
    assert [node.tag for node in cell.all()] == ["td", "b"]


def test_long_texts_are_cut_and_coordinates_are_short() -> None:
    assert len(rendered("{{ text }}", text="x" * 2 * LONGEST)) == LONGEST + len("...")
    assert [rendered("{{ value }}", value=value) for value in (1.26, 2.0, 7)] == ["1.3", "2", "7"]


def test_a_name_that_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="title"):
        render("page.html.j2", policy="", style="")


def test_formats_are_filters() -> None:
    text = "{{ 0.5 | percent }}, {{ none | number }}, {{ 2000 | size }}, {{ 0.5 | seconds }}, {{ 65 | clock }}"
    assert rendered(text) == "50.0 %, -, 2 kB, 500 ms, 1:05"


def test_the_policy_allows_one_style_sheet_and_nothing_else() -> None:
    digest = base64.b64encode(hashlib.sha256(b"p{}").digest()).decode()
    wanted = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert content_policy("p{}") == wanted


def test_style_sheets_fetch_nothing_and_cannot_end_their_element() -> None:
    sheet = style_sheet("chart.css", "page.css")
    assert re.findall(r"url\(|@import|<|expression|//", sheet) == []


def test_the_style_of_a_figure_states_colours_for_programs_without_variables() -> None:
    assert "stroke: #0072b2; stroke: var(--line0)" in figure_style()
    assert len(re.findall(r": #\w+; [\w-]+: var\(", figure_style())) == style_sheet("chart.css").count("var(")
