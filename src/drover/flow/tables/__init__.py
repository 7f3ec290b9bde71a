"""Relational tables, in SQLite and PostgreSQL, reached through ADBC."""

from __future__ import annotations

from drover.flow.tables.address import Address, AnyAddress, addresses, touched
from drover.flow.tables.store import Store, prepare_tables

__all__ = ["Address", "AnyAddress", "Store", "addresses", "prepare_tables", "touched"]
