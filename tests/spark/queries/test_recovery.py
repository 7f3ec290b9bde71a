"""Recovery of a catalog: what the checkpoint has is there again, and queries that no longer fit are parked."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl

import drover
from drover.flow.state.commits import Checkpoint
from drover.flow.state.versions import Version
from drover.network.model import Network
from drover.network.queries import Shapes
from drover.network.schema import Column
from drover.network.types import STRING
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.recovery import NOTES, OTHER_COLUMNS, misfits, recover_catalog
from tests.spark.meters import meters
from tests.spark.queries.catalogs import begin, nodes_of, opened, queries


def committed(batch: int, **failed: str) -> Checkpoint:
    return Checkpoint(Version(batch), {NOTES: {"turn": batch, "failed": failed}})


def test_committed_and_pending_queries_are_recovered(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 1))
    placed = nodes_of(begin(catalog, 0).families)
    catalog.submit(queries(2))
    catalog.drop(["q0"])
    found = recover_catalog(str(tmp_path), committed(0), Shapes(meters()))
    assert found.query_log.members["name"].to_list() == ["q0", "q1"]
    assert nodes_of(found.families) == placed
    assert [one.change.serial for one in found.pending] == [2, 3]
    assert sorted(found.names.by_name) == ["q1", "q2"]
    assert (found.last_serial, found.next_number, found.begun) == (3, 3, None)


def test_a_begun_batch_has_its_manifest_and_its_nodes(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 1))
    placed = nodes_of(begin(catalog, 0).families)
    found = recover_catalog(str(tmp_path), Checkpoint(), Shapes(meters()))
    assert found.begun is not None
    assert found.query_log.members.is_empty()
    assert {f"q{number}": node for number, node in found.nodes.iter_rows()} == placed


def test_queries_that_no_longer_fit_the_network_are_to_be_parked(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 1))  # q1 reads `hot`
    begin(catalog, 0)
    net = drover.Builder("meters")
    columns = {"ts": "timestamp", "site": "string", "value": "double", "n": "bigint"}
    net.source("readings", columns, time="ts", lateness="1 s").filter("cold", "value < 5").output()
    found = recover_catalog(str(tmp_path), committed(0, **{"0": "it divides"}), Shapes(net.build()))
    assert found.failed[0] == "it divides"
    assert found.failed[1].startswith("it no longer fits the network: operators.mine.input is 'hot'")


def other_meters(extra: str | None) -> Network:
    """The network of `meters`, perhaps with one more column in its source."""
    before = meters()
    (source, *others) = before.sources
    columns = (*source.columns, *([Column(extra, STRING)] if extra is not None else []))
    return replace(before, sources=(replace(source, columns=columns), *others))


def test_queries_whose_streams_have_other_columns_are_parked_and_never_change_their_family(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 1))
    begin(catalog, 0)
    catalog.submit(queries(2))
    assert misfits(str(tmp_path), committed(0), other_meters(None)) == {}
    found = misfits(str(tmp_path), committed(0), other_meters("more"))
    assert found == {f"q{number}": OTHER_COLUMNS for number in range(3)}
    other = QueryCatalog(other_meters("more"), str(tmp_path), {})
    other.open(committed(0), 2)
    start = other.begin(1, 2, again=False)
    assert start.families.by_id == {}
    assert start.query_log.members["parked"].to_list() == [OTHER_COLUMNS] * 3
    assert other.drop(["q0", "q2"]) == ("q0", "q2")
    other.submit(queries(0))
    assert nodes_of(other.begin(2, 2, again=False).families).keys() == {"q0"}


def test_queries_whose_stream_is_gone_are_parked_also_while_they_wait(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0))
    begin(catalog, 0)
    catalog.submit(queries(1))  # reads `hot`
    net = drover.Builder("meters")
    columns = {column.name: column.type for column in meters().sources[0].columns}
    net.source("readings", columns, time="ts", lateness="1 s").filter("cold", "value < 5").output()
    assert list(misfits(str(tmp_path), committed(0), net.build())) == ["q1"]
    other = QueryCatalog(net.build(), str(tmp_path), {})
    other.open(committed(0), 2)
    start = other.begin(1, 2, again=False)
    assert nodes_of(start.families).keys() == {"q0"}
    (reason,) = start.query_log.members.filter(pl.col("name") == "q1")["parked"]
    assert reason.startswith("it no longer fits the network: operators.mine.input is 'hot'")


def test_a_checkpoint_of_an_older_release_is_continued(tmp_path: Path) -> None:
    """Written when the files were first called wishes and turns; batch 1 was its last committed batch."""
    shutil.copytree(Path(__file__).with_name("older_checkpoint"), tmp_path, dirs_exist_ok=True)
    stored = {file.name for file in (tmp_path / "families").iterdir()}
    found = recover_catalog(str(tmp_path), committed(1), Shapes(meters()))
    assert found.failed == {}
    assert set(found.families.by_id) == set(found.query_log.live["family"])
    assert [one.change.added["name"].to_list() for one in found.pending] == [["later"]]
    catalog = opened(tmp_path, 1, {"turn": 1, "failed": {}})
    replayed = begin(catalog, 2, again=True)
    assert sorted(nodes_of(replayed.families)) == sorted({f"q{n}" for n in range(12)} - {"q1"} | {"late"})
    assert {file.name for file in (tmp_path / "families").iterdir()} == stored  # the same tables, under the same ids
    assert "later" in nodes_of(begin(catalog, 3).families)
