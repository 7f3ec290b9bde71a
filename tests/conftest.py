"""What the whole suite shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from drover.spark.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark for all tests: starting it takes longer than most of them."""
    running = session("drover tests", master="local[2]")
    yield running
    running.stop()
