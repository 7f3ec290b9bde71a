from __future__ import annotations

import pytest

from drover.strict_json import JsonError, loads


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param('{"a": 1, "a": 1}', "key 'a' appears twice", id="a repeated key, even with the same value"),
        pytest.param('[{"b": {"c": 1, "d": 2, "c": 3}}]', "key 'c' appears twice", id="a repeated key further inside"),
        pytest.param('{"a": NaN}', "NaN is not a JSON number", id="not a number"),
        pytest.param("[-Infinity]", "-Infinity is not a JSON number", id="infinity"),
        pytest.param("{", "Expecting property name enclosed in double quotes, column 2", id="cut short"),
        pytest.param("{}\n{}", "Extra data, line 2, column 1", id="two values"),
        pytest.param(b'"\xff"', "byte 2 is not UTF-8", id="other bytes"),
        pytest.param("[" * 100_000, "nested too deeply", id="nesting"),
        pytest.param("1" * 5_000, "a number has too many digits", id="a huge number"),
    ],
)
def test_what_two_readers_could_read_differently_is_refused(text: str | bytes, words: str) -> None:
    with pytest.raises(JsonError) as caught:
        loads(text)
    assert str(caught.value) == words


def test_json_is_read() -> None:
    assert loads('{"a": [1, 2.5, null, true, "\\u00e9"], "b": {}}') == {"a": [1, 2.5, None, True, "é"], "b": {}}
    assert loads(b'{"a": "\xc3\xa9"}') == {"a": "é"}
