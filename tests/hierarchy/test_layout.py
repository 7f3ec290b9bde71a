from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from drover.errors import FileError
from drover.hierarchy.cluster import cluster_of
from drover.hierarchy.layout import field_lines, parse_layout, read_layout
from drover.hierarchy.node_state import NodeConfig, Timing
from drover.hierarchy.queries import Queries
from drover.hierarchy.thresholds import TreeThresholds
from tests.cli.golden import agrees

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


def test_a_tree_file() -> None:
    layout = parse_layout(TREE)
    assert (layout.nodes, layout.operators) == (("root", "east"), ("mean", "alarm"))
    assert layout.tree.parent == (-1, 0)
    assert layout.queries.inputs == ((), (0,))
    assert layout.initial_sizes(1) == {0: (10.0,)}
    assert layout.config(1).capacity == (50.0,)
    assert layout.thresholds.target == 0.5
    assert (layout.timing.period, layout.timing.tries) == (1.0, 3)


def test_addresses_are_not_in_the_digest_but_readers_are() -> None:
    digest = parse_layout(TREE).digest
    assert parse_layout(TREE.replace("7001", "9001")).digest == digest
    assert parse_layout(TREE.replace("[mean]", "[mean], entries: [root]")).digest != digest
    assert parse_layout(json.dumps({"tree": "1", "nodes": {"a": {"memory": "1"}}, "operators": {}})).tree.parent == (
        -1,
    )


FAULTS = [
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
    pytest.param("  mean:", '  "me\\nan":', "printable", id="a name of two lines"),
    pytest.param("memory: 50", "memory: 1e400", "up to 1e[+]300", id="more than any number"),
    pytest.param("memory: 10}", "memry: 10}", "Did you mean memory", id="a typing error"),
    pytest.param("parent: root", "parent: east", "cycle", id="a node below itself"),
    pytest.param("{parent: root, ", "{", "2 roots", id="two roots"),
    pytest.param('address: "127.0.0.1:7001"', 'address: ":7001"', "host:port", id="no host"),
    pytest.param("127.0.0.1:7001", "127.0.0.1:0", "host:port", id="port 0"),
    pytest.param("127.0.0.1:7001", "127.0.0.1:65536", "host:port", id="a port too large"),
    pytest.param("memory: 50", "memory: 0", "missing a resource", id="no memory"),
    pytest.param("memory: 10}", "cpu: 1e301}", "operators.mean.cpu is 1e.301", id="too large a size"),
    pytest.param("root: {", '"": {memory: 1, parent: east}\n  root: {', "1 to 128 characters", id="no name"),
    pytest.param("entries: [east]", "entries: [east, west]", "operators.mean is west", id="no such entry"),
    pytest.param("tree: 1", "tree: [1]", "version 1 of tree files", id="a list for a version"),
    pytest.param("marks: {", "strange: 1\nmarks: {", "strange is unknown", id="a strange section"),
    pytest.param("timing: {period: 1, ", "timing: {period: soon, ", "timing.period is 'soon'", id="no time"),
    pytest.param("lower: 0.3", "lower: low", "marks.lower is 'low'", id="no threshold"),
]


@pytest.mark.parametrize(("old", "new", "words"), FAULTS)
def test_faults_of_a_tree_file_name_the_way_out(old: str, new: str, words: str) -> None:
    assert old in TREE
    with pytest.raises(FileError, match=words):
        parse_layout(TREE.replace(old, new, 1))


NO_FILES = ["", "f" * 64, "- 1", "\0", "a: {"]


def test_the_words_of_all_faults() -> None:
    found = ""
    for case in FAULTS:
        old, new, _ = map(str, case.values)
        with pytest.raises(FileError) as caught:
            parse_layout(TREE.replace(old, new, 1))
        found += f"{case.id}: {caught.value}\n"
    for text in NO_FILES:
        with pytest.raises(FileError) as caught:
            parse_layout(text)
        found += f"{text[:8]!r}: {caught.value}\n"
    assert agrees("tree_file.faults.txt", found)


@pytest.mark.parametrize("address", ["localhost:1", "127.0.0.1:65535", "[::1]:7001"])
def test_addresses_of_agents(address: str) -> None:
    assert parse_layout(TREE.replace("127.0.0.1:7001", address)).addresses == ("127.0.0.1:7000", address)


def test_a_name_may_have_128_characters() -> None:
    assert parse_layout(TREE.replace("east", "e" * 128)).nodes == ("root", "e" * 128)
    with pytest.raises(FileError, match="1 to 128 characters"):
        parse_layout(TREE.replace("east", "e" * 129))


@pytest.mark.parametrize("memory", [1e-9, 1e300])
def test_the_least_and_the_largest_amount(memory: float) -> None:
    layout = parse_layout(TREE.replace("memory: 50", f"memory: {memory}").replace("memory: 10}", "memory: 1e300}"))
    assert (layout.capacity[1], layout.sizes[0]) == ((memory,), (1e300,))


def test_what_a_node_gets() -> None:
    layout = parse_layout(
        TREE.replace("memory: 100", "memory: 100, cpu: 1").replace("memory: 50", "memory: 50, cpu: 2")
    )
    queries = Queries(((), (0,)), ((1,), ()))
    thresholds = TreeThresholds(0.3, 0.7, least=0.01)
    assert layout.config(1) == NodeConfig(1, layout.tree, queries, (50.0, 2.0), thresholds, Timing(1.0, 0.1))
    assert layout.initial_sizes(0) == {1: (5.0, 0.0)}
    assert (layout.resources, layout.node("east")) == (("memory", "cpu"), 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("east", "west", id="a node"),
        pytest.param("mean", "sum", id="an operator"),
        pytest.param("memory", "cpu", id="a resource"),
        pytest.param("inputs: [mean]", "entries: [east]", id="an input"),
    ],
)
def test_what_agents_must_agree_on_is_in_the_digest(old: str, new: str) -> None:
    assert parse_layout(TREE.replace(old, new)).digest != parse_layout(TREE).digest


@pytest.mark.parametrize("text", NO_FILES)
def test_what_is_no_tree_file_at_all_is_refused(text: str) -> None:
    with pytest.raises(FileError) as refused:
        parse_layout(text)
    assert "network" not in str(refused.value)


def test_an_unknown_node_says_the_nearest() -> None:
    with pytest.raises(
        FileError, match=r"nodes.eest is unknown, but the tree has no .* Did you mean east\? Known: root"
    ):
        parse_layout(TREE).node("eest")


def test_a_tree_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "tree.yaml").write_text(TREE)
    assert read_layout(tmp_path / "tree.yaml") == parse_layout(TREE)


def test_the_pages_show_every_field_and_their_examples_are_valid() -> None:
    docs = Path(__file__).parents[2] / "docs"
    assert "\n".join(field_lines()).strip() in (docs / "reference" / "tree-file.md").read_text(encoding="utf-8")
    (example,) = re.findall(
        r"```yaml[^\n]*\n(tree: .*?)```", (docs / "how-to" / "agents.md").read_text("utf-8"), re.DOTALL
    )
    assert parse_layout(example).nodes == ("centre", "east")
    (run,) = re.findall(r"```yaml[^\n]*\n(run: .*?)```", (docs / "how-to" / "trees.md").read_text("utf-8"), re.DOTALL)
    assert cluster_of(yaml.safe_load(run)["cluster"]).nodes == ("city", "district", "north", "south")
