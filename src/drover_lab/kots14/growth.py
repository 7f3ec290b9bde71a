"""The cost of the protocol per node as the tree grows."""

from __future__ import annotations

import time
from typing import ClassVar, Final

import numpy as np
import polars as pl
from numpy.random import default_rng

from drover.hierarchy.machine import Machine
from drover.hierarchy.messages import Message, StepEffects
from drover_lab.kots14.paired_runs import THRESHOLDS, PairedRuns, less
from drover_lab.summary import mean, numbers_of
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, unjudged
from drover_lab.trees.links import LinkModel
from drover_lab.trees.run import TreeSettings, simulate_protocol, simulate_static
from drover_lab.trees.scenario import TreeScenarioParameters, draw_scenario

COLUMNS: Final = {
    "depth": "levels of the tree below the root",
    "operators": "operators in the tree",
    "messages": "messages of a node per minute",
    "busiest": "messages per minute of the node that sends most",
    "rounds": "rounds that a node begins per minute",
    "moved": "operators that move, per node and minute",
    "less": "fraction by which overloaded time falls",
    "stopped": "seconds that an operator is stopped while it moves, on average",
    "work": "microseconds of processor time that a node's state machine takes per second",
    "simulator": "the same for a node's share of everything else: event queue, network, samples",
}
ABOUT: Final = """
Binary trees with ten operators of 4 % per node. As in the text, one operator for every 15 nodes grows for 16 s at a
time. A minute of growing is followed by a minute of shrinking, and 5 % of all messages are lost. A node talks only to
its parent and its children, and looks only at its own operators. So its costs should not depend on the number of
other nodes.
"""
SIZES: Final = (15, 63, 255, 1023, 4095, 10_000)


class TimedMachine(Machine):
    """A state machine that sums the processor time of all state machines."""

    spent: ClassVar[float] = 0.0

    def receive(self, message: Message, now: float) -> StepEffects:
        """Receive a message, and add its processor time."""
        start = time.process_time()
        output = super().receive(message, now)
        TimedMachine.spent += time.process_time() - start
        return output

    def tick(self, now: float) -> StepEffects:
        """Advance to `now`, and add the processor time."""
        start = time.process_time()
        output = super().tick(now)
        TimedMachine.spent += time.process_time() - start
        return output


def measure(row: Row) -> Row:
    """Measure one tree."""
    nodes = int(row["nodes"])
    seed = int(row["seed"])
    parameters = TreeScenarioParameters(
        nodes=nodes, operators=10 * nodes, size=4.0, seconds=120.0, growing=max(1, round(nodes / 15))
    )
    drawn = draw_scenario(default_rng((seed, 16)), parameters)
    plain = simulate_static(drawn)
    # The simulator makes the machines itself, so their time is summed in the class.
    TimedMachine.spent = 0.0
    start = time.process_time()
    outcome = simulate_protocol(
        drawn, default_rng((seed, 17)), TreeSettings(thresholds=THRESHOLDS, links=LinkModel(loss=0.05)), TimedMachine
    )
    spent = time.process_time() - start
    work = TimedMachine.spent
    minutes = drawn.seconds / 60
    return {
        "depth": max(drawn.tree.depth),
        "operators": parameters.operators,
        "messages": float(outcome.sent_by.mean()) / minutes,
        "busiest": float(outcome.sent_by.max()) / minutes,
        "rounds": outcome.rounds / nodes / minutes,
        "moved": outcome.moved / nodes / minutes,
        "less": less(PairedRuns(plain, outcome)),
        "stopped": outcome.stopped / max(outcome.moved, 1),
        "work": 1e6 * work / nodes / drawn.seconds,
        "simulator": 1e6 * (spent - work) / nodes / drawn.seconds,
    }


def flat(rows: pl.DataFrame, column: str, most: float) -> Finding:
    """Find whether a cost per node is about the same in the largest tree as in one of 63 nodes, or smaller."""
    sizes = [size for size in numbers_of(rows, "nodes") if size >= 63]
    if len(sizes) < 2:
        return unjudged("there is one size only")
    found = {size: mean(rows, column, nodes=size) for size in numbers_of(rows, "nodes")}
    words = ", ".join(f"{size:g}: {value:.3g}" for size, value in found.items())
    return Finding(f"by nodes {words}", found[sizes[-1]] <= most * found[sizes[0]])


def bounded(rows: pl.DataFrame) -> Finding:
    """Find whether even the busiest node sends no more than its neighbours and periods allow."""
    found = {size: mean(rows, "busiest", nodes=size) for size in numbers_of(rows, "nodes")}
    words = ", ".join(f"{size:g}: {value:.3g}" for size, value in found.items())
    growth = np.array(list(found.values()))
    return Finding(f"by nodes {words}", bool(growth.max() <= 4 * growth[0]))


def helpful(rows: pl.DataFrame) -> Finding:
    """Find whether the protocol does as well in large trees."""
    found = {size: mean(rows, "less", nodes=size) for size in numbers_of(rows, "nodes")}
    words = ", ".join(f"{size:g}: {value:.1%}" for size, value in found.items())
    large = [value for size, value in found.items() if size >= 63]
    return Finding(f"overloaded time falls by nodes {words}", min(large, default=0.0) > 0.2)


EXPERIMENTS: Final = (
    Experiment(
        name="T-growth",
        title="Cost per node as the tree grows",
        about=ABOUT,
        grids=(ParameterGrid({"nodes": SIZES}, {}, 2),),
        quick=(ParameterGrid({"nodes": (15, 63, 255)}, {}, 1),),
        measure=measure,
        columns=COLUMNS,
        timed=frozenset({"work", "simulator"}),
        panels=(
            Panel(x="nodes", y="messages", log="x", title="messages of a node per minute"),
            Panel(x="nodes", y="busiest", log="x", title="of the busiest node"),
            Panel(x="nodes", y="rounds", log="x", title="rounds of a node per minute"),
            Panel(x="nodes", y="moved", log="x", title="operators moved per node and minute"),
            Panel(x="nodes", y="less", log="x", title="share by which overloaded time falls"),
            Panel(x="nodes", y="work", log="x", title="microseconds of work per node and second"),
            Panel(x="nodes", y="simulator", log="x", title="microseconds of simulating a node for a second"),
        ),
        claims=(
            Claim(
                "messages",
                "Not in the text: messages per node do not grow with the tree (at most 10 % from 63 nodes on).",
                lambda rows: flat(rows, "messages", 1.1),
            ),
            Claim(
                "work",
                "Not in the text: nor does the processor time of a node (at most by half from 63 nodes on).",
                lambda rows: flat(rows, "work", 1.5),
                "The state machines of a large tree do not fit into the caches of the one processor that simulates "
                "them.",
            ),
            Claim("busiest", "Not in the text: nor do the messages of the busiest node, beyond four times.", bounded),
            Claim(
                "less", "Not in the text: overloaded time falls by at least a fifth, however large the tree.", helpful
            ),
        ),
    ),
)
