"""Scanned texts: holes and their values, as columns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.network.queries.normalize import normalize
from drover.network.queries.skeletons import LETTERS, marks_of, scan
from tests.network.queries.texts import LITERALS, as_text, query_text

MARKS = {letter: mark for mark, letter in LETTERS.items()}


@given(literals=st.lists(LITERALS, min_size=1, max_size=20))
def test_values_are_those_of_the_normalized_text(literals: list[str]) -> None:
    found = scan(pl.Series([as_text(query_text("q", f"x = {literal}")) for literal in literals]))
    for number, literal in enumerate(literals):
        expected = normalize(f"x = {literal}")
        marks = marks_of(found.skeletons[number])
        if len(marks) != 3 or expected is None or len(expected[1]) != 1 or marks[1] != MARKS.get(expected[0][-1]):
            continue
        (value,) = found.values(marks[1], found.first[[number]] + 1)
        assert (type(value), value) == (type(expected[1][0][1]), expected[1][0][1])


@given(number=st.floats(0, allow_nan=False, allow_infinity=False) | st.decimals(0, 10**30, places=25).map(float))
def test_doubles_are_read_to_the_last_bit(number: float) -> None:
    found = scan(pl.Series([as_text(query_text("q", f"x = {number:.25e}"))]))
    assert found.values(MARKS["d"], found.first + 1)[0] == float(f"{number:.25e}")


def test_a_number_beyond_doubles_is_infinite() -> None:
    found = scan(pl.Series([as_text(query_text("q", "x = 1e999"))]))
    assert np.isinf(found.values(MARKS["d"], found.first + 1)[0])


@pytest.mark.parametrize("cut", [slice(0, 0), slice(2, 5), slice(0, 6)])
def test_a_slice_of_texts_is_scanned_like_texts_of_their_own(cut: slice) -> None:
    texts = [as_text(query_text(f"q{number}", f"k > {number}")) for number in range(6)]
    sliced = scan(pl.Series(texts, dtype=pl.String).slice(cut.start, cut.stop - cut.start))
    assert [sliced.holes_of(number) for number in range(len(texts[cut]))] == [
        [f"q{number}", str(number), "5"] for number in range(6)[cut]
    ]
    assert sliced.lengths(np.arange(len(texts[cut])), 3).tolist() == [4] * len(texts[cut])
