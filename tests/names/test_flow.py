"""Whatever a network, its parts and its queries are called, its rows are the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from numpy.random import default_rng

from drover.control.tenants import limits_of
from drover.flow.tables.address import addresses
from drover.flow.tables.internal import prepare_tables
from drover.network.drawing import svg, tree
from drover.network.files.network_file import dumps, loads
from drover.network.queries import Shapes
from drover.placement.plan import round_robin
from drover.spark.queries.admission import admit, entry_for
from tests.flow.families.family_harness import FamilyHarness
from tests.flow.harness import Batch, Harness
from tests.flow.oracle import assert_same_rows
from tests.names.dealing import deals
from tests.names.network import (
    OUTPUTS,
    PLAIN,
    QUERY_NAMES,
    Naming,
    named_network,
    named_queries,
    named_tables,
    plain_batches,
    renamed_batch,
    with_plain_columns,
)
from tests.names.words import NOTABLE, allowed

QUICK = 6  # networks; all of them take a minute
FOLDER = "checkpoint"
TWINS = Naming({"few": "latest", "every": "Latest", "made": "LATEST", "sums": "lATEST", "q_kept": "latesT"})


def run(name: Naming, folder: Path) -> dict[str, pl.DataFrame]:
    """Run a network with two queries on a checkpoint, with restarts; return the rows of outputs and queries."""
    network = named_network(name)
    harness = FamilyHarness(network, folder / FOLDER, default_rng(0))
    members = [harness.submit(query, node) for node, query in enumerate(named_queries(name))]
    for batch in plain_batches():
        harness.run(renamed_batch(batch, network, name), round_robin(network, 2))
    assert (harness.failures, harness.parked) == ([], [])
    outputs = {plain: harness.output(name.stream(plain)) for plain in OUTPUTS}
    return outputs | {plain: harness.gave(one) for plain, one in zip(QUERY_NAMES, members, strict=True)}


def run_tables(name: Naming, folder: Path, batches: Sequence[Batch] = ()) -> pl.DataFrame:
    """Run the network with a table in a database; return the rows with what they found in it."""
    network = named_tables(name)
    folder.mkdir(exist_ok=True)
    where = addresses(network, {}, str(folder))
    prepare_tables(network, where, new_id="1")
    harness = Harness(network, where)
    for batch in batches or plain_batches():
        rows = renamed_batch({"first": batch["first"]}, network, name)
        harness.run(rows, round_robin(network, 2))
    assert harness.failures == []
    return harness.output(name("found"))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    found = run(PLAIN, tmp_path_factory.mktemp("plain"))
    assert [plain for plain, rows in found.items() if not rows.height] == []
    return found


@pytest.fixture(scope="module")
def expected_tables(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    found = run_tables(PLAIN, tmp_path_factory.mktemp("plain") / "tables")
    assert found["c_amount"].drop_nulls().len() > 10
    return found


def check(name: Naming, folder: Path, expected: dict[str, pl.DataFrame], tables: pl.DataFrame) -> None:
    """Demand that a network under these names can be written, drawn and run, with the same rows."""
    network = named_network(name)
    assert loads(dumps(network)) == network
    assert list(tree(network))
    assert svg(network)
    entries = (entry_for(one, index) for index, one in enumerate(named_queries(name)))
    admitted = admit(enumerate(entries), Shapes(network), (), {}, limits_of({}))
    assert [one.faults for one in admitted.refused] == []
    found = run(name, folder)
    for plain, rows in expected.items():
        assert_same_rows(with_plain_columns(found[plain], rows), rows)
    assert_same_rows(with_plain_columns(run_tables(name, folder / "tables"), tables), tables)


def test_every_name_is_dealt() -> None:
    used = {word for name in deals() for word in name.names.values()}
    assert used == set(allowed())
    assert set(NOTABLE) <= used
    assert len(deals()) < 120


@pytest.mark.parametrize("number", range(QUICK))
def test_names_change_nothing(
    number: int, tmp_path: Path, expected: dict[str, pl.DataFrame], expected_tables: pl.DataFrame
) -> None:
    check(deals()[number], tmp_path, expected, expected_tables)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(QUICK, len(deals())))
def test_no_name_changes_anything(
    number: int, tmp_path: Path, expected: dict[str, pl.DataFrame], expected_tables: pl.DataFrame
) -> None:
    check(deals()[number], tmp_path, expected, expected_tables)


@pytest.mark.parametrize("table", ["rowid", "main", "temp", "excluded", "s", "c0", "table", "select", "T" * 128])
def test_a_table_and_its_columns_may_have_words_of_the_database(
    table: str, tmp_path: Path, expected_tables: pl.DataFrame
) -> None:
    columns = {"c_time": "rowid", "c_key": "_rowid_", "c_amount": "oid", "m_key": "c0", "c_tag": "excluded"}
    found = run_tables(Naming({"newest": table, **columns}), tmp_path / "tables")
    assert_same_rows(with_plain_columns(found, expected_tables), expected_tables)


def test_streams_may_differ_in_their_case_alone(
    tmp_path: Path, expected: dict[str, pl.DataFrame], expected_tables: pl.DataFrame
) -> None:
    check(TWINS, tmp_path, expected, expected_tables)
