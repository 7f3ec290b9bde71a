"""The engines that compute micro-batches, and the choice among them.

`shuffle`: one Spark job per batch, with a shuffle per hop. It needs no slot between batches.
`resident`: nodes are Spark tasks that stay. A hop costs milliseconds, and state stays in memory, but each node takes a
slot for as long as the run goes on.
"""

from __future__ import annotations

import logging
import uuid
from enum import StrEnum

from pyspark.sql import SparkSession

from drover.errors import DroverError, shorten
from drover.spark.batch import BatchEngine, ShuffleEngine
from drover.spark.resident.engine import ResidentEngine
from drover.spark.resident.node_jobs import ResidentNodes

log = logging.getLogger(__name__)


class EngineChoice(StrEnum):
    """How batches are computed."""

    AUTO = "auto"  # resident if Spark has slots for all nodes and a reader, else shuffle
    RESIDENT = "resident"
    SHUFFLE = "shuffle"


def engine_choice(given: str) -> EngineChoice:
    """Return the engine of this name; DroverError if there is none."""
    try:
        return EngineChoice(given)
    except ValueError:
        choices = ", ".join(EngineChoice)
        raise DroverError(f"engine is {shorten(given)}, but must be one of {choices}. Choose one.") from None


def engine_of(choice: EngineChoice, spark: SparkSession, nodes: int) -> BatchEngine:
    """Return the engine for a run with so many nodes."""
    if choice is EngineChoice.AUTO:
        choice = _fitting(spark.sparkContext.defaultParallelism, nodes)
    if choice is EngineChoice.SHUFFLE:
        return ShuffleEngine()
    return ResidentEngine(ResidentNodes(spark, uuid.uuid4().hex[:8]))


def _fitting(free: int, nodes: int) -> EngineChoice:
    if free > nodes:
        return EngineChoice.RESIDENT
    log.info("engine: shuffle, because %s nodes and a reader do not fit into %s slots of Spark", nodes, free)
    return EngineChoice.SHUFFLE
