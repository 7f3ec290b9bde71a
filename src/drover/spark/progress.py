"""The facts of a batch as JSON: what is under `drover` in `lastProgress`.

Rule 1: this is the edge: dashboards and scripts read these keys, so they do not change.
"""

from __future__ import annotations

from typing import Any

from drover.flow.node import OperatorFacts
from drover.flow.parking import ParkedOperator
from drover.spark.facts import BatchFacts, BatchSeconds, QueryFacts


def describe(facts: BatchFacts) -> dict[str, Any]:  # Any: JSON
    """Return the facts of a batch as a JSON object."""
    found = {
        "batch": facts.batch,
        "sparkBatch": facts.spark_batch,
        "plan": facts.plan,
        "nodes": facts.nodes,
        "hops": facts.hops,
        "seconds": _seconds(facts.seconds),
        "rowsIn": dict(facts.rows_in),
        "routed": [edge._asdict() for edge in facts.routed],
        "rows": dict(facts.rows_out),
        "deadLetters": dict(facts.dead_letters),
        "watermarks": dict(facts.watermarks),
        "parked": {name: one.reason for name, one in facts.parked.items()},
        "held": {name: _held(one) for name, one in facts.parked.items() if one.holds},
        "busy": _rounded(facts.busy),
        "wall": _rounded(facts.wall),
        "loaded": facts.loaded,
        "samples": [_sample(one) for one in facts.operators],
    }
    return found if facts.queries is None else {**found, "queries": _queries(facts.queries)}


def _seconds(seconds: BatchSeconds) -> dict[str, float]:
    return {
        "routing": round(seconds.routing, 4),
        "nodes": round(seconds.nodes, 4),
        "compute": round(seconds.compute, 4),
        "sinks": round(seconds.sinks, 4),
        "commit": round(seconds.commit, 4),
    }


def _held(one: ParkedOperator) -> dict[str, Any]:  # Any: JSON
    return {"rows": one.rows, "bytes": one.bytes, "sinceBatch": one.since, "since": one.at}


def _sample(one: OperatorFacts) -> dict[str, Any]:  # Any: JSON
    sample = one.sample
    return {
        "operator": sample.operator,
        "node": one.place.node,
        "hop": one.place.hop,
        "rows_in": int(sum(sample.rows_in.values())),
        "rows_out": int(sum(sample.rows_out.values())),
        "busy": sample.busy,
        "state_bytes": sample.state_bytes,
        "edges": [edge._asdict() for edge in one.edges],
        "instance": one.instance,
        "oldest": one.oldest,
    }


def _queries(facts: QueryFacts) -> dict[str, Any]:  # Any: JSON
    return {
        "live": facts.live,
        "parked": facts.parked,
        "families": facts.families,
        "failed": facts.failed,
        "rows": facts.rows,
        "replication": round(facts.replication, 4),
        "bytes": dict(facts.sent),
        "busy": _rounded(facts.busy),
    }


def _rounded(values: tuple[float, ...]) -> list[float]:
    return [round(value, 4) for value in values]
