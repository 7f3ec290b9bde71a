"""Metrics of queries: rates over the window, state as of the last batch, and weights by family."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from drover.flow.families.topics import ALL, TopicCounts
from drover.spark.queries.metrics import EVERY, LEAST_RATE, MANY, STEP, WINDOW, QueryMetrics, is_measured
from tests.spark.queries.catalogs import counts


def test_figures_are_rates_and_the_latest_state() -> None:
    metrics = QueryMetrics()
    assert metrics.figures().is_empty()
    metrics.record(2.0, 0.3, [counts("f", rows_in=[5, 7], state_bytes=[90, 40])])
    metrics.record(2.0, 0.4, [counts("f", rows_in=[1, 1], state_bytes=[50, 60])])
    assert metrics.figures().select("number", "rows_in", "state_bytes").rows() == [(0, 1.5, 50), (1, 2.0, 60)]
    assert metrics.lag == 0.4


def test_only_the_last_measured_batches_count() -> None:
    metrics = QueryMetrics()
    metrics.record(1.0, 0.1, [counts("f", rows_in=[1_000])])
    for _ in range(WINDOW):
        metrics.record(1.0, 0.1, [counts("f", rows_in=[4])])
    assert metrics.figures()["rows_in"].to_list() == [4.0]


def test_a_batch_that_was_not_measured_only_updates_the_lag() -> None:
    metrics = QueryMetrics()
    metrics.record(1.0, 0.7, [])
    assert metrics.lag == 0.7
    assert metrics.summary(metrics.figures(), 1.0) is None


def test_the_summary_has_bytes_and_busy_seconds_per_second() -> None:
    metrics = QueryMetrics()
    metrics.record(2.0, 0.1, [counts("f", busy=0.5, rows_in=[1])], batch=3, sent={"readings": 100})
    metrics.record(2.0, 0.1, [counts("f", busy=0.1, rows_in=[1])], batch=4, sent={"readings": 300})
    found = metrics.summary(metrics.figures(), 1.25)
    assert found is not None
    assert (found.batch, found.seconds, found.replication) == (4, 4.0, 1.25)
    assert found.sent == {"readings": 100.0}
    assert found.busy == pytest.approx((0.15,))


def topic(values: list[str | None], rows: list[int], *, column: str = "`site`", size: int = 100) -> TopicCounts:
    """Counts of a node on which the stream had twice these rows, of 50 bytes each."""
    table = pl.DataFrame({"value": values, "rows": rows}, schema={"value": pl.String, "rows": pl.Int64})
    return TopicCounts("readings", column, size // 50, size, table.to_arrow())


def test_the_rates_of_topics_are_bytes_per_second_of_any_node_that_reads_them() -> None:
    metrics = QueryMetrics()
    assert metrics.topics() == ()
    here = replace(counts("f", rows_in=[1]), topics=(topic(["s1", "s2"], [6, 0], size=500),))
    there = replace(counts("g", rows_in=[1]), topics=(topic(["s1"], [6]), topic([None], [10], column=ALL)))
    metrics.record(2.0, 0.1, [here, there])
    metrics.record(1.0, 0.1, [replace(here, topics=(topic(["s1", "s2"], [3, 0]),))])
    everything, by_site = metrics.topics()
    assert (everything.stream, everything.column) == ("readings", ALL)
    assert everything.table.rows() == [(None, pytest.approx(10 / 2 * 50))]
    assert by_site.table.rows() == [
        ("s1", pytest.approx(9 / 3 * 50)),
        ("s2", pytest.approx(LEAST_RATE * 50)),
    ]
    summary = metrics.summary(metrics.figures(), 1.0)
    assert summary is not None
    assert [(one.stream, one.column) for one in summary.topics] == [("readings", ALL), ("readings", "`site`")]


def test_weights_are_relative_to_the_mean_cost_of_a_query() -> None:
    metrics = QueryMetrics()
    assert metrics.weights() == {}
    metrics.record(1.0, 0.1, [counts("dear", busy=0.6, rows_in=[0, 0]), counts("cheap", busy=0.2, rows_in=[0, 0])])
    assert metrics.weights() == pytest.approx({"dear": 1.5, "cheap": 0.5})


@pytest.mark.parametrize(
    ("batch", "members", "measured"),
    [
        (1, MANY, True),
        (1, MANY + 1, False),
        (EVERY, MANY + 1, True),
        (EVERY, STEP, True),
        (EVERY, STEP + 1, False),
        (2 * EVERY, STEP + 1, True),
    ],
)
def test_with_many_queries_few_batches_are_measured(batch: int, members: int, measured: bool) -> None:
    assert is_measured(batch, members) is measured


def test_measurements_of_many_queries_are_kept_for_fewer_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drover.spark.queries.metrics.MOST_ROWS", 6)
    metrics = QueryMetrics()
    found = [metrics.newest]
    means = []
    for batch, rows in enumerate([2, 2, 2, 3, 9]):
        metrics.record(1.0, 0.1, [counts("f", rows_in=[batch] * rows)], batch=batch)
        found.append(metrics.newest)
        means.append(metrics.figures()["rows_in"][0])
    assert found == [None, 0, 1, 2, 3, 4]
    assert means == [0, 0.5, 1, 2.5, 4]  # of batches 0; 0 and 1; 0 to 2; 2 and 3; 4 alone
