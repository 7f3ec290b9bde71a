"""Query files: where one query ends and the next begins, and which files are refused as a whole."""

from __future__ import annotations

import json

import pytest

from drover.errors import FileError
from drover.network.queries.notation import entries_of, entry_of, plain_of
from drover.network.queries.read import read_entry
from tests.network.queries.test_read import ONE, SAME, drafts


@pytest.mark.parametrize(
    ("text", "name", "names"),
    [
        pytest.param(f"---{ONE}---{ONE}", "q.yaml", 2, id="documents"),
        pytest.param("".join(f"- {json.dumps(SAME)}\n" for _ in range(3)), "q.yml", 3, id="a list"),
        pytest.param(f"{json.dumps(SAME)}\n\n{json.dumps(SAME)}\n", "", 2, id="lines without a file name"),
        pytest.param(f"\ufeff{json.dumps(SAME)}", "q.ndjson", 1, id="a byte order mark"),
    ],
)
def test_a_file_may_have_many_queries(text: str, name: str, names: int) -> None:
    assert [draft.name for draft in drafts(text, name)] == ["busy-east"] * names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("- &a {name: x}\n- *a\n", "anchors", id="aliases"),
        pytest.param("a: [", "not YAML here", id="no YAML"),
        pytest.param("", "empty", id="nothing"),
        pytest.param("[" * 100, "nested too deeply", id="too deep"),
    ],
)
def test_bad_notation_is_refused_as_a_whole(text: str, said: str) -> None:
    with pytest.raises(FileError, match=said):
        drafts(text)


def test_a_node_becomes_json_and_is_read_back() -> None:
    (entry,) = entries_of(ONE, "q.yaml")
    assert entry.node is not None
    assert read_entry(entry_of(plain_of(entry.node))).query == read_entry(entry).query
