"""Leased connections: kept if they are expensive and work, closed otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import adbc_driver_manager
import pytest

from drover.flow.tables import Address
from drover.flow.tables.connections import IDLE, close_idle, lease
from drover.flow.tables.dialect import Dialect

ADDRESS = Address("sqlite:///tmp/none.db")


class FakeConnection:
    """A connection that counts its probes."""

    def __init__(self) -> None:
        self.is_closed = False
        self.works = True

    def close(self) -> None:
        self.is_closed = True

    @contextmanager
    def cursor(self) -> Iterator[FakeConnection]:
        yield self

    def executescript(self, _statement: str) -> None:
        if not self.works:
            raise adbc_driver_manager.OperationalError("gone", status_code=adbc_driver_manager.AdbcStatusCode.IO)


class FakeDialect:
    """A dialect that only connects."""

    def __init__(self, *, keeps_connections: bool) -> None:
        self.keeps_connections = keeps_connections
        self.made: list[FakeConnection] = []

    def connect(self, _address: Address) -> FakeConnection:
        self.made.append(FakeConnection())
        return self.made[-1]


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    close_idle()
    yield
    close_idle()


def use(dialect: FakeDialect) -> Any:  # Any: a fake
    with lease(cast("Dialect", dialect), ADDRESS) as connection:
        return connection


def test_an_expensive_connection_is_used_again() -> None:
    dialect = FakeDialect(keeps_connections=True)
    first = use(dialect)
    assert use(dialect) is first
    assert not first.is_closed


def test_a_cheap_connection_is_closed() -> None:
    dialect = FakeDialect(keeps_connections=False)
    assert use(dialect).is_closed
    assert IDLE == {}


def test_a_connection_that_no_longer_works_is_replaced() -> None:
    dialect = FakeDialect(keeps_connections=True)
    first = use(dialect)
    first.works = False
    assert use(dialect) is not first
    assert first.is_closed


def test_a_connection_is_not_kept_after_an_error() -> None:
    dialect = FakeDialect(keeps_connections=True)
    with pytest.raises(ValueError, match="broken"), lease(cast("Dialect", dialect), ADDRESS):
        raise ValueError("broken")
    assert dialect.made[0].is_closed
    assert IDLE == {}


def test_two_users_at_once_have_two_connections() -> None:
    dialect = FakeDialect(keeps_connections=True)
    with lease(cast("Dialect", dialect), ADDRESS) as one, lease(cast("Dialect", dialect), ADDRESS) as other:
        assert one is not other
    assert [connection.is_closed for connection in dialect.made] == [True, False]
    close_idle()
    assert dialect.made[1].is_closed
