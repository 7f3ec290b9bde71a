"""What is too much to simulate, and the sentence that says so before anything runs.

Rule 1: a limit is there because beyond it memory or numbers run out, not because it takes long: that is announced.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

from drover.errors import visible
from drover.load.arrays import Floats

if TYPE_CHECKING:
    from drover.cli.whatif.workload import Trace

MOST_SECONDS: Final = 2e5  # two days: half a kilobyte and more is kept of each second, and some of each node in it
MOST_FIGURES: Final = 5e6  # nodes times seconds
MOST_STEPS: Final = 1e7  # of the rate of a source
MOST_RATE: Final = 2e7  # tuples per second that are simulated one by one: what comes in a second is in memory at once
LEAST_CAPACITY, MOST_CAPACITY = 1e-9, 1e9  # busy seconds per second


def demand_steps(traces: Mapping[str, Trace], seconds: float) -> None:
    """Refuse rates that change all the time."""
    for name, trace in traces.items():
        if len(trace.values) * seconds / trace.seconds > MOST_STEPS:
            raise click.BadParameter(
                f"the rate of {visible(name)} changes more than {MOST_STEPS:g} times in {seconds:g} s. "
                "Lower --seconds, or take means over longer steps."
            )


def demand_rate(most: float, mode: str) -> None:
    """Refuse more tuples per second than fit into memory."""
    if mode == "event" and most > MOST_RATE:
        raise click.BadParameter(
            f"{most:.3g} tuples come in a second, but at most {MOST_RATE:g} are simulated one by one. "
            "Lower the rates, or choose --mode fluid."
        )


def demand_size(capacity: Floats, seconds: float) -> None:
    """Refuse capacities, (N,), at which numbers overflow, and runs whose tables do not fit into memory."""
    for node, value in enumerate(capacity.tolist()):
        if not LEAST_CAPACITY <= value <= MOST_CAPACITY:
            raise click.BadParameter(
                f"the capacity of node {node} is {value:g}, but must be from {LEAST_CAPACITY:g} to {MOST_CAPACITY:g} "
                "to be simulated. Correct it."
            )
    if len(capacity) * seconds > MOST_FIGURES:
        raise click.BadParameter(
            f"{len(capacity)} nodes for {seconds:g} s are more than {MOST_FIGURES:g} figures. "
            "Lower --seconds or --nodes."
        )
