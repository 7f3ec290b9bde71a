"""Databases for the tests of tables."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from drover.flow.tables import Address

NewAddress = Callable[[], Address]

# One count for all databases: pytest may build the fixture of a database again while its server still runs.
NUMBERS = count()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def new_address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NewAddress:
    """A function that gives the address of a table that is not there yet, under a name that needs quotes."""
    if request.param == "sqlite":
        uri = f"sqlite://{tmp_path_factory.mktemp('tables')}/some tables.db"
    else:
        uri = request.getfixturevalue("postgresql")
    return lambda: Address(uri, f'Table "{next(NUMBERS)}"; it\'s')
