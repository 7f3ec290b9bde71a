"""Databases for the tests of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from drover.flow.tables import Address
from tests.flow.tables import server

NewAddress = Callable[[], Address]


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URI of a PostgreSQL server that runs for the tests alone."""
    if server.binaries() is None:
        pytest.skip("PostgreSQL is not installed: there is no initdb")
    pytest.importorskip("adbc_driver_postgresql", reason="the driver for PostgreSQL is not installed")
    with server.running() as uri:
        yield uri


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def new_address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NewAddress:
    """A function that gives the address of a table that is not there yet, under a name that needs quotes."""
    if request.param == "sqlite":
        uri = f"sqlite://{tmp_path_factory.mktemp('tables')}/some tables.db"
    else:
        uri = request.getfixturevalue("postgresql")
    numbers = count()
    return lambda: Address(uri, f'Table "{next(numbers)}"; it\'s')
