"""The engines that compute micro-batches.

`shuffle`: one Spark job per batch, with a shuffle per hop. It needs no slot between batches.
`resident`: nodes are long-running Spark tasks. A hop costs milliseconds, and state stays in memory, but each node takes
a slot for as long as the run lasts.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from pyspark.sql import SparkSession

from drover.control.engine_choice import EngineChoice, EngineInUse, SparkSlots, choose_engine
from drover.spark.batch import BatchEngine, ShuffleEngine
from drover.spark.resident.encryption import can_encrypt, make_certificate
from drover.spark.resident.engine import ResidentEngine
from drover.spark.resident.node_jobs import ResidentNodes
from drover.spark.slots import task_slots

# Settings with which Spark encrypts connections, or its own files. Who switches one on does not want rows in the clear.
ENCRYPTION: Final = (
    "spark.network.crypto.enabled",
    "spark.ssl.enabled",
    "spark.ssl.rpc.enabled",
    "spark.io.encryption.enabled",
)
log = logging.getLogger(__name__)


def choose_for(spark: SparkSession, choice: EngineChoice, nodes: int) -> EngineInUse:
    """Return the engine for a run with so many nodes, and log why it is this one."""
    found = choose_engine(choice, spark_slots(spark), nodes)
    if found.why or found.encrypted_by:
        log.info("%s", found)
    return found


def engine_of(found: EngineInUse, spark: SparkSession) -> BatchEngine:
    """Return the engine itself."""
    if found.engine is EngineChoice.SHUFFLE:
        return ShuffleEngine()
    certificate = None if found.encrypted_by is None else make_certificate(datetime.now(UTC))
    return ResidentEngine(ResidentNodes(spark, uuid.uuid4().hex[:8], certificate))


def spark_slots(spark: SparkSession) -> SparkSlots:
    """Return how many tasks Spark can run at once now, and the setting with which it encrypts."""
    setting = encrypted_by(dict(spark.sparkContext.getConf().getAll()))
    return SparkSlots(task_slots(spark), setting, can_encrypt=can_encrypt())


def encrypted_by(settings: Mapping[str, str]) -> str | None:
    """Return the setting with which Spark encrypts connections or files; None if it encrypts neither."""
    on = (name for name in ENCRYPTION if settings.get(name, "").strip().lower() == "true")
    return next(on, None)
