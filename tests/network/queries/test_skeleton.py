"""The compiled scan: it cuts literals as `normalize` does, and texts that it may misread have no skeleton."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.network.queries.normalize import normalize
from drover.network.queries.skeleton_kernels import INT, LONG, whole_numbers
from drover.network.queries.skeletons import LETTERS, marks_of, scan
from tests.network.queries.texts import LITERALS, as_text, query_text, text_batches

BEFORE = '{"name":"\x05","operators":{"mine":{"kind":"filter","input":"events","where":"'
AFTER = '"},"counts":{"kind":"aggregate","input":"mine","size":"\x01 s","compute":{"n":"count(*)"}}}}'


@pytest.mark.parametrize(
    ("where", "skeleton"),
    [
        pytest.param("k > 5", "k > \x01", id="int"),
        pytest.param("k > 5000000000", "k > \x02", id="bigint"),
        pytest.param("x > .5e3 or x < 1.", "x > \x03 or x < \x03", id="doubles"),
        pytest.param("source = 'b c'", "source = \x04", id="string"),
        pytest.param("source = ''", "source = \x04", id="empty string"),
        pytest.param("`k 1` = k1", "`k 1` = k1", id="digits of a name"),
        pytest.param("k in (1,2)", "k in (\x01,\x01)", id="neighbours"),
    ],
)
def test_literals_become_marks(where: str, skeleton: str) -> None:
    (found,) = scan(pl.Series([as_text(query_text("q", where))])).skeletons
    assert found == BEFORE + skeleton + AFTER


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("a = 'it''s'", id="a quote in a string"),
        pytest.param("a = 'it", id="an open string"),
        pytest.param("`a = 1", id="an open name"),
        pytest.param("k > 5 -- five", id="a comment"),
        pytest.param("k > 5 /* five */", id="another comment"),
        pytest.param("a = x'00'", id="a binary literal"),
        pytest.param("k > 10L", id="a suffix"),
        pytest.param("k > 5e", id="half a number"),
        pytest.param("k > 2147483648", id="the edge of int"),
        pytest.param("k > 9223372036854775808", id="the edge of bigint"),
        pytest.param("k > 0000000000000000000001", id="many digits"),
        pytest.param('a = "b"', id="double quotes"),
        pytest.param("a = 'ß'", id="not ASCII"),
        pytest.param("a = 'b{}'", id="braces in a string"),
        pytest.param("a[0] = 1", id="brackets"),
        pytest.param("a = '\x7f'", id="a control character"),
        pytest.param("a = $1", id="a parameter"),
    ],
)
def test_an_unclear_text_has_no_skeleton(where: str) -> None:
    sound = as_text(query_text("q", "k > 1"))
    found = scan(pl.Series([sound, as_text(query_text("q", where)), None, sound]))
    assert [bool(skeleton) for skeleton in found.skeletons] == [True, False, False, True]
    assert found.holes_of(0) == found.holes_of(3) == ["q", "1", "5"]


@given(queries=text_batches(), more=LITERALS)
def test_literals_are_cut_as_one_by_one(queries: list[dict[str, Any]], more: str) -> None:
    queries = [*queries, query_text("last", f"k = 1 and source = {more}")]
    found = scan(pl.Series([as_text(query) for query in queries]))
    for number, (query, skeleton) in enumerate(zip(queries, found.skeletons, strict=True)):
        if not skeleton:
            continue
        holes = found.holes_of(number)
        marks = marks_of(skeleton)
        assert _filled(skeleton, holes) == as_text(query)
        expected = normalize(query["operators"]["mine"]["where"])
        if expected is not None and not set("DTN") & {mark[0] for mark in expected[0].split("#")[1:]}:
            cut = [hole for hole, mark in zip(holes, marks, strict=True) if mark in LETTERS]
            assert cut[:-1] == [text for text, _ in expected[1]]  # the last one is the size of the window
            assert "".join(LETTERS[mark] for mark in marks if mark in LETTERS)[:-1] == "".join(
                mark[0] for mark in expected[0].split("#")[1:]
            )


def _filled(skeleton: str, holes: list[str]) -> str:
    left = iter(holes)
    return "".join(next(left) if character < " " else character for character in skeleton)


@given(numbers=st.lists(st.integers(0, 10**18 - 1), min_size=1))
def test_whole_numbers_are_read_exactly(numbers: list[int]) -> None:
    text = ",".join(map(str, numbers))
    ends = np.cumsum([len(str(number)) + 1 for number in numbers])
    starts = np.concatenate([[0], ends[:-1]])
    data = np.frombuffer(text.encode(), np.uint8)
    assert whole_numbers(data, starts, ends - 1).tolist() == numbers
    assert {LETTERS[chr(INT)], LETTERS[chr(LONG)]} == {"i", "l"}
