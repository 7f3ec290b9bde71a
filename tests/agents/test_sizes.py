"""Operator sizes in a file that another program writes: faults are reported and change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.agents.sizes import read_sizes
from drover.hierarchy.layout import parse_layout

LAYOUT = parse_layout(
    "tree: 1\nnodes: {east: {memory: 50, cpu: 1}}\noperators: {mean: {entries: [east], at: east}, "
    "alarm: {inputs: [mean], at: east}}\n"
)


def test_sizes_are_read_and_what_is_not_said_of_an_operator_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "sizes").write_text('{"alarm": {"memory": 3, "cpu": 0.5}, "mean": {"memory": 1e2}}')
    assert read_sizes(str(tmp_path / "sizes"), LAYOUT) == ({1: (3.0, 0.5), 0: (100.0, 0.0)}, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("[]", "must be an object", id="a list"),
        pytest.param("{", "must be JSON", id="being written"),
        pytest.param("[" * 100_000, "must be JSON", id="deep"),
        pytest.param("\0", "must be JSON", id="no text"),
        pytest.param(
            '{"men": {"memory": 3}}',
            "for 'men': the tree has no operator of that name. Did you mean mean",
            id="misspelt",
        ),
        pytest.param('{"mean": {"memry": 3}}', "has no memory or cpu", id="a resource misspelt"),
        pytest.param('{"mean": 3}', "'mean': it is 3, but must be an object", id="a number"),
        pytest.param(
            '{"mean": {"memory": -1}}', "memory is -1, but must be a number from 0 to 1e[+]300", id="negative"
        ),
        pytest.param('{"mean": {"memory": NaN}}', "must be JSON .NaN is not a JSON number", id="NaN"),
        pytest.param('{"mean": {"memory": true}}', "memory is True", id="a truth"),
        pytest.param('{"mean": {"memory": 1' + "0" * 400 + "}}", r"memory is 10+\.\.\.", id="more than a float has"),
        pytest.param('{"mean": {"memory": 1' + "0" * 9000 + "}}", "must be JSON", id="more than is read"),
        pytest.param('{"mean": {"memory": 1e308}}', "memory is 1e[+]308", id="no two of which add up"),
    ],
)
def test_faults_are_said_and_change_nothing(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "sizes").write_text(text)
    sizes, faults = read_sizes(str(tmp_path / "sizes"), LAYOUT)
    assert sizes == {}
    with pytest.raises(AssertionError, match=words):
        raise AssertionError("; ".join(faults))


def test_one_fault_leaves_the_other_operators_their_sizes(tmp_path: Path) -> None:
    (tmp_path / "sizes").write_text('{"mean": {"memory": -1}, "alarm": {"memory": 2}}')
    sizes, faults = read_sizes(str(tmp_path / "sizes"), LAYOUT)
    assert (sizes, len(faults)) == ({1: (2.0, 0.0)}, 1)


def test_no_file_is_a_fault_like_others(tmp_path: Path) -> None:
    sizes, faults = read_sizes(str(tmp_path / "none"), LAYOUT)
    assert sizes == {}
    assert "No such file" in faults[0]


@given(data=st.binary(max_size=60))
def test_no_bytes_end_an_agent(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("sizes") / "sizes"
    path.write_bytes(data)
    sizes, faults = read_sizes(str(path), LAYOUT)
    assert sizes == {}
    assert faults or data.strip() == b"{}"
