from __future__ import annotations

import pytest

from drover.network.drawing.summary import box_lines, describe_source, summary
from drover.network.functions import columns_of
from drover.network.operators import OPERATORS, Filter
from drover.network.parts import Source


@pytest.mark.parametrize(
    ("kind", "sample", "words"),
    [
        ("map", 1, "*, twice = amount * 2"),
        ("union", 0, "events, more_events"),
        ("aggregate", 1, "n = count(*), total = sum(amount) by key in 10 s every 5 s"),
        ("aggregate", 2, "n = count(*), total = sum(amount) in 10 s or 3 s after the first row"),
        ("join", 0, "key within 5 s and 2 s"),
        ("table_read", 0, "name from names by key = id"),
        ("table_write", 0, "into latest"),
        ("synthetic", 0, "1e-06 s per row, 1.5 rows for each"),
        ("synthetic", 1, "0 s and 1e-06 s of waiting per row, 1 rows for each"),
    ],
)
def test_summaries(kind: str, sample: int, words: str) -> None:
    assert summary(OPERATORS[kind].samples[sample]) == words


def test_a_summary_is_on_one_line_and_harmless() -> None:
    assert summary(Filter(name="f", input="s", where="a >\n  1 AND b = '\x1b'")) == r"a > 1 AND b = '\x1b'"


def test_a_switch_has_a_line_per_branch_in_its_box() -> None:
    assert box_lines(OPERATORS["switch"].samples[0]) == ("large: amount > 10", "medium: amount > 5", "others: the rest")


def test_a_source_shows_its_lateness() -> None:
    assert describe_source(Source("s", columns_of({"ts": "timestamp"}), "ts", 2_000_000)) == "ts, up to 2 s late"
