"""Members on a node: positions by number, and groups by constants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.flow.families.local_members import MOST_VARIANTS, LocalMembers, make_local_members
from drover.flow.families.members import make_members
from drover.network.queries import Shaped, shape_of
from tests.network.queries.cases import NETWORK, filtering


def shaped(source: str, least: float) -> Shaped:
    return shape_of(filtering(f"source = '{source}' AND x > {least}"), NETWORK)


def members(numbers: list[int], nodes: list[int], sources: list[str]) -> LocalMembers:
    """The members on node 0 of a family."""
    constants = [shaped(source, 1.5).constants for source in sources]
    shape = shaped("a", 1.5).shape
    return make_local_members(shape, make_members(shape, numbers, [f"q{n}" for n in numbers], nodes, constants), 0)


def test_only_members_of_the_node_are_here_sorted_by_number() -> None:
    local = members([7, 3, 5], [0, 1, 0], ["a", "b", "c"])
    assert local.numbers.tolist() == [5, 7]
    assert local.names.to_list() == ["q5", "q7"]
    assert local.constants.rows() == [("c", 1.5), ("a", 1.5)]


@given(numbers=st.sets(st.integers(0, 50) | st.integers(10**6, 10**6 + 3), max_size=12))
def test_positions_are_found_among_dense_and_sparse_numbers(numbers: set[int]) -> None:
    here = sorted(numbers)
    local = members(here, [0] * len(here), ["a"] * len(here))
    asked = np.array([*range(52), 10**6, 10**6 + 2, 10**7])
    expected = [here.index(number) if number in numbers else -1 for number in asked.tolist()]
    assert local.positions(asked).tolist() == expected


def test_members_with_equal_constants_are_one_group() -> None:
    local = members([0, 1, 2], [0, 0, 0], ["a", "b", "a"])
    (key, *_) = [local.shape.key_of("events")]
    assert key is not None
    lookup = local.lookup((key,))
    assert lookup.groups == 2
    assert lookup.group.tolist() == [0, 1, 0]
    assert lookup.values["k0"].to_list() == ["a", "b"]


@pytest.mark.parametrize("positions", [[], [0, 2]])
def test_some_of_the_members(positions: list[int]) -> None:
    some = members([4, 5, 6], [0, 0, 0], ["a", "b", "c"]).take(np.array(positions, dtype=np.int64))
    assert some.numbers.tolist() == [4 + position for position in positions]
    assert len(some) == len(positions)


def test_variants_are_members_with_the_same_bits() -> None:
    shape = shaped("a", 1.5).shape
    constants = [("a", 0.0), ("b", -0.0), ("a", 0.0)]
    table = make_members(shape, range(3), ["q0", "q1", "q2"], [0] * 3, constants)
    local = make_local_members(shape, table, 0)
    variants = local.variants((1,))
    assert variants is not None
    assert [variant.members.tolist() for variant in variants] == [[0, 2], [1]]
    assert len({variant.key for variant in variants}) == 2


def test_many_variants_are_none() -> None:
    count = MOST_VARIANTS + 1
    local = members(list(range(count)), [0] * count, [f"s{number}" for number in range(count)])
    assert local.variants((0,)) is None
    assert [variant.members.tolist() for variant in local.variants(()) or ()] == [list(range(count))]
