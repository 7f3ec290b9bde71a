"""Trees of nodes in run files: reading, writing, and faults that name the way out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from drover.errors import DroverError
from drover.hierarchy.cluster import CLUSTER, cluster_of

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


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param("tree", "cluster is 'tree', but it must be a mapping with a tree", id="only a word"),
        pytest.param({}, "cluster.tree is missing", id="no tree"),
        pytest.param({"tree": {}}, "tree is without a root", id="no node"),
        pytest.param(changed("nodes", 3), "cluster.nodes is unknown, .*Known: tree, marks, at", id="a strange section"),
        pytest.param(changed("tree.west.memry", 3), "tree.west.memry is unknown, .*Did you mean memory", id="misspelt"),
        pytest.param(
            changed("tree.west.parent", "cty"), "tree.west.parent is 'cty', .*Did you mean city", id="no parent"
        ),
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
        pytest.param(
            {"tree": {1: {"memory": 1}, "1": {"memory": 1}}}, "'1' twice, .*as text", id="a number and its text"
        ),
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
        pytest.param(
            changed("marks.lower", 0.9), "marks is inconsistent, but lower and upper are 0.9", id="marks fall"
        ),
    ],
)
def test_faults_name_the_field_and_the_way_out(given: Any, words: str) -> None:  # Any: what people write
    with pytest.raises(DroverError, match=words):
        cluster_of(given)
