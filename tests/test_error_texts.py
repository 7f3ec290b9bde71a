"""The texts of errors that people meet first, as a golden file: field, value, rule and way out.

Run with DROVER_UPDATE=1 to write tests/golden/errors.txt again, and read the difference before you commit it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest
from pyspark.sql.types import IntegerType, LongType, StructField, StructType, TimestampType

import drover
from drover.control.failing import FailurePolicy
from drover.errors import DroverError
from drover.flow.parking import ParkedOperator
from drover.flow.tables.address import addresses, parse_address
from drover.flow.tables.internal import prepare_tables
from drover.load.files import loads as read_statistics
from drover.network.compare import compare
from drover.network.expressions import parse_aggregate, parse_predicate
from drover.network.files.network_file import dumps, loads
from drover.network.model import Network
from drover.network.queries.notation import entries_of
from drover.network.types import BIGINT, BOOLEAN, TIMESTAMP
from drover.runs import load
from drover.spark.attempts import Attempts
from drover.spark.changes import NetworkChange, check_change
from drover.spark.endpoint import _document
from drover.spark.run_identity import RunIdentity
from drover.spark.sink_folders import ExistingRows, SinkFolder, check_folders
from drover.spark.sinks import Files
from drover.spark.sources import read_sources
from drover.spark.worker_python import check_workers
from tests.cli.golden import GOLDEN, agrees
from tests.spark.test_worker_python import spark_on

COLUMNS: Final = {"ts": TIMESTAMP, "Name": BIGINT, "n": BIGINT, "b": BOOLEAN}
RUN: Final = RunIdentity("a" * 32)
OTHER: Final = "b" * 32


def small(size: str = "1 min", where: str = "n > 1", kind: str = "bigint", source: str = "rows") -> Network:
    """Return a network with a filter and a window."""
    net = drover.Builder("small")
    rows = net.source(source, {"ts": "timestamp", "n": kind}, time="ts")
    rows.filter("some", where).aggregate("counts", {"x": "count(*)"}, size=size).output()
    return net.build()


def with_table() -> Network:
    """Return a network that only reads a table."""
    net = drover.Builder("lookups")
    rows = net.source("rows", {"ts": "timestamp", "n": "bigint"}, time="ts")
    table = net.table("meters", {"n": "bigint", "place": "string"}, key="n")
    rows.read_table("found", table, on="n", columns="place").output()
    return net.build()


def read_missing_table(folder: Path, **given: str) -> None:
    network = with_table()
    prepare_tables(network, addresses(network, {name: parse_address(uri) for name, uri in given.items()}, str(folder)))


def reach_bound(_folder: Path) -> None:
    parked = {"score": ParkedOperator("ValueError: a tag is missing", holds=True, since=3, rows=9, bytes=2_000_000)}
    attempts = Attempts(small(), "", cast("Any", None), cast("Any", None), FailurePolicy(hold_bytes=1_000_000))
    attempts.check_bound(parked)


def use_folder(folder: Path, *names: str, existing: ExistingRows = ExistingRows.REFUSE) -> None:
    for name in names:
        (folder / name).touch()
    check_folders([SinkFolder(folder, existing)], RUN, -1)


def change_network(_folder: Path, after: Network, begun: int | None = None, command: str | None = None) -> None:
    before = small()
    change = NetworkChange(before, after, compare(before, after, frozenset({"counts"})), begun)
    check_change("/data/checkpoint", change, False, command)


def run_file(folder: Path, sinks: str) -> None:
    (folder / "small.yaml").write_text(dumps(small()), encoding="utf-8")
    text = f"run: 1\nnetwork: small.yaml\nsources: {{rows: {{read: json, path: in}}}}\nsinks: {sinks}\n"
    (folder / "run.yaml").write_text(text, encoding="utf-8")
    load(folder / "run.yaml")


def network_file(operator: str) -> None:
    columns = "{ts: timestamp, Name: bigint, n: bigint, b: boolean}"
    text = f"drover: 1\nname: n\nsources:\n  rows: {{columns: {columns}, time: ts}}\n"
    loads(f"{text}operators:\n  out: {{{operator}}}\noutputs: [out]\n")


def table_file(*tables: str) -> None:
    declared = "".join(f"  {name}: {{columns: {{n: bigint}}, key: n}}\n" for name in tables)
    text = "drover: 1\nname: n\nsources: {rows: {columns: {n: bigint}}}\n"
    loads(f"{text}tables:\n{declared}outputs: [rows]\n")


def submit_twice(_folder: Path) -> None:
    (entry,) = entries_of('{"name": "q", "name": "r"}', "x.jsonl")
    raise DroverError("\n".join(map(str, entry.faults)))


def request_twice(_folder: Path) -> None:
    try:
        _document(b'{"mode": "auto", "mode": "observe"}')
    except Exception as refused:
        raise DroverError(str(refused)) from refused


def frame_of(kind: Any, *, streaming: bool) -> Any:  # Any: a DataFrame as far as it is asked
    """Return something like a DataFrame of the source `rows`."""
    schema = StructType([StructField("ts", TimestampType()), StructField("n", kind)])
    session = SimpleNamespace(conf=SimpleNamespace(get=lambda _: "UTC"))
    return SimpleNamespace(isStreaming=streaming, schema=schema, sparkSession=session)


def give_source(frame: Any, network: Network | None = None) -> None:  # Any: as above
    read_sources(network or small(), {"rows": frame})


# By what a person did. Each makes the error, with an empty folder at hand.
ERRORS: Final[Mapping[str, Callable[[Path], object]]] = {
    "a table that is only read has no address": read_missing_table,
    "a table that is only read is not in its database": lambda folder: read_missing_table(
        folder, meters="sqlite:///no-such-folder/plant.db"
    ),
    "tables differ in case alone": lambda _: table_file("meters", "Meters"),
    "a table is called as SQLite calls its own": lambda _: table_file("sqlite_meters"),
    "a parked operator holds more than it may": reach_bound,
    "a sink folder has rows of another run": lambda folder: use_folder(
        folder, "000000000000.parquet", f"_drover-run-{OTHER}"
    ),
    "a sink folder has rows of nobody": lambda folder: use_folder(folder, "000000000000.parquet"),
    "a sink folder belongs to another run": lambda folder: use_folder(folder, f"_drover-run-{OTHER}"),
    "a sink folder has other files": lambda folder: use_folder(folder, "mine.csv", existing=ExistingRows.OVERWRITE),
    "a network has changed what has state": lambda folder: change_network(folder, small(size="2 min")),
    "a network has changed what has state, by command": lambda folder: change_network(
        folder, small(size="2 min"), command="drover run small.run.yaml"
    ),
    "a network has changed in the middle of a batch": lambda folder: change_network(folder, small(where="n > 2"), 7),
    "a network has other sources": lambda folder: change_network(folder, small(source="others")),
    "a sink is given as a URI": lambda _: Files("s3a://bucket/out"),
    "a sink is given as a URI in a run file": lambda folder: run_file(
        folder, "{counts: {write: json, path: 's3a://bucket/out'}}"
    ),
    "- TRUE": lambda _: parse_predicate("- TRUE", COLUMNS),
    "a key twice in a query": submit_twice,
    "a key twice in a request": request_twice,
    "a key twice in a file": lambda _: network_file("kind: filter, input: rows, where: n > 1, where: n > 2"),
    "select: ts": lambda _: network_file("kind: map, input: rows, select: ts"),
    "ts > '2024-01-01'": lambda _: parse_predicate("ts > '2024-01-01'", COLUMNS),
    "an unknown aggregate": lambda _: parse_aggregate("median(n)", COLUMNS),
    "no aggregate": lambda _: parse_aggregate("n + 1", COLUMNS),
    "the case of a column": lambda _: parse_predicate("name = 1", COLUMNS),
    "the case of a column in group_by": lambda _: network_file(
        "kind: aggregate, input: rows, size: 1 s, group_by: name, compute: {x: count(*)}"
    ),
    "a DataFrame with bigint for int": lambda _: give_source(frame_of(LongType(), streaming=True), small(kind="int")),
    "a DataFrame with int for bigint": lambda _: give_source(frame_of(IntegerType(), streaming=True)),
    "a batch DataFrame as a source": lambda _: give_source(frame_of(LongType(), streaming=False)),
    "workers without drover": lambda _: check_workers(spark_on("local[2]", "/bin/false")),  # a program, but no Python
    "executors without drover": lambda _: check_workers(
        spark_on("spark://host:7077", "python3", RuntimeError("No module named 'drover'"))
    ),
    "a rate beyond use": lambda _: read_statistics("statistics: 1\nrates: {rows: 1e308}", small()),
}


def text_of(name: str, folder: Path) -> str:
    """Return the text of an error, without what differs between machines."""
    folder.mkdir()
    with pytest.raises(DroverError) as caught:
        ERRORS[name](folder)
    text = str(caught.value).replace(str(folder), "FOLDER").replace(sys.executable, "PYTHON")
    return "".join(f"    {line}\n" for line in text.splitlines())


def test_the_texts_are_as_somebody_has_read_them(tmp_path: Path) -> None:
    found = [f"{name}\n{text_of(name, tmp_path / str(number))}" for number, name in enumerate(ERRORS)]
    assert agrees("errors.txt", "\n".join(found))


def test_every_text_says_what_to_do(tmp_path: Path) -> None:
    for number, name in enumerate(ERRORS):
        text = text_of(name, tmp_path / str(number))
        assert text.rstrip().endswith((".", "?", ")")), text
        assert len(text.split()) > 12, text
        assert "Traceback" not in text


def test_the_golden_file_has_an_entry_for_each(tmp_path: Path) -> None:
    lines = (GOLDEN / "errors.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line and not line.startswith(" ")] == list(ERRORS)
    assert not list(tmp_path.iterdir())
