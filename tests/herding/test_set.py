"""Bit sets, hash tables of counts, and tournaments, against sets, dictionaries and argmin of Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.herding.set_kernels import (
    EMPTY,
    bit_count,
    build_tournament,
    clear_bit,
    compiled,
    count_down,
    count_of,
    count_up,
    lowest_bit,
    rehash,
    set_bit,
    update_tournament,
)

WORDS = 3
PLACES = 16  # of a table: so few that keys collide


@compiled
def lowest(word: np.uint64) -> int:
    """The intrinsic functions exist only in compiled code."""
    return lowest_bit(word)


@compiled
def count_bits(word: np.uint64) -> int:
    return bit_count(word)


@given(changes=st.lists(st.tuples(st.booleans(), st.integers(0, 64 * WORDS - 1))))
def test_bits_are_a_set(changes: list[tuple[bool, int]]) -> None:
    row = np.zeros(WORDS, dtype=np.uint64)
    expected = set[int]()
    for add, j in changes:
        (set_bit if add else clear_bit)(row, j)
        (expected.add if add else expected.discard)(j)
    members = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
    assert members.tolist() == sorted(expected)


@pytest.mark.parametrize("word", [1, 2, 0b101000, 2**63, 2**64 - 1])
def test_the_bits_of_a_word(word: int) -> None:
    assert int(lowest(np.uint64(word))) == (word & -word).bit_length() - 1
    assert int(count_bits(np.uint64(word))) == word.bit_count()


@given(changes=st.lists(st.tuples(st.booleans(), st.integers(0, 11)), max_size=60))
def test_counts_are_a_counter(changes: list[tuple[bool, int]]) -> None:
    keys = np.full(PLACES, EMPTY)
    counts = np.zeros(PLACES, dtype=np.int64)
    expected = Counter[int]()
    for up, key in changes:
        if up:
            expected[key] += 1
            assert count_up(keys, counts, key) == expected[key]
        elif expected[key]:
            expected[key] -= 1
            assert count_down(keys, counts, key) == expected[key]
        assert [count_of(keys, counts, each) for each in range(12)] == [expected[each] for each in range(12)]
    assert np.count_nonzero(keys != EMPTY) == len(+expected), "a key without a count leaves the table"


def test_a_table_of_another_size_has_the_same_counts() -> None:
    keys = np.full(PLACES, EMPTY)
    counts = np.zeros(PLACES, dtype=np.int64)
    for key in (3, 3, 19, 35, 7):
        count_up(keys, counts, key)
    new_keys = np.full(4 * PLACES, EMPTY)
    new_counts = np.zeros(4 * PLACES, dtype=np.int64)
    rehash(keys, counts, new_keys, new_counts)
    assert [count_of(new_keys, new_counts, key) for key in (3, 7, 19, 35, 4)] == [2, 1, 1, 1, 0]


@given(
    loads=st.lists(st.integers(0, 3), min_size=1, max_size=9),
    changes=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 3)), max_size=10),
)
def test_a_tournament_finds_the_least_relative_load(loads: list[int], changes: list[tuple[int, int]]) -> None:
    load = np.array(loads, dtype=np.float64)
    capacity = np.where(np.arange(len(loads)) % 3 == 2, 2.0, 1.0)
    tree = np.zeros(2 * (1 << max(len(loads) - 1, 1).bit_length()), dtype=np.int64)
    build_tournament(tree, load, capacity)
    assert tree[1] == (load / capacity).argmin()
    for j, value in changes:
        if j < len(load):
            load[j] = value
            update_tournament(tree, load, capacity, j)
            assert tree[1] == (load / capacity).argmin()


def test_a_place_without_capacity_never_wins() -> None:
    tree = np.zeros(4, dtype=np.int64)
    build_tournament(tree, np.array([0.0, 5.0]), np.array([0.0, 1.0]))
    assert tree[1] == 1
