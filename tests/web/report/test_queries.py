"""Submitted queries in the report: from the query log, the last commit and the metrics, some of them damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from pyarrow.fs import LocalFileSystem

from drover.control.tenants import limits_of
from drover.flow.query_log.figures import FIGURES, Figures, write_figures
from drover.flow.state.commits import Checkpoint, commit
from drover.flow.state.documents import Commit
from drover.flow.state.segments import Segment
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.recovery import NOTES
from drover.web.report import build_report, read_run, render_page, summary_data, summary_sentences
from drover.web.report.page import LIMITS, SECTIONS
from tests.web.parsed import Node, parse
from tests.web.report.test_page import HOSTILE
from tests.web.sample_run import checkpoint, traffic


def lost(name: str, status: int, tenant: str = "web") -> dict[str, object]:
    """A query with state: pages per hour."""
    where = {"kind": "filter", "input": "requests", "where": f"status = {status}"}
    hours = {"kind": "aggregate", "input": "f", "size": "1 h", "compute": {"n": "count(*)"}}
    return {"name": name, "tenant": tenant, "operators": {"f": where, "h": hours}}


def large(name: str, least: int) -> dict[str, object]:
    """A query without state."""
    where = {"kind": "filter", "input": "east", "where": f"bytes > {least}"}
    return {"name": name, "tenant": "net", "operators": {"f": where}}


def submitted(folder: Path) -> Path:
    """A run with 4 live queries, 3 parked ones (one of them known from the commit alone), and one that waits."""
    root = checkpoint(folder)
    fs = LocalFileSystem()
    catalog = QueryCatalog(traffic(), str(root), limits_of({}))
    catalog.open(Checkpoint(), 3)
    catalog.submit([lost("a", 404), lost("b", 404), lost("c", 500), large("d", 7), large("e", 8), large("f", 9)])
    catalog.submit([lost("g", 501)])
    catalog.begin(0, 3, again=False)
    done = commit(fs, str(root), Checkpoint(), Commit(0, notes={NOTES: {"turn": 0, "failed": {}}}))
    for name, node in {"a": 0, "b": 2, "c": 0}.items():
        catalog.move(name, node)
    catalog.park({4: HOSTILE, 5: "it divides"})
    catalog.begin(1, 3, again=False)
    owner = catalog.query_log.members.filter(name="a")["family"][0]
    added = [
        Segment(f"{owner}.h@{node}", "rows", "000-x.arrow", 0, size, 0, 10 * size, None, replace=False)
        for node, size in {0: 3_000, 2: 4_000}.items()
    ]
    commit(fs, str(root), done, Commit(1, tuple(added), notes={NOTES: {"turn": 1, "failed": {"6": "it fails"}}}))
    catalog.submit([large("h", 10)])
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return submitted(tmp_path_factory.mktemp("submitted"))


def tables(found: Node) -> dict[str, list[list[str]]]:
    """The rows of each table, by the first word of its caption."""
    return {
        next(table.all("caption")).text.split()[0].strip(":"): [
            [cell.text for cell in row.all("th", "td")] for row in list(table.all("tr"))[1:]
        ]
        for table in found.all("table")
    }


def test_queries_are_counted(root: Path) -> None:
    report = build_report(read_run(root))
    assert report.missing == ()
    said = "8 queries of 2 tenants: 4 live in 2 families, 1 waiting for a first batch, 3 parked."
    assert summary_sentences(report)[-1] == f"Submitted: {said}"
    found = parse(render_page(report))
    assert [node.text for node in found.all("h2")] == ["Summary", *SECTIONS, "Queries"]
    assert said in [node.text for node in found.all("p")]
    assert "There are no metrics of queries yet" in found.text
    assert summary_data(report)["queries"] == {
        "queries": 8,
        "live": 4,
        "waiting": 1,
        "parked": 3,
        "families": 2,
        "tenants": 2,
        "measured": None,
    }


def test_families_and_queries_are_sorted_heaviest_first(root: Path) -> None:
    found = tables(parse(render_page(build_report(read_run(root)))))
    (first, second) = found["Families"]
    assert first[1:] == ["3", "2", "7 kB", "70,000"]
    assert second[1:] == ["1", "1", "0 bytes", "0"]
    heaviest = [[row[0], row[1], row[2], row[3], row[5]] for row in found["Live"]]
    assert heaviest[:3] == [
        ["b", "web", "2", "0", "4 kB"],
        ["a", "web", "0", "0", "1.5 kB"],
        ["c", "web", "0", "0", "1.5 kB"],
    ]
    assert [heaviest[3][0], heaviest[3][4]] == ["d", "0 bytes"]


def test_a_topic_on_two_nodes_is_replicated(root: Path) -> None:
    found = tables(parse(render_page(build_report(read_run(root)))))
    # 404 goes to nodes 0 and 2, 500 to one; a comparison needs all rows of a stream.
    assert found["Replication"] == [["east", "1", "1", "1", "1"], ["requests", "3", "2", "1.5", "2"]]


def test_parked_queries_have_reasons_that_stay_texts(root: Path) -> None:
    found = parse(render_page(build_report(read_run(root))))
    parked = tables(found)["Parked"]
    shown = HOSTILE.replace("\u202e", "\\u202e").replace("\x1b", "\\x1b")
    assert [[row[0], row[3]] for row in parked] == [["g", "it fails"], ["f", "it divides"], ["e", shown]]
    assert list(found.all("script", "img")) == []


def test_metrics_that_cannot_be_computed_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = submitted(tmp_path)
    monkeypatch.setattr("drover.web.report.queries.MOST_PARSED", 3)
    report = build_report(read_run(root))
    assert report.missing == ("replication of queries: 4 queries are too many to parse for a report",)
    assert "Replication" not in tables(parse(render_page(report)))
    (root / "network.yaml").unlink()
    assert "replication of queries: it needs the network file" in build_report(read_run(root)).missing
    (root / "queries" / "turn-000000000001.arrow").write_text("nonsense", encoding="utf-8")
    report = build_report(read_run(root))
    assert any(each.startswith("queries: ") for each in report.missing)
    assert [node.text for node in parse(render_page(report)).all("h2")] == ["Summary", *SECTIONS]


def test_the_last_metrics_are_shown(tmp_path: Path) -> None:
    root = submitted(tmp_path)
    fs = LocalFileSystem()
    rows = [
        (0, 4.0, 2.0, 0.001, 7, 90),
        (2, 8.0, 0.5, 0.02, 9, 110),
        (3, 1.0, 1.0, 0.003, 0, 0),
        (99, 5.0, 5.0, 5.0, 5, 5),
    ]
    taken = pl.DataFrame(rows, schema=FIGURES, orient="row")
    write_figures(fs, str(root), Figures(1, 12.5, 1.25, {"requests": 2_500.0, "east": 40.0}, (0.004, 0.02), taken))
    report = build_report(read_run(root))
    assert report.missing == ()
    measured = summary_data(report)["queries"]["measured"]
    assert measured == {
        "batch": 1,
        "seconds": 12.5,
        "replication": 1.25,
        "bytes_per_second": {"requests": 2500.0, "east": 40.0},
        "busy": [0.004, 0.02],
    }
    page_ = parse(render_page(report))
    assert (
        "over 12.5 s of batches, up to batch 1. At these rates, a row that some query reads goes to 1.25" in page_.text
    )
    found = tables(page_)
    assert found["Sent"] == [["east", "40 bytes"], ["requests", "2.5 kB"]]
    assert found["Work"] == [["node 0", "4"], ["node 1", "20"]]
    assert [row[1:2] + row[5:] for row in found["Families"]] == [["3", "12", "2.5", "21"], ["1", "1", "1", "3"]]
    # Query b was not measured, and query 99 is gone.
    assert [[row[0], *row[5:]] for row in found["Live"]] == [
        ["c", "1.5 kB", "8", "0.5", "20"],
        ["d", "0 bytes", "1", "1", "3"],
        ["a", "1.5 kB", "4", "2", "1"],
        ["b", "4 kB", "-", "-", "-"],
    ]


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda _: b"", lambda data: data.replace(b"busy", b"busi")])
def test_damaged_metrics_are_named_and_the_rest_is_shown(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    root = submitted(tmp_path)
    fs = LocalFileSystem()
    write_figures(fs, str(root), Figures(1, 12.5, 1.25, {}, (), pl.DataFrame(schema=FIGURES)))
    path = root / "queries" / "figures.arrow"
    path.write_bytes(damage(path.read_bytes()))
    report = build_report(read_run(root))
    assert [each.partition(":")[0] for each in report.missing] == ["query metrics"]
    assert summary_data(report)["queries"]["live"] == 4
    assert summary_data(report)["queries"]["measured"] is None


def test_long_tables_are_cut_and_say_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("families", "queries", "parked"):
        monkeypatch.setitem(LIMITS, name, 1)
    text = parse(render_page(build_report(read_run(root)))).text
    assert "1 row not shown: those with the least state." in text
    assert "3 rows not shown: those with the least state." in text
    assert "2 rows not shown: the oldest." in text
