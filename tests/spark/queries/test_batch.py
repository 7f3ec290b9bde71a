"""The queries of one batch: what tasks get, what the commit records, and what the progress shows."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from drover.flow.families.assignment import ParkedMember
from drover.flow.schedule import HopNode, make_schedule
from drover.flow.state.commits import Checkpoint
from drover.flow.state.versions import Version
from drover.flow.watermarks import SourceProgress
from drover.flow.worker import NodeReport
from drover.placement.plan import Plan
from drover.spark.batch import BatchResult
from drover.spark.facts import QueryFacts
from drover.spark.queries.batch import (
    LONGEST_REASON,
    BatchQueries,
    arrivals,
    failures,
    make_batch_queries,
    results_of,
)
from drover.spark.queries.catalog import QueryCatalog
from tests.spark.meters import meters
from tests.spark.queries.catalogs import begin, counts, nodes_of, opened, queries


def queries_of(catalog: QueryCatalog, batch: int) -> BatchQueries:
    schedule = make_schedule(meters(), Plan(1, 2, {"hot": 0}))
    return make_batch_queries(begin(catalog, batch), batch, meters(), schedule, SourceProgress())


def result(*parked: ParkedMember, **rows: pl.DataFrame) -> BatchResult:
    report = NodeReport(HopNode(0, 1), (), (), (), {}, tallies=(counts("f", busy=0.5, rows_in=[1]),), parked=parked)
    return BatchResult({}, {}, {}, (report,), query_results=rows)


def test_without_queries_there_is_no_trace(tmp_path: Path) -> None:
    found = queries_of(opened(tmp_path), 0)
    assert found.families is None
    assert not found.is_used
    assert found.notes(result()) == {}
    assert found.dropped(Version(0, {"f.counts@0": {"rows": None}})) == ()  # type: ignore[dict-item] # not read


def test_tasks_get_families_and_the_commit_gets_failures(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 4))
    found = queries_of(catalog, 3)
    assert found.families is not None
    assert set(found.families.member_tables) == set(found.start.families.by_id)
    assert {place.node for place in found.schedule.herds} == set(nodes_of(found.start.families).values())
    failed = ParkedMember("f", 1, "x" * 1_000)
    expected = {"turn": 3, "link": found.start.query_log.link, "failed": {"1": "x" * LONGEST_REASON}}
    assert found.notes(result(failed)) == {"queries": expected}
    assert failures(result(failed)) == {1: "x" * LONGEST_REASON}


def test_the_progress_counts_queries_and_results(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 4))
    queries_of(catalog, 0)
    catalog.park({0: "it fails"})
    given = result(ParkedMember("f", 1, "no"), a=pl.DataFrame({"n": [1, 2]}), b=pl.DataFrame({"m": [3]}))
    found = queries_of(catalog, 1)
    held = int(catalog.query_log.members.estimated_size()) + found.start.families.bytes
    assert held > len("".join(catalog.query_log.members["text"]))
    assert found.facts(given, 1.23456) == QueryFacts(
        live=1, parked=1, families=1, failed=1, rows=3, replication=1.23456, sent={}, busy=(0.5, 0.0), memory=held
    )
    assert [rows.columns for rows in results_of(given)] == [["n"], ["m"]]


def test_arrivals_name_the_old_node(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 4))
    (node, *_) = nodes_of(begin(catalog, 0).families).values()
    catalog.move("q0", 1 - node)
    (family,) = catalog.families.by_id
    assert arrivals(begin(catalog, 1)) == {(family, 1 - node): (node,)}
    assert arrivals(begin(catalog, 2)) == {}


def test_a_checkpoint_without_queries_stays_without(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    begin(catalog, 0)
    assert not (tmp_path / "queries").exists()
    assert Checkpoint().notes == {}
