from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.network.files.document import DEEPEST, MOST_NODES, Fields, Items, Scalar, read_document


def test_scalars_stay_text_and_know_their_lines() -> None:
    root = read_document('a: yes\nb: [1, "2"]\nc:\n  d: null\n').root
    assert root == Fields(
        (
            (Scalar("a", 1), Scalar("yes", 1)),
            (Scalar("b", 2), Items((Scalar("1", 2), Scalar("2", 2, quoted=True)), 2)),
            (Scalar("c", 3), Fields(((Scalar("d", 4), Scalar("null", 4)),), 4)),
        ),
        1,
    )


@pytest.mark.parametrize("text", ["\ufeffa: 1\n", "a: 1\r\n", "a: 1\r", "---\na: 1\n...\n", "# why\na: 1 # here"])
def test_harmless_notation_is_read(text: str) -> None:
    document = read_document(text)
    assert document.faults == ()
    assert document.root is not None
    assert [(key.text, value) for key, value in document.root.entries] == [
        ("a", Scalar("1", document.root.line)),
    ]


@pytest.mark.parametrize(
    ("text", "line", "field", "says"),
    [
        pytest.param("", None, "file", "empty", id="nothing"),
        pytest.param("# only this\n", None, "file", "empty", id="only a comment"),
        pytest.param("a: &x 1\n", 1, "a", "no anchors", id="an anchor"),
        pytest.param("a: 1\nb: *x\n", 2, "b", "no aliases", id="an alias"),
        pytest.param("a: !!int 1\n", 1, "a", "no tags", id="a tag"),
        pytest.param("a: !!python/object/apply:os.system [x]\n", 1, "a", "no tags", id="a tag that runs code"),
        pytest.param("a: 1\n<<: {b: 1}\n", 2, "<<", "a merge key", id="a merge key"),
        pytest.param("a: 1\n---\nb: 1\n", 2, "file", "one network", id="two documents"),
        pytest.param("a: 1\nb: {c: 1, c: 2}\n", 2, "b.c", "line 2 has the same key", id="a repeated key"),
        pytest.param("a: 1\n? [b]\n: 1\n", 2, "?", "a key is a word", id="a key that is a list"),
        pytest.param("a: 1\n\tb: 1\n", 2, "file", "not tabs", id="a tab"),
        pytest.param("a: [1\nb: 2\n", 2, "file", "is YAML", id="an open bracket"),
        pytest.param("a: 'x\n", 2, "file", "is YAML", id="an open quote"),
        pytest.param("- a\n", 1, "file", "is a mapping", id="a list"),
        pytest.param("words", 1, "file", "is a mapping", id="words"),
        pytest.param("a: 1\nb: \x1b[31m\n", 2, "file", "U+001B", id="an escape character"),
        pytest.param("a: 1\r\nb: \x00\n", 2, "file", "U+0000", id="a NUL"),
        pytest.param("a: \ud800\n", 1, "file", "U+D800", id="half a character"),
    ],
)
def test_notation_that_is_refused(text: str, line: int | None, field: str, says: str) -> None:
    (fault,) = read_document(text).faults
    assert (fault.line, fault.field) == (line, field)
    assert says in str(fault)


def test_a_repeated_key_keeps_its_first_value_and_all_other_keys() -> None:
    root = read_document("a: {x: 1}\na: {x: 2}\nb: 3\n").root
    assert root is not None
    assert [(key.text, key.line) for key, _ in root.entries] == [("a", 1), ("b", 3)]
    assert root.entries[0][1] == Fields(((Scalar("x", 1), Scalar("1", 1)),), 1)


@pytest.mark.parametrize("nested", ["[" * DEEPEST, "- " * DEEPEST, "{a: " * DEEPEST, "[" * 100_000, "- " * 100_000])
def test_deep_nesting_is_refused(nested: str) -> None:
    (fault,) = read_document(f"a:\n  {nested}").faults
    assert fault.value == "nested too deeply"


def test_too_many_nodes_are_refused() -> None:
    (fault,) = read_document("a: [" + "x," * MOST_NODES + "]").faults
    assert fault.value == "too long"


def test_aliases_are_refused_one_by_one_but_not_without_end() -> None:
    assert len(read_document("a: [" + "*x, " * 10 + "]").faults) == 10
    assert len(read_document("a: [" + "*x, " * 10_000 + "]").faults) == 100


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    document = read_document(text)
    assert document.root is not None or document.faults
