"""The report in sentences, and the same as data for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from drover.control.record import Kind
from drover.control.settings import Control
from drover.control.view import capacities
from drover.web.report.figures import clock, count, duration, finite, number, percent, seconds, size
from drover.web.report.herds import Herds
from drover.web.report.queries import counted
from drover.web.report.story import Story


def sentences(story: Story) -> tuple[str, ...]:
    """Return what is most worth knowing, first things first."""
    told = (_scope, _plan, _decided, _slowest, _latency, _room, _queries)
    return tuple(sentence for tell in told for sentence in tell(story))


def refused(story: Story) -> int:
    """Return how many proposed plans were refused."""
    return sum(record.kind is Kind.REFUSED for record in story.material.records)


def _scope(story: Story) -> Iterator[str]:
    line = story.timeline
    if not len(line.periods):
        yield "No period was measured yet."
        return
    rows = line.total("rows")
    yield (
        f"In {count(len(line.periods), 'period')} of {duration(line.seconds)} in all, "
        f"{count(line.total('batches'), 'batch', 'batches')} took in {count(rows, 'row')}, "
        f"{number(rows / line.seconds)} per second."
    )


def _plan(story: Story) -> Iterator[str]:
    plan, saved = story.material.plan, story.material.saved
    if plan is None:
        return
    yield (
        f"Plan {plan.number} has {count(len(plan.node_of), 'unit')} on {count(plan.nodes, 'node')}; "
        f"the control loop is in mode {saved.mode}."
    )
    if saved.drained:
        yield f"To be kept empty: node {', '.join(map(str, sorted(saved.drained)))}."
    if saved.state.waiting is not None:
        yield f"Proposal {saved.state.waiting.id} waits to be applied: {saved.state.waiting.reason}."


def _decided(story: Story) -> Iterator[str]:
    made = sum(len(change.moves) for change in story.changes)
    foreign = sum(not change.moves and not change.shapes for change in story.changes)
    single = sum(len(record.refusals) for record in story.material.records)
    yield (
        f"The loop made {count(made, 'move')} in {count(len(story.changes) - foreign, 'change')} of plan, and refused "
        f"{count(refused(story), 'proposed plan')} and {count(single, 'single move')}."
    )
    if foreign:
        yield f"{count(foreign, 'change')} of plan came from elsewhere."


def _slowest(story: Story) -> Iterator[str]:
    line = story.timeline
    if not len(line.periods) or not np.isfinite(line.loads[-1]).any():
        return
    loads = line.loads[-1][np.isfinite(line.loads[-1])]
    capacity = capacities(len(loads), story.material.settings or Control())
    slowest, busy = int(np.argmax(loads)), loads * capacity
    share = busy[slowest] / busy.sum() if busy.sum() > 0 else 0.0
    yield (
        f"The slowest node is node {slowest}: loaded to {percent(float(loads[slowest]))} of its capacity, with "
        f"{percent(float(share))} of all load; its fair share is {percent(float(capacity[slowest] / capacity.sum()))}."
    )


def _latency(story: Story) -> Iterator[str]:
    line = story.timeline
    if not len(line.periods):
        return
    slowest = line.figures["slowest_batch"]
    if np.isfinite(slowest).any():
        at = int(np.nanargmax(slowest))
        yield (
            f"A batch took {seconds(line.mean('batch_seconds'))} on average, and the slowest "
            f"{seconds(float(slowest[at]))}, at {clock(float(line.ends[at]))}."
        )
    if np.isfinite(line.figures["replication"]).any():
        yield (
            f"Rows of a source went to {_nodes(line.mean('replication'))} on average; "
            f"{size(line.total('routed_bytes'))} were routed in all."
        )


def _nodes(mean: float) -> str:
    return f"{number(mean)} node{'' if number(mean) == '1' else 's'}"


def _room(story: Story) -> Iterator[str]:
    room = story.room
    if room is None:
        return
    if room.overloaded:
        nodes = ", ".join(map(str, room.overloaded))
        yield f"Overloaded: node {nodes}. All rates would have to shrink to {number(room.all.factor)} of what they are."
    elif room.all.node is None:
        yield "Nothing limits the rates."
    else:
        yield f"All rates can grow {number(room.all.factor)} times before node {room.all.node} is overloaded."
    if room.weakest is not None:
        weakest = room.weakest
        yield (
            f"The weakest source is {weakest.source}: by itself it can grow {number(weakest.factor)} times, "
            f"until node {weakest.node} is full."
        )


def _queries(story: Story) -> Iterator[str]:
    if story.herds is not None:
        yield f"Submitted: {counted(story.herds)}"


def _measured(herds: Herds) -> dict[str, Any] | None:  # Any: JSON
    figures = herds.figures
    if figures is None:
        return None
    return {
        "batch": figures.batch,
        "seconds": figures.seconds,
        "replication": figures.replication,
        "bytes_per_second": dict(figures.sent),
        "busy": list(figures.busy),
    }


def as_data(story: Story) -> dict[str, Any]:  # Any: JSON
    """Return the summary as programs read it; what nothing limits, or nobody knows, is null."""
    line, room, plan = story.timeline, story.room, story.material.plan
    weakest = None if room is None else room.weakest
    return {
        "network": story.material.name,
        "periods": len(line.periods),
        "seconds": line.seconds,
        "batches": int(line.total("batches")),
        "rows": int(line.total("rows")),
        "plan": None if plan is None else plan.number,
        "nodes": None if plan is None else plan.nodes,
        "mode": story.material.saved.mode,
        "changes": len(story.changes),
        "moves": sum(len(change.moves) for change in story.changes),
        "refused": refused(story),
        "loads": [finite(float(load)) for load in line.loads[-1]] if len(line.periods) else [],
        "batch_seconds": line.mean("batch_seconds"),
        "replication": line.mean("replication"),
        "headroom": None
        if room is None
        else {
            "factor": finite(room.all.factor),
            "first_node": room.all.node,
            "overloaded": list(room.overloaded),
            "weakest_source": None if weakest is None else weakest.source,
        },
        "queries": None if story.herds is None else {**story.herds.counts, "measured": _measured(story.herds)},
        "missing": list(story.missing),
    }
