"""Names of queries: which ones a drop selects, and how tenants are counted."""

from __future__ import annotations

import pytest

from drover.errors import DroverError
from drover.spark.queries.names import MOST_LISTED, QueryNames


@pytest.fixture
def names() -> QueryNames:
    made = QueryNames()
    made.add([("a1", 0, "a"), ("a2", 1, "a"), ("b1", 2, "b")])
    return made


def test_a_removed_name_is_free_and_not_counted(names: QueryNames) -> None:
    names.remove(["a1"])
    assert names.counts == {"a": 1, "b": 1}
    with pytest.raises(DroverError, match="there is no query 'a1'"):
        names.number_of("a1")
    names.add([("a1", 7, "b")])
    assert names.number_of("a1") == 7


@pytest.mark.parametrize(
    ("given", "tenant", "every", "chosen"),
    [
        pytest.param(["b1", "a1"], None, False, ["b1", "a1"], id="named, in their order"),
        pytest.param(["a1", "a1"], None, False, ["a1"], id="named twice"),
        pytest.param(["a1"], "a", False, ["a1"], id="named, of the tenant"),
        pytest.param([], None, True, ["a1", "a2", "b1"], id="all"),
        pytest.param([], "b", True, ["b1"], id="all of a tenant"),
        pytest.param([], "c", True, [], id="all of a tenant without queries"),
    ],
)
def test_selection(names: QueryNames, given: list[str], tenant: str | None, every: bool, chosen: list[str]) -> None:
    assert names.select(given, tenant, every=every) == chosen


def test_an_error_lists_a_few_unknown_names(names: QueryNames) -> None:
    unknown = [f"x{number}" for number in range(MOST_LISTED + 1)]
    with pytest.raises(DroverError, match=f"'x{MOST_LISTED - 1}', \\.\\.\\., so nothing is dropped"):
        names.select(unknown, None, every=False)
