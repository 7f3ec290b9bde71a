"""Relational tables in SQLite and PostgreSQL, accessed through ADBC."""

from __future__ import annotations

from drover.flow.tables.address import Address, AnyAddress, addresses, parse_address, touched
from drover.flow.tables.store import TableStore, prepare_tables

__all__ = ["Address", "AnyAddress", "TableStore", "addresses", "parse_address", "prepare_tables", "touched"]
