"""Trees of nodes in run files: reading, writing, and faults that name the way out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from drover.errors import DroverError
from drover.hierarchy.cluster import CLUSTER, cluster_of
from drover.network.files.document import read_document
from tests.cli.golden import agrees

SOUND: dict[str, Any] = {
    "tree": {
        "city": {"memory": 400},
        "west": {"parent": "city", "memory": 100, "sources": ["a"]},
        "east": {"parent": "city", "memory": 1e2, "sources": ["b", "c"]},
    },
    "marks": {"lower": 0.3, "upper": 0.7},
    "at": {"mean": "city"},
}


def test_a_tree_says_where_rows_enter_and_what_nodes_have() -> None:
    found = cluster_of(SOUND)
    assert found.nodes == ("city", "west", "east")
    assert found.tree.parent == (-1, 0, 0)
    assert (found.resources, found.capacity) == (("memory",), ((400.0,), (100.0,), (100.0,)))
    assert found.entries == {"a": 1, "b": 2, "c": 2}
    assert (found.thresholds.lower, found.thresholds.target, found.at) == (0.3, 0.5, {"mean": 0})
    assert found.label(2) == "node 2 (east)"


def test_nodes_may_have_two_resources() -> None:
    found = cluster_of({"tree": {"only": {"memory": 4, "cpu": 0.5}}})
    assert (found.resources, found.capacity) == (("memory", "cpu"), ((4.0, 0.5),))


def test_what_is_written_is_read_again() -> None:
    found = cluster_of(SOUND)
    assert cluster_of(json.loads(json.dumps(CLUSTER.write(found)))) == found


def changed(path: str, value: object) -> dict[str, Any]:
    """The valid tree with one value changed; None removes it."""
    copy: dict[str, Any] = json.loads(json.dumps(SOUND))
    *way, last = path.split(".")
    place = copy
    for step in way:
        place = place.setdefault(step, {})
    if value is None:
        del place[last]
    else:
        place[last] = value
    return copy


FAULTS = [
    pytest.param("tree", "cluster is 'tree', but it must be a mapping with a tree", id="only a word"),
    pytest.param({}, "cluster.tree is missing", id="no tree"),
    pytest.param({"tree": {}}, "tree is without a root", id="no node"),
    pytest.param(changed("nodes", 3), "cluster.nodes is unknown, .*Known: tree, marks, at", id="a strange section"),
    pytest.param(changed("tree.west.memry", 3), "tree.west.memry is unknown, .*Did you mean memory", id="misspelt"),
    pytest.param(changed("tree.west.parent", "cty"), "tree.west.parent is 'cty', .*Did you mean city", id="no parent"),
    pytest.param(changed("tree.west.parent", None), "with the roots city, west", id="two roots"),
    pytest.param(changed("tree.city.parent", "west"), "tree is without a root", id="no root"),
    pytest.param(changed("tree.west.parent", "west"), "never reaches the root city", id="a node below itself"),
    pytest.param(changed("tree.west.memory", None), "tree.west.memory is missing, but all nodes", id="no capacity"),
    pytest.param(changed("tree.west.memory", 0), "tree.west.memory is 0, .*above 0", id="nothing"),
    pytest.param(changed("tree.west.memory", -3), "tree.west.memory is -3, .*above 0", id="less than nothing"),
    pytest.param(changed("tree.west.memory", 5e-324), "above 0", id="as good as nothing"),
    pytest.param(
        changed("tree.west.memory", "1e400"),
        "tree.west.memory is inf, .*at most 1e[+]300",
        id="more than any number",
    ),
    pytest.param(changed("tree.", {"parent": "city", "memory": 1}), "1 to 128 characters", id="no name"),
    pytest.param(changed("tree.a\nb", {"parent": "city", "memory": 1}), "printable", id="a name of two lines"),
    pytest.param({"tree": {1: {"memory": 1}, "1": {"memory": 1}}}, "'1' twice, .*as text", id="a number and its text"),
    pytest.param(changed("tree.west.memory", "much"), "tree.west.memory is 'much'", id="no number"),
    pytest.param(changed("tree.west.cpu", 1), "tree.city.cpu is missing", id="a resource that others lack"),
    pytest.param(
        changed("tree.west.sources", ["b"]),
        "sources is 'b', but it already enters at west",
        id="a source that enters twice",
    ),
    pytest.param(changed("at.mean", "cty"), "at.mean is 'cty', but no node.*Did you mean city", id="no such node"),
    pytest.param(changed("marks.least", 0.9), "marks is inconsistent, but least is 0.9", id="nothing is worth it"),
    pytest.param(changed("marks.upper", 60), "must rise from 0 to 1", id="percent"),
    pytest.param(changed("marks.lower", 0.9), "marks is inconsistent, but lower and upper are 0.9", id="marks fall"),
    pytest.param(changed("tree", [1]), "tree is a list of 1", id="a list of nodes"),
    pytest.param(changed("at", [1]), "at is a list of 1", id="a list of places"),
    pytest.param(changed("marks", "x"), "marks is 'x'", id="a word for thresholds"),
    pytest.param([1], "cluster is a list of 1", id="a list"),
    pytest.param(None, "cluster is empty", id="nothing at all"),
    pytest.param(
        {
            "tree": {"root": {"memory": 1}}
            | {name: {"parent": up, "memory": 1} for name, up in ("ab", "bc", "cd", "da")}
        },
        "through b and c and d it never reaches the root root",
        id="a long cycle",
    ),
    pytest.param(
        {"tree": {"root": {"memory": 0}, "a": {"parent": "b", "memory": 1}}, "at": {"x": "y"}},
        "tree.a.parent is 'b', .*at.x is 'y', .*tree.root.memory is 0",
        id="several faults",
    ),
    pytest.param({"tree": {"a": {}}}, "tree.a.memory is missing", id="no resource"),
    pytest.param(
        changed("tree.north", {"parent": "city", "memory": 1, "sources": ["d", "a"]}),
        "tree.north.sources is 'a', but it already enters at west",
        id="its second source enters twice",
    ),
]


@pytest.mark.parametrize(("given", "words"), FAULTS)
def test_faults_name_the_field_and_the_way_out(given: Any, words: str) -> None:  # Any: what people write
    with pytest.raises(DroverError, match=words):
        cluster_of(given)


def test_the_words_of_all_faults() -> None:
    found = ""
    for case in FAULTS:
        with pytest.raises(DroverError) as caught:
            cluster_of(case.values[0])  # type: ignore[arg-type]  # what people write
        found += f"{case.id}: {caught.value}\n"
    assert agrees("tree.faults.txt", found)


@pytest.mark.parametrize("size", [1e-9, 1e300])
def test_the_least_and_the_largest_capacity(size: float) -> None:
    assert cluster_of({"tree": {"only": {"memory": size}}}).capacity == ((size,),)


def test_a_tree_is_taken_as_it_is_and_cannot_be_changed() -> None:
    found = cluster_of(SOUND)
    assert cluster_of(found) is found
    with pytest.raises(TypeError):
        found.entries["d"] = 0  # type: ignore[index]  # on purpose
    with pytest.raises(TypeError):
        found.at["d"] = 0  # type: ignore[index]  # on purpose


def test_a_tree_is_written_with_what_it_says() -> None:
    assert CLUSTER.write(cluster_of(SOUND)) == {
        "tree": {
            "city": {"memory": "400.0"},
            "west": {"parent": "city", "memory": "100.0", "sources": ["a"]},
            "east": {"parent": "city", "memory": "100.0", "sources": ["b", "c"]},
        },
        "marks": {"lower": "0.3", "upper": "0.7", "margin": "0.01", "least": "0.01"},
        "at": {"mean": "city"},
    }


def test_parents_may_come_after_their_children() -> None:
    tree = {"a": {"parent": "b", "memory": 1}, "b": {"parent": "c", "memory": 2}, "c": {"memory": 3}}
    found = cluster_of({"tree": tree})
    assert found.tree.parent == (1, 2, -1)
    assert found.capacity == ((1.0,), (2.0,), (3.0,))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("\nmarks: {lower: 0.3}\n", [2], id="no tree: where the cluster begins"),
        pytest.param("tree:\n  a: {memory: 1}\n  b: {parent: c, memory: 1}\n", [3], id="where the parent is named"),
        pytest.param("tree:\n  a: {memory: 1}\nat:\n  x: b\n", [4], id="where the place is named"),
        pytest.param("tree:\n  a: {memory: 1}\nmarks:\n  lower: 0.9\n", [3], id="where the thresholds are"),
    ],
)
def test_faults_in_a_file_have_their_lines(text: str, lines: list[int]) -> None:
    root = read_document(text).root
    assert root is not None
    assert [fault.line for fault in CLUSTER.read(root).faults] == lines
