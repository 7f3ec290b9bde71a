"""Texts of queries, sound and hostile, that differ in their literals or in a few characters."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

# What may stand where a literal is expected, in an expression of a query on `NETWORK`.
LITERALS = st.one_of(
    st.integers(0, 2**64).map(str),
    st.sampled_from(["0", "007", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "9" * 30]),
    st.floats(0, allow_nan=False).map(repr),
    st.sampled_from(
        ["1.", ".5", "1e5", "1E-3", "1e999", "5e", "10L", "1.5.5", "1..2", "NaN", "-0", "- 3", "-2.5", "+1"]
    ),
    st.text("ab _-/*\\'\"`$#;{}[]é\u2028\t0", max_size=6).map(lambda text: f"'{text}'"),
    st.sampled_from(
        ["''", "'it''s'", "x'00'", "DATE '2024-02-29'", "DATE '2024-02-30'", "NULL", "TRUE", "k", "'a' 'b'"]
    ),
    st.sampled_from(
        ["TIMESTAMP '2024-02-29 01:02:03'", "5 -- five", "5 /* five */", "(5)", "`k`", "1_000", "0x1F", "$1"]
    ),
)
WHERE = (
    "k > {}",
    "x > {} AND source = {}",
    "source IN ({}, {})",
    "repeat(source, {}) = {}",
    "lpad(source, {}, '0') = {}",
    "k + {} > {}",
    "x > -{}",
    "source LIKE {}",
    "big BETWEEN {} AND {}",
    "substring(source, {}, 2) = {}",
    "k = {} OR `k` = {}",
)


@st.composite
def text_batches(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Queries of one or two patterns, most of them with literals of their own."""
    patterns = draw(st.lists(st.sampled_from(WHERE), min_size=1, max_size=2))
    usual = draw(st.sampled_from(["5", "2.5", "'a'", "3000000000"]))
    made = []
    for number in range(draw(st.integers(8, 24))):
        pattern = patterns[number % len(patterns)]
        literals = [usual if draw(st.booleans()) else draw(LITERALS) for _ in range(pattern.count("{}"))]
        size = draw(st.sampled_from(["5 s", "5 s", "5 s", "6 s", "-1 s", "0 s"]))
        made.append(query_text(draw(NAMES) or f"q{number}", pattern.format(*literals), size, draw(st.booleans())))
    return made


NAMES = st.sampled_from([None] * 12 + ["q1", "a b", "", "ß", "Q-1", "9", "events", "x" * 129])


def query_text(name: str, where: str, size: str = "5 s", has_tenant: bool = False) -> dict[str, Any]:
    """A filter and a window on the events of `NETWORK`."""
    operators = {
        "mine": {"kind": "filter", "input": "events", "where": where},
        "counts": {"kind": "aggregate", "input": "mine", "size": size, "compute": {"n": "count(*)"}},
    }
    return {"name": name, **({"tenant": "acme"} if has_tenant else {}), "operators": operators}


def as_text(query: dict[str, Any]) -> str:
    return json.dumps(query, ensure_ascii=False, separators=(",", ":"))
