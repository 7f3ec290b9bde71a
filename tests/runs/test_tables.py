"""The tables of a run file: where they are, and what is shown of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from drover import runs
from drover.errors import FileError
from drover.runs.model import TableAddress
from drover.runs.tables import absolute_uri
from tests.runs.test_runs import SOUND, write

NETWORK = """\
drover: 1
name: calls
sources:
  calls: {columns: {ts: timestamp, number: string, seconds: int}, time: ts}
  bills: {columns: {number: string, cents: int}}
tables:
  names: {columns: {number: string, name: string}, key: number}
operators:
  named: {kind: table_read, input: calls, from: names, on: number, columns: name}
outputs: [named, bills]
"""


def test_tables_have_addresses(tmp_path: Path) -> None:
    text = SOUND + "tables: {names: 'postgresql://me:hush@host/db#The names'}\n"
    run = runs.load(write(tmp_path, text, NETWORK))
    assert run.tables == (TableAddress("names", "postgresql://me:hush@host/db#The names"),)
    assert "hush" not in repr(run)


@pytest.mark.parametrize(
    ("uri", "absolute"),
    [
        pytest.param("sqlite:data/a.db#t", "sqlite:///the%20folder/data/a.db#t", id="from the folder of the file"),
        pytest.param("sqlite:///data/a.db", "sqlite:///data/a.db", id="absolute"),
        pytest.param("postgresql://host/db", "postgresql://host/db", id="no path"),
    ],
)
def test_paths_are_made_absolute(uri: str, absolute: str) -> None:
    assert absolute_uri(uri, Path("/the folder")) == absolute


@pytest.mark.parametrize(
    ("tables", "fault"),
    [
        pytest.param(
            "{nmaes: 'sqlite:a.db'}",
            "line 6: tables.nmaes is unknown, but the network has no such table. Did you mean names? Known: names.",
            id="a table that the network does not have",
        ),
        pytest.param(
            "{names: 'mysql://me:hush@host/db'}",
            "line 6: tables.names is 'mysql://me:***@host/db', but must start with sqlite:// or postgresql:// or "
            "postgres://. Write for example sqlite:///path/to/file.db.",
            id="another database",
        ),
        pytest.param(
            "{names: 'sqlite://data/a.db'}",
            "line 6: tables.names is 'sqlite://data/a.db', but SQLite needs the absolute path of a file. "
            "Write three slashes before the first folder: sqlite:///path/to/file.db.",
            id="two slashes",
        ),
        pytest.param(
            "{names: 'sqlite:a.db#s.t'}",
            "line 6: tables.names is 'sqlite:a.db#s.t', but SQLite has no schemas, such as 's'. Leave it out.",
            id="a schema",
        ),
        pytest.param(
            "{names: [a]}",
            "line 6: tables.names is a list of 1, but it must be the address of a table. "
            "Write for example sqlite:plant.db.",
            id="a list",
        ),
        pytest.param(
            "here.db",
            "line 6: tables is 'here.db', but it must be a mapping of tables to their addresses. "
            "Write for example {meters: sqlite:plant.db}.",
            id="no mapping",
        ),
    ],
)
def test_faults_show_no_password(tmp_path: Path, tables: str, fault: str) -> None:
    with pytest.raises(FileError) as caught:
        runs.load(write(tmp_path, f"{SOUND}tables: {tables}\n", NETWORK))
    assert str(caught.value).splitlines()[1:] == [f"  {fault}"]


def test_a_network_without_tables_takes_no_address(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"tables.names is unknown, but the network has no such table\. Leave it out\."):
        runs.load(write(tmp_path, f"{SOUND}tables: {{names: 'sqlite:a.db'}}\n"))
