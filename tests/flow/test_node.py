"""Whose fault a failure is: an operator's own parks it, any other fails the batch."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import drover
from drover.errors import TableError
from drover.flow.node import Failure, is_own_fault
from drover.flow.operators.filter import RunFilter
from drover.flow.tables import Address, TableStore, prepare_tables
from drover.network.operators import Filter, KeyPair, TableRead, TableWrite, UserDefined
from drover.placement.plan import round_robin
from tests.flow.harness import Harness

FILTER = Filter(name="f", input="s", where="TRUE")
READ = TableRead(name="r", input="s", from_table="t", on=(KeyPair("k", "k"),), columns=("v",))
WRITE = TableWrite(name="w", input="s", into="t")
USER = UserDefined(name="u", input="s", function="m:f", columns=())


@pytest.mark.parametrize(
    ("operator", "error", "own"),
    [
        pytest.param(USER, ZeroDivisionError(), True, id="a user's function may raise anything"),
        pytest.param(USER, OSError(), True, id="even what looks like a disk's fault"),
        pytest.param(FILTER, pl.exceptions.ComputeError(), True, id="an expression that fails would fail again"),
        pytest.param(FILTER, pl.exceptions.PanicException(), True, id="and so would one at which Polars panics"),
        pytest.param(FILTER, OSError(), False, id="a disk's fault"),
        pytest.param(FILTER, KeyError(), False, id="a defect of drover"),
        pytest.param(READ, TableError(), False, id="a database's fault"),
        pytest.param(WRITE, TableError(), False, id="a database's fault in a write"),
        pytest.param(WRITE, pl.exceptions.ComputeError(), False, id="a table has no expressions"),
    ],
)
def test_whose_fault_it_is(operator: Filter, error: BaseException, own: bool) -> None:
    assert is_own_fault(operator, error) is own


def test_an_operator_at_which_polars_panics_is_parked_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object) -> None:
        raise pl.exceptions.PanicException("index out of bounds")

    net = drover.Builder("n")
    source = net.source("s", {"ts": "timestamp", "k": "int"}, time="ts")
    source.filter("f", "k > 0").output()
    source.map("m", {"ts": "ts", "k": "k + 1"}).output()
    harness = Harness(net.build())
    monkeypatch.setattr(RunFilter, "run", panic)
    rows = pl.DataFrame(
        {"ts": [datetime(2024, 1, 1, tzinfo=UTC)], "k": [1]}, {"ts": pl.Datetime("us", "UTC"), "k": pl.Int32()}
    )
    harness.run({"s": rows}, round_robin(harness.network, 2))
    assert harness.failures == [Failure("f", "PanicException: index out of bounds")]
    assert harness.output("m")["k"].to_list() == [2]


def test_a_database_that_is_gone_fails_the_batch_and_the_next_try_succeeds(tmp_path: Path) -> None:
    net = drover.Builder("n")
    kinds = {"ts": "timestamp", "k": "int"}
    source = net.source("s", kinds, time="ts")
    source.write_table("w", net.table("kept", kinds, key="k"))
    source.read_table("r", net.table("names", {"k": "int", "name": "string"}, key="k"), on="k", columns="name").output()
    network = net.build()
    tables = {name: Address(f"sqlite://{tmp_path}/t.db") for name in ("kept", "names")}
    TableStore(network.tables[1], tables["names"]).prepare(written=True)
    prepare_tables(network, tables)
    harness = Harness(network, tables)
    batch = {
        "s": pl.DataFrame(
            {"ts": [datetime(2024, 1, 1, tzinfo=UTC)], "k": [1]}, {"ts": pl.Datetime("us", "UTC"), "k": pl.Int32()}
        )
    }
    (tmp_path / "t.db").rename(tmp_path / "away.db")
    with pytest.raises(TableError, match="no such table"):
        harness.run(batch, round_robin(network, 2))
    assert harness.failures == []
    (tmp_path / "away.db").rename(tmp_path / "t.db")
    harness.run(batch, round_robin(network, 2))
    assert harness.output("r")["name"].to_list() == [None]
