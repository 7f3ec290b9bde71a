"""Relational tables in SQLite and PostgreSQL, accessed through ADBC."""

from __future__ import annotations

from drover.flow.tables.address import Address, AnyAddress, addresses, parse_address, touched
from drover.flow.tables.internal import TablesMark, mark_written, prepare_tables
from drover.flow.tables.store import TableStore

__all__ = [
    "Address",
    "AnyAddress",
    "TableStore",
    "TablesMark",
    "addresses",
    "mark_written",
    "parse_address",
    "prepare_tables",
    "touched",
]
