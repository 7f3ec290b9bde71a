"""Which engine computes the batches of a run, and why.

Rule 1: a choice is made once, when the run starts, and is reported with its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from drover.errors import DroverError, nearest, shorten
from drover.placement.starting_plans import AUTO_NODES
from drover.wording import count


class EngineChoice(StrEnum):
    """How batches are computed."""

    AUTO = "auto"  # resident if Spark has slots for all nodes and a reader, else shuffle
    RESIDENT = "resident"  # nodes are long-running Spark tasks
    SHUFFLE = "shuffle"  # one Spark job per batch, with a shuffle per hop


DEFAULT_ENGINE: Final = EngineChoice.SHUFFLE


@dataclass(frozen=True, slots=True)
class SparkSlots:
    """What a choice depends on: the tasks that Spark can run at once, and its setting that encrypts, if it has one.

    `can_encrypt` says whether resident nodes could encrypt, too.
    """

    slots: int
    encrypted_by: str | None = None
    can_encrypt: bool = False


@dataclass(frozen=True, slots=True)
class EngineInUse:
    """The engine of a run; `why` is empty if somebody named it.

    `encrypted_by` is the setting of Spark because of which resident nodes encrypt, too.
    """

    engine: EngineChoice
    why: str = ""
    encrypted_by: str | None = None

    @property
    def readers(self) -> int:
        """The slots that reading needs beside those of nodes: resident nodes never free theirs."""
        return int(self.engine is EngineChoice.RESIDENT)

    def __str__(self) -> str:
        because = f", because {self.why}" if self.why else ""
        encrypts = f"; nodes encrypt, because {self.encrypted_by} is on" if self.encrypted_by else ""
        return f"engine {self.engine}{because}{encrypts}"


def engine_choice(given: str) -> EngineChoice:
    """Return the engine of this name; DroverError if there is none."""
    try:
        return EngineChoice(given)
    except ValueError:
        choices = ", ".join(EngineChoice)
        hint = nearest(given, set(EngineChoice))
        raise DroverError(f"engine is {shorten(given)}, but must be one of {choices}. {hint}Choose one.") from None


def node_count(given: int | str, choice: EngineChoice, slots: Callable[[], int]) -> int:
    """Return the number of nodes to start with; `auto` is one for each slot, without the slot of a reader.

    >>> node_count("auto", EngineChoice.SHUFFLE, lambda: 4), node_count("auto", EngineChoice.RESIDENT, lambda: 4)
    (4, 3)
    """
    if isinstance(given, int):
        return given
    if given != AUTO_NODES:
        raise DroverError(
            f"nodes is {shorten(given)}, but must be a whole number or {AUTO_NODES}. Write for example 4."
        )
    there = slots()
    return max(1, there if choice is EngineChoice.SHUFFLE else there - 1)


def choose_engine(choice: EngineChoice, spark: SparkSlots, nodes: int) -> EngineInUse:
    """Return the engine for a run with so many nodes; DroverError if it cannot be the one that was named."""
    if choice is EngineChoice.SHUFFLE:
        return EngineInUse(choice)
    if spark.encrypted_by is not None and not spark.can_encrypt:
        return _without_encryption(choice, spark.encrypted_by)
    if choice is EngineChoice.RESIDENT:
        return EngineInUse(choice, encrypted_by=spark.encrypted_by)
    if spark.slots <= nodes:
        return EngineInUse(EngineChoice.SHUFFLE, f"{_counted(nodes)} do not fit into {_slots(spark)}")
    return EngineInUse(EngineChoice.RESIDENT, f"{_counted(nodes)} fit into {_slots(spark)}", spark.encrypted_by)


def _counted(nodes: int) -> str:
    return f"{count(nodes, 'node')} and a reader"


def _slots(spark: SparkSlots) -> str:
    return f"{count(spark.slots, 'slot')} of Spark"


def _without_encryption(choice: EngineChoice, setting: str) -> EngineInUse:
    lack = f"{setting} is on, and resident nodes do not encrypt without the package cryptography"
    if choice is EngineChoice.AUTO:
        return EngineInUse(EngineChoice.SHUFFLE, f"{lack}: pip install 'drover[tls]'")
    raise DroverError(
        f"engine is resident, but {lack}. Install it where Spark's driver and executors run: pip install "
        f"'drover[tls]'. Or write engine: shuffle, or switch {setting} off."
    )
