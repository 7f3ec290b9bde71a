"""The summary of a report: sentences for people, and the same as data for programs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from drover.control.capacity import capacities
from drover.control.record import PeriodOutcome
from drover.control.settings import Control
from drover.flow.parking import describe_parked
from drover.load.headroom import Headroom
from drover.spark.row_totals import sentences, to_json
from drover.web.formatting import clock, duration, finite, number, percent, seconds, size
from drover.web.report.model import ReportModel
from drover.web.report.queries import QueryOverview
from drover.wording import count, plural


def summary_sentences(report: ReportModel) -> tuple[str, ...]:
    """Return the most important facts, one sentence or two each."""
    topics = (_scope, _parked, _unused, _plan, _decisions, _loads, _batches, _headroom, _queries)
    return tuple(sentence for topic in topics for sentence in topic(report))


def _scope(report: ReportModel) -> Iterator[str]:
    line = report.timeline
    if not len(line.periods):
        yield "No period has been measured yet."
        return
    rows = line.total("rows")
    yield (
        f"In {count(len(line.periods), 'period')} of {duration(line.seconds)} in total, "
        f"{count(line.total('batches'), 'batch', 'batches')} read {count(rows, 'row')}: "
        f"{number(rows / line.seconds)} per second."
    )


def _parked(report: ReportModel) -> Iterator[str]:
    return (f"Operator {describe_parked(name, one)}" for name, one in report.files.parked.items())


def _unused(report: ReportModel) -> Iterator[str]:
    yield from sentences(report.files.totals)


def _plan(report: ReportModel) -> Iterator[str]:
    plan = report.files.plan
    saved = report.files.saved
    if plan is None:
        return
    yield (
        f"Plan {plan.number} places {count(len(plan.node_of), 'unit')} on {count(plan.nodes, 'node')}. "
        f"The control loop runs in mode {saved.mode}."
    )
    if saved.drained:
        yield f"Drained: {_node_list(saved.drained)}."
    if saved.state.waiting is not None:
        yield f"Proposal {saved.state.waiting.id} is waiting to be applied: {saved.state.waiting.reason}."


def _node_list(nodes: Collection[int]) -> str:
    return f"{plural(len(nodes), 'node')} {', '.join(map(str, sorted(nodes)))}"


def _refused_plans(report: ReportModel) -> int:
    return sum(record.kind is PeriodOutcome.REFUSED for record in report.files.records)


def _decisions(report: ReportModel) -> Iterator[str]:
    made = sum(len(change.moves) for change in report.changes)
    own = sum(change.by_loop for change in report.changes)
    refused = sum(len(record.refusals) for record in report.files.records)
    yield (
        f"The control loop made {count(made, 'move')} in {count(own, 'plan change')}. "
        f"It refused {count(_refused_plans(report), 'proposed plan')} and {count(refused, 'single move')}."
    )
    if own < len(report.changes):
        yield f"{count(len(report.changes) - own, 'plan change')} came from outside the control loop."


def _loads(report: ReportModel) -> Iterator[str]:
    line = report.timeline
    if not len(line.periods) or not np.isfinite(line.loads[-1]).any():
        return
    loads = line.loads[-1][np.isfinite(line.loads[-1])]
    capacity = capacities(len(loads), report.files.settings or Control(), report.files.saved.state)
    busiest = int(np.argmax(loads))
    busy = loads * capacity
    share = busy[busiest] / busy.sum() if busy.sum() > 0 else 0.0
    yield (
        f"The most loaded node is node {busiest}, at {percent(float(loads[busiest]))} of its capacity. It carries "
        f"{percent(float(share))} of the total load; "
        f"its fair share is {percent(float(capacity[busiest] / capacity.sum()))}."
    )


def _batches(report: ReportModel) -> Iterator[str]:
    line = report.timeline
    if not len(line.periods):
        return
    slowest = line.metrics["slowest_batch"]
    if np.isfinite(slowest).any():
        at = int(np.nanargmax(slowest))
        yield (
            f"A batch took {seconds(line.mean('batch_seconds'))} on average. "
            f"The slowest took {seconds(float(slowest[at]))}, at {clock(float(line.times[at]))}."
        )
    if np.isfinite(line.metrics["replication"]).any():
        mean = number(line.mean("replication"))
        yield (
            f"Rows of a source went to {mean} node{'' if mean == '1' else 's'} on average; "
            f"the router sent {size(line.total('routed_bytes'))} in total."
        )


def growth_sentence(room: Headroom) -> str:
    """Return how far all rates together can grow."""
    if room.overloaded:
        return (
            f"Overloaded: {_node_list(room.overloaded)}. "
            f"All rates must shrink by a factor of {number(room.all.factor)}."
        )
    if room.all.node is None:
        return "No node limits the rates."
    return f"All rates together can grow by a factor of {number(room.all.factor)} before node {room.all.node} is full."


def _headroom(report: ReportModel) -> Iterator[str]:
    room = report.headroom
    if room is None:
        return
    yield growth_sentence(room)
    weakest = room.weakest
    if weakest is not None:
        yield (
            f"The source with the least headroom is {weakest.source}: alone, it can grow by a factor of "
            f"{number(weakest.factor)} before node {weakest.node} is full."
        )


def query_sentence(queries: QueryOverview) -> str:
    """Return how many queries there are, by state."""
    counts = queries.counts
    return (
        f"{count(counts['queries'], 'query', 'queries')} of {count(counts['tenants'], 'tenant')}: "
        f"{counts['live']:,} live in {count(counts['families'], 'family', 'families')}, "
        f"{counts['waiting']:,} waiting for a first batch, {counts['parked']:,} parked."
    )


def _queries(report: ReportModel) -> Iterator[str]:
    if report.queries is not None:
        yield f"Submitted: {query_sentence(report.queries)}"


def summary_data(report: ReportModel) -> dict[str, Any]:  # Any: JSON
    """Return the summary for programs; a value that is unknown or unlimited is null."""
    line = report.timeline
    plan = report.files.plan
    return {
        "network": report.files.name,
        "periods": len(line.periods),
        "seconds": line.seconds,
        "batches": int(line.total("batches")),
        "rows": int(line.total("rows")),
        "plan": None if plan is None else plan.number,
        "nodes": None if plan is None else plan.nodes,
        "mode": report.files.saved.mode,
        "changes": len(report.changes),
        "moves": sum(len(change.moves) for change in report.changes),
        "refused": _refused_plans(report),
        "loads": [finite(float(load)) for load in line.loads[-1]] if len(line.periods) else [],
        "batch_seconds": line.mean("batch_seconds"),
        "replication": line.mean("replication"),
        "headroom": None if report.headroom is None else _headroom_data(report.headroom),
        "queries": None if report.queries is None else _query_data(report.queries),
        "parked": {name: asdict(one) for name, one in report.files.parked.items()},
        "totals": to_json(report.files.totals),
        "missing": list(report.missing),
    }


def _headroom_data(room: Headroom) -> dict[str, Any]:  # Any: JSON
    return {
        "factor": finite(room.all.factor),
        "first_node": room.all.node,
        "overloaded": list(room.overloaded),
        "weakest_source": None if room.weakest is None else room.weakest.source,
    }


def _query_data(queries: QueryOverview) -> dict[str, Any]:  # Any: JSON
    metrics = queries.metrics
    measured = None
    if metrics is not None:
        measured = {
            "batch": metrics.batch,
            "seconds": metrics.seconds,
            "replication": metrics.replication,
            "bytes_per_second": dict(metrics.sent),
            "busy": list(metrics.busy),
        }
    return {**queries.counts, "measured": measured}
