"""What the whole suite shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from drover.spark.session import session
from tests.flow.tables import server


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark for all tests: starting it takes longer than most of them."""
    running = session("drover tests", master="local[2]")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URI of a PostgreSQL server that runs for the tests alone."""
    if server.binaries() is None:
        pytest.skip("PostgreSQL is not installed: there is no initdb")
    pytest.importorskip("adbc_driver_postgresql", reason="the driver for PostgreSQL is not installed")
    with server.running() as uri:
        yield uri
