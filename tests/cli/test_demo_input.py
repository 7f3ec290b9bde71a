"""What the demo shows is what the example does."""

from __future__ import annotations

import polars as pl
from pyspark.sql import SparkSession

from drover.cli.demo_input import requests, traffic
from examples import traffic as example


def test_the_demo_runs_the_network_of_the_example() -> None:
    assert traffic() == example.build()


def test_the_demo_reads_every_request_once_as_the_example_does(spark: SparkSession) -> None:
    found = {name: pl.DataFrame(frame.toArrow()) for name, frame in requests(spark).items()}
    wanted = {name: pl.DataFrame(frame.toArrow()) for name, frame in example.inputs(spark).items()}
    assert sum(rows.height for rows in found.values()) == 30_969
    for name, rows in wanted.items():
        assert found[name].sort(rows.columns).equals(rows.sort(rows.columns))
