from __future__ import annotations

import pytest
from polars.testing import assert_frame_equal
from pyspark.sql import SparkSession

from drover_lab.catalogue import find
from drover_lab.engine.sweep import sweep, sweep_on
from drover_lab.run import run, run_in_processes


def test_results_come_in_the_order_of_rows_in_any_number_of_waves(spark: SparkSession) -> None:
    assert list(sweep(spark, str, [])) == []
    assert list(sweep(spark, str, range(37))) == [str(number) for number in range(37)]


@pytest.mark.slow
def test_spark_gives_the_rows_that_this_process_gives(spark: SparkSession) -> None:
    experiment = find("R-fig6.3")
    here = run(experiment, quick=True)
    assert_frame_equal(run(experiment, quick=True, runner=sweep_on(spark)).rows, here.rows)
    assert_frame_equal(run(experiment, quick=True, runner=run_in_processes(2)).rows, here.rows)
