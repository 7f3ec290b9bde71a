"""The database of tables without an address: `tables.db` in the checkpoint, and whether it is the right one.

Rule 1: the file has a random id and the last batch that wrote to it, its mark. Every commit repeats the mark, so a file
that is deleted, emptied or exchanged is noticed at the next start.
Rule 2: the file gets its mark before the commit does. So the file may be ahead of the last commit, by the batch that
was not committed, and is never behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from drover.errors import StateError, TableError
from drover.flow.tables.address import Address, touched
from drover.flow.tables.dialect import literal, quote
from drover.flow.tables.sqlite import SQLite
from drover.flow.tables.store import TableStore
from drover.network.model import Network

MARK: Final = quote("drover mark")  # no table of a network has a space in its name
UNWRITTEN: Final = -1  # the batch of a database that no batch has written to


@dataclass(frozen=True, slots=True)
class TablesMark:
    """Which database it is, and the last batch that wrote to it."""

    id: str
    batch: int = UNWRITTEN

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the mark as a commit has it."""
        return {"id": self.id, "batch": self.batch}


def mark_from(noted: Mapping[str, Any] | None) -> TablesMark | None:  # Any: JSON
    """Return the mark in a commit; None if no run on the checkpoint had tables in it."""
    return None if noted is None else TablesMark(noted["id"], noted["batch"])


def prepare_tables(
    network: Network,
    addresses: Mapping[str, Address],
    noted: TablesMark | None = None,
    committed: int = UNWRITTEN,
    *,
    new_id: str = "",
) -> TablesMark | None:
    """Check every table that operators use, create those that are written and missing; return the mark of `tables.db`.

    `noted` is the mark in the last commit, which is of batch `committed`. Without a table in `tables.db`, it is kept. A
    database that no commit knows gets `new_id`, which must be random.
    """
    inside = {table: address for table, address in addresses.items() if address.internal}
    if noted is not None and inside:
        _check_mark(inside, noted, committed)
    declared = {table.name: table for table in network.tables}
    # Tables that are only read come first: a run that is refused because one is missing has created nothing.
    for name, written in sorted(touched(network).items(), key=lambda item: item[1]):
        TableStore(declared[name], addresses[name]).prepare(written=written)
    if not inside:
        return noted
    return noted or _make_mark(next(iter(inside.values())), new_id)


def mark_written(
    mark: TablesMark | None, network: Network, addresses: Mapping[str, Address], batch: int, ran: Collection[str]
) -> TablesMark | None:
    """Mark `tables.db` with a batch, if one of the operators that had rows (`ran`) writes to it; return the new mark.

    Call this after the operators of a batch have run, and before the commit.
    """
    writes = (operator for operator in network.operators if operator.writes_table and operator.name in ran)
    places = [addresses[operator.table] for operator in writes if operator.table is not None]
    address = next((place for place in places if place.internal), None)
    if mark is None or address is None:
        return mark
    with _marking(address) as cursor:
        cursor.executescript(f"UPDATE {MARK} SET batch = max(batch, {batch})")
    return replace(mark, batch=batch)


def _make_mark(address: Address, new_id: str) -> TablesMark:
    """Give a database that no commit knows a new mark; an old one would be of another checkpoint, or of no commit."""
    mark = TablesMark(new_id)
    with _marking(address) as cursor:
        for statement in (
            "BEGIN IMMEDIATE",
            f"DROP TABLE IF EXISTS {MARK}",
            f"CREATE TABLE {MARK} (id TEXT, batch INTEGER)",
            f"INSERT INTO {MARK} VALUES ({literal(mark.id)}, {mark.batch})",
            "COMMIT",
        ):
            cursor.executescript(statement)
    return mark


@contextmanager
def _marking(address: Address) -> Iterator[Any]:  # Any: adbc has no types
    """Open the database to change its mark; a failure names the file."""
    import adbc_driver_manager  # noqa: PLC0415 - only networks with tables need it

    try:
        with SQLite().connect(address) as connection, connection.cursor() as cursor:
            yield cursor
    except (adbc_driver_manager.Error, OSError) as error:
        raise TableError(
            f"{address.path} cannot be marked: {str(error).partition(chr(10))[0]}. "
            "Correct this and start again: the batch will be repeated."
        ) from error


def _check_mark(inside: Mapping[str, Address], noted: TablesMark, committed: int) -> None:
    address = next(iter(inside.values()))
    found = _found(address)
    if isinstance(found, TablesMark):
        if found.id == noted.id and noted.batch <= found.batch <= committed + 1:
            return
        actual = f"a database of batch {found.batch}" if found.id == noted.id else "the database of another run"
    else:
        actual = found
    tables = ", ".join(f"{table}: sqlite:///path/to/file.db" for table in inside)
    raise StateError(
        address.path,
        f"the tables {', '.join(inside)} as of batch {noted.batch}" if noted.batch >= 0 else "the tables of this run",
        actual,
        "Restore it from the copy of the checkpoint that has the same commits, or continue with tables in another "
        f"database: tables: {{{tables}}}.",
    )


def _found(address: Address) -> TablesMark | str:
    """Return the mark in the file, or what is wrong with the file."""
    import adbc_driver_manager  # noqa: PLC0415 - only networks with tables need it

    if not SQLite().has_database(address):
        return "no such file"
    try:
        with SQLite().connect(address) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'drover mark'")
            if cursor.fetchall() != [(1,)]:
                return "an empty or foreign database"
            cursor.execute(f"SELECT id, batch FROM {MARK}")
            ((found, batch),) = cursor.fetchall()
            return TablesMark(str(found), int(batch))
    except (adbc_driver_manager.Error, OSError, TableError, ValueError) as error:
        return f"a damaged database ({' '.join(str(error).split())})"
