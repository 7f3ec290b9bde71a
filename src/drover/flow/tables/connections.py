"""Connections that a process keeps from batch to batch.

Rule 1: who leases a connection has it alone, and one that has met an error is never leased again.
Rule 2: only connections that are expensive are kept. To PostgreSQL one takes 40 ms, most of it to learn the server's
types, and a batch needs one per table operator; to SQLite it takes a fraction of a millisecond.
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

# By process, because a child must not use its parent's, and URI.
IDLE: Final[dict[tuple[int, str], Connection]] = {}


@contextmanager
def lease(dialect: Dialect, address: Address) -> Iterator[Connection]:
    """Yield a connection: one that is kept and still answers, or else a new one."""
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
    """Return whether the connection still works; close it if not, as after a restart of the server."""
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
    """Close what this process keeps."""
    for place in [place for place in IDLE if place[0] == os.getpid()]:
        IDLE.pop(place).close()
