"""What the whole suite shares."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from drover.spark.session import session
from tests.flow.tables import server
from tests.java_archive import use_archive

SLOTS = 4  # of the Spark that all tests share

# No test depends on how busy the machine is; CI tries the same cases each time, a person tries fewer, but new ones.
CI = bool(os.environ.get("CI"))
settings.register_profile(
    "drover",
    deadline=None,
    derandomize=CI,
    max_examples=100 if CI else 40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("drover")


def pytest_configure(config: pytest.Config) -> None:
    """Let Java start quickly. Only a run in several processes is long enough to write the archive of classes first."""
    use_archive(write=bool(config.getoption("numprocesses", None)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that have slow tests: a long one at the end would leave the other process idle."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark for all tests: starting it takes longer than most of them."""
    # More slots than the usual machine has cores, for resident nodes; everything else divides its rows in two.
    config = {"spark.default.parallelism": "2"}
    running = session("drover tests", master=f"local[{SLOTS}]", config=config)
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
