from __future__ import annotations

import pytest

from drover.flow.state.layout import FileNameParts, commit_name, full_name, parse, state_name


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param(state_name(42, 3, "run1-7.0"), FileNameParts("state", 42, temporary=False), id="state"),
        pytest.param(commit_name(42), FileNameParts("commit", 42, temporary=False), id="commit"),
        pytest.param(full_name(42), FileNameParts("full", 42, temporary=False), id="full commit"),
        pytest.param(".tmp-" + commit_name(42), FileNameParts("commit", 42, temporary=True), id="not finished"),
        pytest.param(commit_name(10**13), FileNameParts("commit", 10**13, temporary=False), id="thirteen digits"),
        pytest.param("42.json", None, id="too few digits"),
        pytest.param("000000000042.json.bak", None, id="a copy of a person's"),
        pytest.param("000000000042-0-a.arrow\n", None, id="a line break"),
        pytest.param("٠٠٠٠٠٠٠٠٠٠٤٢.json", None, id="other digits"),
        pytest.param("lock", None, id="the lock"),
    ],
)
def test_what_a_name_says(name: str, said: FileNameParts | None) -> None:
    assert parse(name) == said


def test_the_first_batch_and_the_first_node_are_0() -> None:
    assert state_name(0, 0, "a") == "000000000000-0-a.arrow"


def test_names_sort_by_batch() -> None:
    assert sorted([commit_name(10), commit_name(9)]) == [commit_name(9), commit_name(10)]


@pytest.mark.parametrize(("batch", "node", "attempt"), [(-1, 0, "a"), (0, -1, "a"), (0, 0, ""), (0, 0, "a/b")])
def test_what_makes_no_name_is_refused(batch: int, node: int, attempt: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        state_name(batch, node, attempt)
