"""Rows that a run did not use: counted over batches, kept in commits, told in sentences."""

from __future__ import annotations

import polars as pl

import drover
from drover.flow.families.assignment import MemberCounts
from drover.flow.late_rows import StateFacts
from drover.flow.node import OperatorFacts
from drover.flow.router import REASON
from drover.flow.schedule import HopNode
from drover.flow.worker import NodeReport
from drover.load.sample import Sample
from drover.network.model import Network
from drover.spark.batch import BatchResult
from drover.spark.row_totals import (
    MOST_REASONS,
    DeadLetterTotals,
    RowTotals,
    late_in,
    sentences,
    to_json,
    totals_from,
)

PLACE = HopNode(0, 0)


def a_network() -> Network:
    net = drover.Builder("n")
    a, b = (net.source(name, {"ts": "timestamp"}, time="ts") for name in "ab")
    a.union("both", b).aggregate("windows", {"n": "count(*)"}, size="1 s").output()
    a.join("pairs", b, within="1 s").output()
    return net.build()


def facts(operator: str, state: StateFacts | None) -> OperatorFacts:
    return OperatorFacts(Sample(operator, {}, {}, 0.0, 0), PLACE, state=state)


def a_result(*operators: OperatorFacts, reasons: dict[str, list[str]] | None = None, queries: int = 0) -> BatchResult:
    tallies = (MemberCounts("f", 0, 0, 0, 0, 0.0, None, queries),)
    dead = {source: pl.DataFrame({REASON: texts}) for source, texts in (reasons or {}).items()}
    return BatchResult({}, dead, {}, (NodeReport(PLACE, operators, (), (), {}, tallies=tallies),))


def some_totals() -> RowTotals:
    first = a_result(
        facts("windows", StateFacts(late={"both": 2})),
        facts("pairs", StateFacts(late={"a": 1, "b": 4})),
        facts("pairs", StateFacts(late={"a": 1})),  # another instance
        facts("f", None),
        reasons={"a": ["no time", "no time", "too old"]},
        queries=7,
    )
    second = a_result(facts("windows", StateFacts(late={"both": 3})), reasons={"a": ["too old"], "a, b": ["stray"]})
    assert late_in(first) == {"pairs": 6, "windows": 2}
    return RowTotals().after(a_network(), first).after(a_network(), second)


def test_totals_add_up_over_batches() -> None:
    assert some_totals() == RowTotals(
        {"windows": {"a, b": 5}, "pairs": {"a": 2, "b": 4}},
        7,
        {"a": DeadLetterTotals(4, {"no time": 2, "too old": 2}), "a, b": DeadLetterTotals(1, {"stray": 1})},
    )


def test_totals_are_written_and_read_again() -> None:
    assert totals_from(to_json(some_totals())) == some_totals()
    assert totals_from({}) == RowTotals()


def test_a_batch_that_is_repeated_counts_the_same() -> None:
    again = a_result(reasons={"a": ["too old", "no time", "too old"]})
    other = a_result(reasons={"a": ["no time", "too old", "too old"]})
    made = [to_json(RowTotals().after(a_network(), result)) for result in (again, other)]
    assert made[0] == made[1]
    assert RowTotals().after(a_network(), again).dead["a"].reason == "too old"


def test_reasons_do_not_grow_without_limit() -> None:
    many = [f"{number:03}" for number in range(100)] + ["common"] * 2
    found = RowTotals().after(a_network(), a_result(reasons={"a": many})).dead["a"]
    assert (found.rows, found.reason, len(found.reasons)) == (102, "common", MOST_REASONS)


def test_totals_in_words() -> None:
    assert list(sentences(some_totals())) == [
        "4 dead letters of a: no time (2 of them).",
        "1 dead letter of a, b: stray.",
        "6 rows came too late for operator pairs: 2 of a, 4 of b.",
        "5 rows came too late for operator windows: 5 of a, b.",
        "7 rows came too late for submitted queries.",
    ]
    assert list(sentences(RowTotals())) == []
