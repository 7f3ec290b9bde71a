"""The facts of a batch as JSON: what is under `drover` in `lastProgress`.

Rule 1: this is the edge: dashboards and scripts read these keys, so they do not change.
"""

from __future__ import annotations

from typing import Any, Final

from drover.flow.node import OperatorFacts
from drover.flow.parking import ParkedOperator
from drover.spark.facts import BatchFacts, BatchSeconds, QueryFacts
from drover.spark.row_totals import to_json

STATE_METRICS: Final = ("numRowsTotal", "numRowsUpdated", "memoryUsedBytes", "numRowsDroppedByWatermark")


def describe(facts: BatchFacts) -> dict[str, Any]:  # Any: JSON
    """Return the facts of a batch as a JSON object."""
    found = {
        "batch": facts.batch,
        "sparkBatch": facts.spark_batch,
        "plan": facts.plan,
        "nodes": facts.nodes,
        "hops": facts.hops,
        "engine": facts.engine,
        "pieces": facts.pieces,
        "seconds": _seconds(facts.seconds),
        "rowsIn": dict(facts.rows_in),
        "routed": [edge._asdict() for edge in facts.routed],
        "rows": dict(facts.rows_out),
        "deadLetters": dict(facts.dead_letters),
        "lateRows": dict(facts.late),
        "totals": to_json(facts.totals),
        "watermarks": dict(facts.watermarks),
        "parked": {name: one.reason for name, one in facts.parked.items()},
        "held": {name: _held(one) for name, one in facts.parked.items() if one.holds},
        "busy": _rounded(facts.busy),
        "wall": _rounded(facts.wall),
        "hopBusy": [_rounded(busy) for busy in facts.hop_busy],
        "loaded": facts.loaded,
        "resultBytes": facts.result_bytes,
        "stateBytes": facts.state_bytes,
        "samples": [_sample(one) for one in facts.operators],
    }
    return found if facts.queries is None else {**found, "queries": _queries(facts.queries)}


def state_operators(facts: BatchFacts) -> list[dict[str, Any]]:  # Any: JSON
    """Return the operators with state in the shape of Spark's `stateOperators`.

    A spread join has one entry for all its instances. Rows that several of them hold count for each.
    """
    found: dict[str, dict[str, Any]] = {}
    for one in facts.operators:
        if one.state is not None:
            name = one.sample.operator
            entry = found.setdefault(name, {"operatorName": name} | dict.fromkeys(STATE_METRICS, 0))
            entry["numRowsTotal"] += one.state.rows
            entry["numRowsUpdated"] += one.state.updated
            entry["memoryUsedBytes"] += one.sample.state_bytes
            entry["numRowsDroppedByWatermark"] += sum(one.state.late.values())
    return list(found.values())


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
        "waited": sample.waited,
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
        "memory": facts.memory,
        "bytes": dict(facts.sent),
        "busy": _rounded(facts.busy),
        **({"refinement": facts.refinement} if facts.refinement else {}),
    }


def _rounded(values: tuple[float, ...]) -> list[float]:
    return [round(value, 4) for value in values]
