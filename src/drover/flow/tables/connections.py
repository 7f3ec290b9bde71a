"""Connections that a process keeps from batch to batch.

Rule 1: a leased connection has one user at a time, and is not leased again after an error.
Rule 2: only expensive connections are kept. Connecting to PostgreSQL takes 40 ms, mostly to read the server's types,
and a batch needs a connection per table operator. Connecting to SQLite takes a fraction of a millisecond.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from drover.flow.tables.address import Address
from drover.flow.tables.dialect import Dialect

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

# By process and URI; the process, because a forked child must not use its parent's connections.
IDLE: Final[dict[tuple[int, str], Connection]] = {}


@contextmanager
def lease(dialect: Dialect, address: Address) -> Iterator[Connection]:
    """Yield a kept connection that still works, or a new one."""
    place = (os.getpid(), address.uri)
    connection = IDLE.pop(place, None)
    if connection is not None and not _answers(connection):
        connection = None
    if connection is None:
        connection = dialect.connect(address)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    if not dialect.keeps_connections or IDLE.setdefault(place, connection) is not connection:
        connection.close()


def _answers(connection: Connection) -> bool:
    """Return whether a connection still works; close it if not, for example after a restart of the server."""
    import adbc_driver_manager  # noqa: PLC0415 - only networks with tables need it

    try:
        with connection.cursor() as cursor:
            cursor.executescript("SELECT 1")
    except adbc_driver_manager.Error:
        with suppress(adbc_driver_manager.Error):
            connection.close()
        return False
    return True


@atexit.register
def close_idle() -> None:
    """Close the connections that this process keeps."""
    for place in [place for place in IDLE if place[0] == os.getpid()]:
        IDLE.pop(place).close()
