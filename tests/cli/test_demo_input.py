"""The rows of the demo are those of the log, in its order and at a steady rate."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
from pyspark.sql import SparkSession

from drover.cli.demo_input import DUE, LOG, RATE, private_log, requests
from drover.network.functions import declaration_of, resolve
from drover.network.operators import UserDefined


def test_the_network_declares_what_its_functions_declare() -> None:
    found = [one for one in private_log().operators if isinstance(one, UserDefined)]
    assert [one.name for one in found] == ["pseudonyms", "seals"]
    for one in found:
        declared = declaration_of(resolve(one.function))
        assert (one.columns, one.time) == (declared.columns, declared.time)


def test_the_requests_are_those_of_the_log_at_a_steady_rate(spark: SparkSession) -> None:
    found = pl.DataFrame(requests(spark, 2.0, 7).toArrow())
    log = pl.read_csv(LOG).head(2 * RATE)
    assert found["ts"].dt.epoch("s").to_list() == log["ts"].to_list()
    for name in ("client", "url", "status", "bytes"):
        assert found[name].to_list() == log[name].to_list()
    assert set(found["rounds"]) == {7}
    due = found[DUE]
    assert due.is_sorted()
    assert due[-1] - due[0] == timedelta(seconds=(2 * RATE - 1) / RATE)
