"""Limits of the simulator, checked before anything runs.

Rule 1: a limit exists only where memory or numbers would overflow. A run that merely takes long is announced, not
rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

from drover.errors import visible
from drover.load.arrays import Floats

if TYPE_CHECKING:
    from drover.cli.whatif.workload import RateTrace

MOST_SECONDS: Final = 2e5  # two days; the results keep more than half a kilobyte per second, and more per node
MOST_FIGURES: Final = 5e6  # nodes times seconds
MOST_STEPS: Final = 1e7  # changes of the rate of a source
MOST_RATE: Final = 2e7  # tuples per second in mode event: the tuples of a second are in memory at once
# busy seconds per second
LEAST_CAPACITY = 1e-9
MOST_CAPACITY = 1e9


def check_steps(traces: Mapping[str, RateTrace], seconds: float) -> None:
    """Raise BadParameter for rates that change too often."""
    for name, trace in traces.items():
        if len(trace.values) * seconds / trace.seconds > MOST_STEPS:
            raise click.BadParameter(
                f"the rate of {visible(name)} changes more than {MOST_STEPS:g} times in {seconds:g} s. "
                "Lower --seconds, or average the rates over longer steps."
            )


def check_rate(most: float, mode: str) -> None:
    """Raise BadParameter for more tuples per second than fit into memory."""
    if mode == "event" and most > MOST_RATE:
        raise click.BadParameter(
            f"{most:.3g} tuples arrive per second, but mode event simulates at most {MOST_RATE:g}. "
            "Lower the rates, or choose --mode fluid."
        )


def check_size(capacity: Floats, seconds: float) -> None:
    """Raise BadParameter for capacities, (N,), at which numbers overflow, and for tables that exceed memory."""
    for node, value in enumerate(capacity.tolist()):
        if not LEAST_CAPACITY <= value <= MOST_CAPACITY:
            raise click.BadParameter(
                f"the capacity of node {node} is {value:g}, but must be from {LEAST_CAPACITY:g} to {MOST_CAPACITY:g} "
                "in a simulation. Correct it."
            )
    if len(capacity) * seconds > MOST_FIGURES:
        raise click.BadParameter(
            f"{len(capacity)} nodes for {seconds:g} s need more than {MOST_FIGURES:g} figures. "
            "Lower --seconds or --nodes."
        )
