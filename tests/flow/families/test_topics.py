"""Topics are counted as rows travel: by key, by stream, and whatever the other conditions of queries drop."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from numpy.random import default_rng

from drover.flow.families.topics import ALL, ROWS, VALUE, TopicCounts, count_topics
from drover.network.model import Network
from drover.network.operators import Filter, Union
from drover.network.parts import Source
from drover.network.queries import Query
from drover.placement.plan import Plan
from tests.flow.families.family_harness import FamilyHarness
from tests.flow.families.test_fan_out import ROWS as GIVEN
from tests.flow.families.test_interest import family
from tests.flow.families.test_runner import COLUMNS, readings


def rows_of(counts: TopicCounts) -> dict[object, int]:
    return dict(pl.DataFrame(counts.table).select(VALUE, ROWS).iter_rows())


def test_rows_that_another_condition_drops_have_travelled_all_the_same() -> None:
    _, local = family(0, "source = 'a' AND k IS NULL", "source = 'none' AND k IS NULL")
    (stream,) = local.shape.reads
    (found,) = count_topics(local.shape, {stream: GIVEN}, local, {})
    assert rows_of(found) == {"a": 2, "none": 0}
    assert (found.stream, found.rows) == (stream, 4)
    assert found.bytes == GIVEN.estimated_size()


def test_without_a_key_the_topic_is_the_stream() -> None:
    _, local = family(0, "x > 1", "x > 2")
    (stream,) = local.shape.reads
    (found,) = count_topics(local.shape, {stream: GIVEN}, local, {})
    assert (found.column, rows_of(found)) == (ALL, {None: 4})


@pytest.mark.parametrize("condition", ["source = 'a' AND x > 0", "x > 0"])
def test_a_batch_without_rows_counts_as_such(condition: str) -> None:
    _, local = family(0, condition)
    (found,) = count_topics(local.shape, {}, local, {})
    assert (list(rows_of(found).values()), found.rows, found.bytes) == ([0], 0, 0)


def test_a_query_of_several_streams_has_a_topic_in_each(tmp_path: Path) -> None:
    net = Network(
        "net", tuple(Source(name, COLUMNS, "ts") for name in ("readings", "alarms")), (), ("readings", "alarms")
    )
    both = Query(
        "both",
        "tenant",
        (
            Filter(name="mine", input="readings", where="source = 'a' AND value > 1"),
            Filter(name="loud", input="alarms", where="value > 0"),
            Union(name="all", streams=("mine", "loud")),
        ),
        "all",
    )
    harness = FamilyHarness(net, tmp_path, default_rng(0), trouble=0.0)
    harness.submit(both)
    given = readings((1, "a", 2.0), (1, "a", 0.5), (2, "b", 3.0))
    more = readings((1, "c", 2.0), (2, "d", 3.0))["readings"]
    harness.run({**given, "alarms": more}, Plan(1, 1, {}))
    (counts,) = harness.tallies
    found = {one.stream: rows_of(one) for one in counts.topics}
    assert found == {"readings": {"a": 2}, "alarms": {None: 2}}
