"""From the facts of a batch to what the model of a batch learns from.

Rule 1: nothing is fitted here, and nothing is measured: `facts` has measured it.
"""

from __future__ import annotations

import numpy as np

from drover.load.batch_model import BatchMeasure, BatchWork, NodeTime, work_seconds
from drover.load.slot_offer import SlotOffer
from drover.spark.facts import BatchFacts


def measure_batch(facts: BatchFacts, offer: SlotOffer) -> BatchMeasure:
    """Return what a batch had to do, what it did it with, and how long its phases took."""
    whole, streamed = node_times(facts)
    sent = [edge for one in facts.operators for edge in one.edges]
    work = BatchWork(
        rows=float(sum(facts.rows_in.values())),
        routed_bytes=float(sum(edge.bytes for edge in facts.routed)),
        hops=float(facts.hops),
        work=work_seconds(whole, streamed, offer.cores or max(facts.nodes, 1), facts.pieces),
        result_rows=float(sum(facts.rows_out.values())),
        result_bytes=float(facts.result_bytes),
        state_bytes=float(facts.state_bytes),
    )
    in_operators = sum(one.sample.busy for one in facts.operators)
    in_queries = 0.0 if facts.queries is None else sum(facts.queries.busy)
    return BatchMeasure(
        work,
        facts.seconds.compute,
        facts.seconds.routing,
        facts.seconds.sinks,
        facts.seconds.commit,
        facts.nodes,
        offer.slots,
        offer.cores,
        offer.trigger or 0.0,
        facts.engine,
        places=float(np.count_nonzero(whole.busy)),
        transfers=float(len(facts.routed) + 2 * len(sent)),
        moved_bytes=work.routed_bytes + 2.0 * sum(edge.bytes for edge in sent),
        overhead=max(float(whole.busy.sum()) - in_operators - in_queries, 0.0),
        busy=float(whole.busy.sum()),
        waited=float(np.sum(whole.waited)),
    )


def node_times(facts: BatchFacts) -> tuple[NodeTime, NodeTime]:
    """Return the time of all that nodes did in a batch, and of what they did in pieces."""
    busy = np.array(facts.hop_busy or [facts.busy], dtype=np.float64)
    waited, streamed, streamed_waited = (np.zeros_like(busy) for _ in range(3))
    for one in facts.operators:
        place = (one.place.hop if facts.hop_busy else 0, one.place.node)
        waited[place] += one.sample.waited
        if one.pieces > 1:
            streamed[place] += one.sample.busy
            streamed_waited[place] += one.sample.waited
    return NodeTime(busy, waited), NodeTime(streamed, streamed_waited)
