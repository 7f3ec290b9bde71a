"""Messages, records and tree files as text: there and back, and nothing else is taken."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from drover.errors import FileError
from drover.hierarchy.cluster import cluster_of
from drover.hierarchy.codec import KINDS, SENT, CodecError, decode_message, decode_record, encode
from drover.hierarchy.diagram import diagram
from drover.hierarchy.layout import field_lines, parse_layout

VALUES = st.deferred(lambda: st.one_of([st.from_type(kind) for kind in KINDS.values()]))
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(int, st.integers(-(2**53), 2**53))

TREE = """
tree: 1
marks: {lower: 0.3, upper: 0.7}
timing: {period: 1, patience: 0.1}
nodes:
  root: {address: "127.0.0.1:7000", memory: 100}
  east: {parent: root, address: "127.0.0.1:7001", memory: 50}
operators:
  mean: {entries: [east], at: east, memory: 10}
  alarm: {inputs: [mean], at: root, memory: 5}
"""


@given(VALUES)
def test_what_is_encoded_is_decoded(value: object) -> None:
    decode = decode_message if type(value).__name__ in SENT else decode_record
    text = encode(value)  # type: ignore[arg-type]  # one of the kinds
    assert decode(text) == value
    assert "\n" not in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "no JSON", id="nothing"),
        pytest.param("[" * 10_000, "no JSON", id="deep"),
        pytest.param("[1]", "not a message", id="a list"),
        pytest.param('{"Kept": {}}', "not a message", id="a record"),
        pytest.param('{"Clear": {"sender": 1, "receiver": 2}}', "must have sender, receiver, round", id="a field less"),
        pytest.param('{"Clear": {"sender": 1, "receiver": 2, "round": [1, 2]}}', "must have 3", id="a short round"),
        pytest.param('{"Clear": {"sender": true, "receiver": 2, "round": [1, 2, 3]}}', "type int", id="no number"),
        pytest.param('{"Clear": {"sender": 1.5, "receiver": 2, "round": [1, 2, 3]}}', "type int", id="a broken number"),
        pytest.param('{"Clear": {"sender": 1e99, "receiver": 2, "round": [1, 2, 3]}}', "type int", id="a float"),
        pytest.param('{"Clear": {"sender": 1, "receiver": 2, "round": "123"}}', "must be a list", id="text"),
        pytest.param(
            '{"DemandRequest": {"sender": 1, "receiver": 2, "round": [1, 2, 3], "room": [NaN]}}', "type float", id="NaN"
        ),
        pytest.param(
            f'{{"DemandRequest": {{"sender": 1, "receiver": 2, "round": [1, 2, 3], "room": [1{"0" * 400}]}}}}',
            "type float",
            id="more than a float has",
        ),
    ],
)
def test_nothing_else_is_taken(text: str, words: str) -> None:
    with pytest.raises(CodecError, match=words):
        decode_message(text)


def test_a_tree_file() -> None:
    layout = parse_layout(TREE)
    assert (layout.nodes, layout.operators) == (("root", "east"), ("mean", "alarm"))
    assert layout.tree.parent == (-1, 0)
    assert layout.queries.inputs == ((), (0,))
    assert layout.begin(1) == {0: (10.0,)}
    assert layout.place(1).capacity == (50.0,)
    assert layout.thresholds.target == 0.5
    assert (layout.timing.period, layout.timing.tries) == (1.0, 3)


def test_addresses_are_not_in_the_digest_but_readers_are() -> None:
    digest = parse_layout(TREE).digest
    assert parse_layout(TREE.replace("7001", "9001")).digest == digest
    assert parse_layout(TREE.replace("[mean]", "[mean], entries: [root]")).digest != digest
    assert parse_layout(json.dumps({"tree": "1", "nodes": {"a": {"memory": "1"}}, "operators": {}})).tree.parent == (
        -1,
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param("tree: 1", "tree: 2", "version 1 of tree files", id="a later version"),
        pytest.param("tree: 1\n", "", "tree: 1", id="no tree file"),
        pytest.param("parent: root", "parent: rot", "line 7.*Did you mean root", id="no such parent"),
        pytest.param(":7001", ":banana", "host:port", id="no address"),
        pytest.param("127.0.0.1:7001", "a..b:7001", "host:port", id="no name of a host"),
        pytest.param("memory: 50", "cpu: 50", "same resources", id="other resources"),
        pytest.param("at: east", "at: west", "no node has that name", id="no such node"),
        pytest.param("inputs: [mean]", "inputs: [men]", "Did you mean mean", id="no such operator"),
        pytest.param("entries: [east]", "entries: [root]", "no hierarchy.*does not pass", id="where its input is not"),
        pytest.param("lower: 0.3", "lower: 0.9", "must rise from 0", id="marks that fall"),
        pytest.param("memory: 10}", "memory: -10}", "at least 0", id="less than nothing"),
        pytest.param("  mean:", '  "me\\nan":', "can be printed", id="a name of two lines"),
        pytest.param("memory: 50", "memory: 1e400", "up to 1e[+]300", id="more than any number"),
        pytest.param("memory: 10}", "memry: 10}", "Did you mean memory", id="a typing error"),
        pytest.param("parent: root", "parent: east", "cycle", id="a node below itself"),
        pytest.param("{parent: root, ", "{", "2 roots", id="two roots"),
    ],
)
def test_faults_of_a_tree_file_name_the_way_out(old: str, new: str, words: str) -> None:
    assert old in TREE
    with pytest.raises(FileError, match=words):
        parse_layout(TREE.replace(old, new, 1))


@pytest.mark.parametrize("text", ["", "f" * 64, "- 1", "\0", "a: {"])
def test_what_is_no_tree_file_at_all_is_refused(text: str) -> None:
    with pytest.raises(FileError) as refused:
        parse_layout(text)
    assert "network" not in str(refused.value)


def test_an_unknown_node_says_the_nearest() -> None:
    with pytest.raises(FileError, match="Did you mean east"):
        parse_layout(TREE).node("eest")


def test_the_page_shows_the_table_of_transitions_and_every_field() -> None:
    page = (Path(__file__).parents[2] / "docs" / "hierarchy.md").read_text(encoding="utf-8")
    assert diagram() in page
    assert "\n".join(field_lines()).strip() in page
    cluster, example = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert parse_layout(example).nodes == ("centre", "east")
    assert cluster_of(yaml.safe_load(cluster)["cluster"]).nodes == ("city", "district", "north", "south")
