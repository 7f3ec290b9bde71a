"""The JSON of `lastProgress`: dashboards read these keys."""

from __future__ import annotations

import json
from dataclasses import replace

from drover.flow.frames import Edge
from drover.flow.late_rows import StateFacts
from drover.flow.node import OperatorFacts
from drover.flow.parking import ParkedOperator
from drover.flow.schedule import HopNode
from drover.load.sample import Sample
from drover.spark.facts import BatchFacts, BatchSeconds, QueryFacts
from drover.spark.progress import describe, state_operators
from drover.spark.row_totals import DeadLetterTotals, RowTotals

FACTS = BatchFacts(
    batch=9,
    spark_batch=4,
    plan=2,
    nodes=2,
    hops=2,
    seconds=BatchSeconds(0.61234567, 0.2, 0.1, routing=0.05, nodes=0.5),
    rows_in={"a": 5},
    routed=(Edge("a", 0, 3, 50),),
    rows_out={"j": 2},
    dead_letters={"a": 1},
    watermarks={"a": 7},
    parked={
        "broken": ParkedOperator("ValueError: no"),
        "waits": ParkedOperator("ValueError: no", holds=True, since=2, at=1.5, rows=3, bytes=40),
    },
    busy=(0.123456, 0.0),
    wall=(0.3, 0.5),
    loaded=300,
    operators=(
        OperatorFacts(
            Sample("j", {"a": 5, "b": 2}, {"j": 2}, 0.125, 80, 0.0625), HopNode(1, 0), (Edge("j", 1, 1, 9),), 1, 3
        ),
    ),
    late={"j": 4},
    totals=RowTotals({"j": {"a": 6}}, 2, {"a": DeadLetterTotals(3, {"no time": 3})}),
    engine="resident",
    pieces=4,
    hop_busy=((0.1, 0.0), (0.0234567, 0.0)),
    result_bytes=16,
    state_bytes=40,
)
JSON = {
    "batch": 9,
    "sparkBatch": 4,
    "plan": 2,
    "nodes": 2,
    "hops": 2,
    "engine": "resident",
    "pieces": 4,
    "seconds": {"routing": 0.05, "nodes": 0.5, "compute": 0.6123, "sinks": 0.2, "commit": 0.1},
    "rowsIn": {"a": 5},
    "routed": [{"stream": "a", "node": 0, "frames": 3, "bytes": 50}],
    "rows": {"j": 2},
    "deadLetters": {"a": 1},
    "lateRows": {"j": 4},
    "totals": {
        "lateRows": {"j": {"a": 6}},
        "lateForQueries": 2,
        "deadLetters": {"a": {"rows": 3, "reasons": {"no time": 3}}},
    },
    "watermarks": {"a": 7},
    "parked": {"broken": "ValueError: no", "waits": "ValueError: no"},
    "held": {"waits": {"rows": 3, "bytes": 40, "sinceBatch": 2, "since": 1.5}},
    "busy": [0.1235, 0.0],
    "wall": [0.3, 0.5],
    "hopBusy": [[0.1, 0.0], [0.0235, 0.0]],
    "loaded": 300,
    "resultBytes": 16,
    "stateBytes": 40,
    "samples": [
        {
            "operator": "j",
            "node": 0,
            "hop": 1,
            "rows_in": 7,
            "rows_out": 2,
            "busy": 0.125,
            "waited": 0.0625,
            "state_bytes": 80,
            "edges": [{"stream": "j", "node": 1, "frames": 1, "bytes": 9}],
            "instance": 1,
            "oldest": 3,
        }
    ],
}


def test_every_fact_has_its_key() -> None:
    assert describe(FACTS) == JSON
    assert json.loads(json.dumps(describe(FACTS))) == JSON


def test_queries_have_keys_of_their_own_once_there_are_any() -> None:
    queries = QueryFacts(3, 1, 2, 1, 40, 1.23456, {"a": 50}, (0.01, 0.00005), 900)
    assert describe(replace(FACTS, queries=queries)) == JSON | {
        "queries": {
            "live": 3,
            "parked": 1,
            "families": 2,
            "failed": 1,
            "rows": 40,
            "replication": 1.2346,
            "memory": 900,
            "bytes": {"a": 50},
            "busy": [0.01, 0.0001],
        }
    }


def test_operators_with_state_have_the_shape_of_spark() -> None:
    sample = Sample("j", {}, {}, 0.0, 80)
    instances = (
        OperatorFacts(sample, HopNode(0, 0), state=StateFacts(5, 2, {"a": 1, "b": 2})),
        OperatorFacts(sample, HopNode(0, 1), state=StateFacts(3, 1)),
        OperatorFacts(Sample("f", {}, {}, 0.0, 0), HopNode(0, 1)),
    )
    assert state_operators(replace(FACTS, operators=instances)) == [
        {
            "operatorName": "j",
            "numRowsTotal": 8,
            "numRowsUpdated": 3,
            "memoryUsedBytes": 160,
            "numRowsDroppedByWatermark": 3,
        }
    ]
