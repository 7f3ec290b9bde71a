from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from drover.network.files.document import Fields, Items, Node, Scalar, read_document
from drover.network.files.emit import WIDTH, emit, quote

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.text(" :#,[]{}&*!|>'\"%@`~-?\\\n\t<=a1")
PLAIN = st.recursive(
    TEXTS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)


def plain(node: Node) -> object:
    match node:
        case Scalar(text):
            return text
        case Items(nodes):
            return [plain(item) for item in nodes]
        case Fields(entries):
            return {key.text: plain(value) for key, value in entries}


@given(st.dictionaries(TEXTS, PLAIN, min_size=1, max_size=4))
@example({"a": ["x" * 60, "y" * 60], "b": {"c": {"d": "z" * 120, "e": ["1" * 50, "2" * 50]}}})
@example({"a": "- b", "c": "? d", "e": ": f", "g": "---", "h": "...", "i": "<<", "<<": "j"})
def test_written_values_are_read_back_unchanged(data: dict[str, object]) -> None:
    document = read_document(emit(data))  # type: ignore[arg-type] # the strategy is recursive, mypy cannot follow
    assert document.faults == ()
    assert document.root is not None
    assert plain(document.root) == data


@given(TEXTS)
def test_other_yaml_readers_read_the_same_values(text: str) -> None:
    for written in (f"a: {quote(text)}", f"a: [{quote(text)}]", f"{{a: {quote(text)}, b: 1}}"):
        events = [event for event in yaml.parse(written, Loader=yaml.SafeLoader) if isinstance(event, yaml.ScalarEvent)]
        assert events[1].value == text


@pytest.mark.parametrize(
    "text", ["status >= 400", "count(*)", "left.a < right.b", "pkg.mod:f", "a = 'b'", "größe", "1"]
)
def test_common_texts_are_not_quoted(text: str) -> None:
    assert quote(text) == text


def test_short_values_take_one_line_and_long_ones_several() -> None:
    text = emit({"name": "n", "list": ["a", "b"], "map": {"short": {"x": "1"}, "long": {"x": "1" * 60, "y": "2" * 60}}})
    assert text == (
        f"name: n\n\nlist: [a, b]\n\nmap:\n  short: {{x: 1}}\n  long:\n    x: {'1' * 60}\n    y: {'2' * 60}\n"
    )
    assert max(map(len, text.splitlines())) <= WIDTH
