"""Whether Spark's workers can import drover. Without this check, a run ends in a page of Java trace.

Rule 1: a local run whose workers use the driver's own Python costs nothing: there is nothing to find out.
Rule 2: another local Python is asked once, without Spark. On a cluster, one small task asks an executor.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from drover.errors import DroverError, shorten
from drover.spark.slots import has_fixed_slots

PATIENCE: Final = 30.0  # seconds for a Python to say whether it has drover
ASK: Final = "import importlib.util, sys; sys.exit(importlib.util.find_spec('drover') is None)"
MISSING: Final = "No module named 'drover"


def check_workers(spark: SparkSession) -> None:
    """Raise DroverError if workers cannot import drover."""
    context = spark.sparkContext
    python = str(context.pythonExec)
    if has_fixed_slots(str(context.master)):
        if not has_drover(python):
            raise DroverError(missing(python, "this machine"))
        return
    try:
        context.parallelize([0], 1).map(where).collect()
    except Exception as error:  # py4j wraps what a worker raises into errors of several classes
        # Only a missing package is explained here.
        if MISSING not in str(error):
            if isinstance(error, PySparkException):
                raise
            return  # the run itself will say what is wrong
        raise DroverError(missing(python, "the executors")) from None


def where(_: object) -> str:
    """Return the path of drover on an executor. Spark sends this function by its name, so calling it imports drover."""
    return __file__


@cache
def has_drover(python: str) -> bool:
    """Return whether a Python on this machine can import drover; True if that cannot be found out."""
    found = shutil.which(python)
    if found is None or os.path.abspath(found) == os.path.abspath(sys.executable):  # noqa: PTH100 - links stay: a venv is one
        return True
    try:
        asked = subprocess.run([found, "-c", ASK], capture_output=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.SubprocessError):
        return True
    return asked.returncode == 0


def missing(python: str, place: str) -> str:
    """Return what to do about workers that cannot import drover."""
    return (
        f"Spark's workers use {shorten(python)} on {place}, which cannot import drover. Set PYSPARK_PYTHON to a Python "
        f"that can, before the session starts: os.environ['PYSPARK_PYTHON'] = {sys.executable!r}. Or install "
        "drover there."
    )
