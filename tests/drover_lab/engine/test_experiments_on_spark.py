from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from drover.cli import main
from drover_lab.catalogue import EXPERIMENTS
from drover_lab.run import run

NAMES = [name for name, experiment in EXPERIMENTS.items() if experiment.engine]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name != "R-fig6.13-spark"])  # its rows are those of 6.12
def test_the_quick_version_runs_on_spark(spark: SparkSession, name: str) -> None:
    assert spark is not None
    result = run(EXPERIMENTS[name], quick=True, seeds=1)
    assert len(result.rows) == len(EXPERIMENTS[name].rows(quick=True, seeds=1))
    assert all(verdict.measured for verdict in result.verdicts)


@pytest.mark.parametrize("option", [["--spark"], ["--jobs", "2"]])
def test_a_run_on_spark_is_not_spread(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "run", NAMES[0], *option]) != 0
    assert "is a Spark run of its own. Leave the option out." in capsys.readouterr().err
