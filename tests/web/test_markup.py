from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.errors import visible
from drover.web.report.markup import Markup, element, join
from tests.web.parsed import parse

HOSTILE = "<script>alert(1)</script>\"'&--><![CDATA[\u202e\x00\x1b[2J"


@given(given=st.text(max_size=60) | st.just(HOSTILE))
def test_a_reader_finds_the_text_that_went_in_and_no_element_more(given: str) -> None:
    (found,) = parse(element("p", given, title=given)).children
    assert not isinstance(found, str)
    assert found.text == visible(given)
    assert found.attributes == {"title": visible(given)}
    assert [node.tag for node in found.all()] == ["p"]


@given(given=st.text(alphabet="<>&\"'/=ab \x00", max_size=12))
def test_text_within_markup_stays_text(given: str) -> None:
    (cell,) = parse(element("td", [given, element("b", given)], (given,))).children
    assert not isinstance(cell, str)
    assert cell.text == visible(given) * 3
    assert [node.tag for node in cell.all()] == ["td", "b"]


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        pytest.param(element("rect", x=1.25, y=2.0), '<rect x="1.2" y="2"/>', id="short numbers"),
        pytest.param(element("p", class_=None), "<p></p>", id="no attribute for None"),
        pytest.param(element("svg", aria_labelledby="a b"), '<svg aria-labelledby="a b"></svg>', id="dashes in names"),
        pytest.param(join("a<", Markup("<b>"), ["c", ["d"]]), "a&lt;<b>cd", id="markup stays, text does not"),
        pytest.param(element("rect", element("title", "t")), "<rect><title>t</title></rect>", id="void with content"),
    ],
)
def test_elements(found: str, wanted: str) -> None:
    assert found == wanted
