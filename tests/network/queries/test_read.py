"""Query files: YAML and JSON lines in, queries or reasons out, one by one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.network.operators import Aggregate, Filter
from drover.network.queries.notation import LONGEST_LINE, entries_of, entry_of
from drover.network.queries.read import TENANT, QueryDraft, read_entries, read_entry, write_query

ONE = """
name: busy-east
tenant: acme
operators:
  hot: {kind: filter, input: readings, where: site = 'east' and value > 20}
  counts: {kind: aggregate, input: hot, size: 10 s, compute: {n: count(*)}}
"""
SAME = {
    "name": "busy-east",
    "tenant": "acme",
    "operators": {
        "hot": {"kind": "filter", "input": "readings", "where": "site = 'east' and value > 20"},
        "counts": {"kind": "aggregate", "input": "hot", "size": "10 s", "compute": {"n": "count(*)"}},
    },
}


def drafts(text: str, name: str = "q.yaml") -> list[QueryDraft]:
    return read_entries(entries_of(text, name))


def test_yaml_json_and_python_say_the_same() -> None:
    (draft,) = drafts(ONE)
    assert draft.query is not None
    hot, counts = draft.query.operators
    assert isinstance(hot, Filter)
    assert isinstance(counts, Aggregate)
    assert (draft.query.tenant, draft.query.output, draft.name) == ("acme", "counts", "busy-east")
    assert drafts(json.dumps(SAME), "q.jsonl")[0].query == draft.query
    assert read_entry(entry_of(SAME)).query == draft.query
    assert read_entry(entry_of(write_query(draft.query))).query == draft.query


def test_a_tenant_may_be_left_out() -> None:
    query = drafts(ONE.replace("tenant: acme\n", ""))[0].query
    assert query is not None
    assert query.tenant == TENANT
    assert "tenant" not in write_query(query)


BAD_LINES = [
    pytest.param("{", "a line of JSON is one query", id="no JSON"),
    pytest.param('{"name": "a", "name": "b"}', "key 'name' appears twice", id="a key twice"),
    pytest.param('{"name": NaN}', "NaN is not a JSON number", id="no number"),
    pytest.param("[" * 100_000, "at most", id="too long"),
    pytest.param("[" * 30 + "]" * 30, "levels", id="too deep"),
    pytest.param('{"name": "a\\u0000b"}', "U+0000", id="not printable"),
    pytest.param("7", "a query is a mapping", id="a number"),
    pytest.param('{"name": "a"}', "at least one operator", id="no operators"),
    pytest.param('{"name": "a", "operators": {"f": {"kind": "filtre"}}}', "Did you mean filter", id="no such kind"),
    pytest.param('{"name": "a", "operators": {"f": {"kind": "filter", "input": "s"}}}', "where", id="a field missing"),
    pytest.param('{"naem": "a", "operators": {}}', "Did you mean name", id="a field misspelt"),
]


@pytest.mark.parametrize(("line", "said"), BAD_LINES)
def test_a_bad_line_is_refused_and_its_neighbours_are_not(line: str, said: str) -> None:
    good = json.dumps(SAME)
    first, bad, last = drafts(f"{good}\n{line}\n{good}\n", "q.jsonl")
    assert (first.query is None, bad.query, last.query is None) == (False, None, False)
    assert said in " ".join(map(str, bad.faults))
    assert bad.line == 2


def test_two_loose_ends_need_an_output() -> None:
    two = ONE + "  other: {kind: filter, input: hot, where: value > 30}\n"
    (draft,) = drafts(two)
    assert draft.query is None
    assert "counts, other" in str(draft.faults[0])
    assert drafts(two + "output: other\n")[0].query is not None


@pytest.mark.parametrize("value", [object(), {"name": b"x"}, {3: "x"}, {"name": float("inf")}, {"name": {1, 2}}])
def test_invalid_json_is_refused(value: object) -> None:
    draft = read_entry(entry_of(value))
    assert draft.query is None
    assert draft.faults


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=12,
)


@given(value=PLAIN)
def test_any_text_is_read_or_refused(value: object) -> None:
    draft = read_entry(entry_of(value))
    assert (draft.query is None) == bool(draft.faults)
    line = json.dumps(value)
    if len(line) < LONGEST_LINE and "\n" not in line:
        assert len(drafts(line, "q.jsonl")) == 1
