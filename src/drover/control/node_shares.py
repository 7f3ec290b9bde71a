"""Which nodes expected queries prefer: popularity is known, so all of them are placed at once, before any arrives.

Rule 1: an arrival goes to a node with the probability of the share that its type has there [Zong15, section 5.2.1].
Rule 2: balance comes first. A query whose node is full, or whose type is not expected, is placed as if nothing were
known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import default_rng

from drover.herding.herd import Herd, Snapshot
from drover.load.arrays import Floats, Ints

SLACK: Final = 0.05  # a node may get this fraction more than its share, as in `Herd`


@dataclass(frozen=True, slots=True, eq=False)
class NodeShares:
    """By type, that is, the sorted numbers of its topics as bytes: its nodes, and the cumulative shares there."""

    by_type: Mapping[bytes, tuple[Ints, Floats]]

    def preferred(self, start: Ints, source: Ints, draws: Floats) -> Floats:
        """Return the preferred node of each query, (n,), or -1; queries are as in a herding problem."""
        found = np.full(len(start) - 1, -1.0)
        for query in range(len(found)):
            known = self.by_type.get(source[start[query] : start[query + 1]].tobytes())
            if known is not None:
                nodes, shares = known
                found[query] = nodes[min(int(np.searchsorted(shares, draws[query], side="right")), len(nodes) - 1)]
        return found


def share_out(types: Sequence[Ints], counts: Floats, rate: Floats, capacity: Floats) -> NodeShares:
    """Return where queries of these types go, given how many of each come; a closed node has `capacity`, (k,), 0."""
    found = [_place(types, counts, rate, capacity, order) for order in _orders(types, counts, len(rate))]
    load = min(found, key=lambda one: one[0])[1]
    return NodeShares({one.tobytes(): _cumulative(load[t]) for t, one in enumerate(types)})


def _orders(types: Sequence[Ints], counts: Floats, topics: int) -> Iterator[Ints]:
    """Yield orders of types: the largest first, and those with the rarest topic first. Neither is always better."""
    yield np.argsort(-counts, kind="stable")
    read = np.zeros(topics)
    for one, count in zip(types, counts, strict=True):
        read[one] += count
    yield np.lexsort((-counts, np.array([read[one].min() for one in types])))


def _place(types: Sequence[Ints], counts: Floats, rate: Floats, capacity: Floats, order: Ints) -> tuple[float, Floats]:
    """Place whole types where they add least traffic, as far as they fit; return traffic and loads, (t, k)."""
    room = (1 + SLACK) * counts.sum() * capacity / capacity.sum()
    held = np.zeros((len(capacity), len(rate)), dtype=np.bool_)
    load = np.zeros((len(types), len(capacity)))
    for t in order.tolist():
        left = float(counts[t])
        while left > 0:
            # Slack leaves room on some node until all queries are placed, but for rounding.
            added = np.where(room > 0, (~held[:, types[t]]) @ rate[types[t]], np.inf)
            node = int(np.lexsort((-room, added))[0])
            part = min(left, float(room[node])) if room[node] > 0 else left
            load[t, node] += part
            room[node] -= part
            held[node, types[t]] = True
            left -= part
    return _refined(types, load, rate, capacity)


def _refined(types: Sequence[Ints], load: Floats, rate: Floats, capacity: Floats) -> tuple[float, Floats]:
    """Move what saves traffic; return traffic and loads, (t, k)."""
    kind, node = np.nonzero(load)
    herd = Herd.restored(
        Snapshot(
            policy="gather",
            slack=SLACK,
            allowance=0.0,
            rate=rate,
            capacity=capacity,
            query=np.arange(len(kind)),
            start=np.concatenate([[0], np.cumsum([len(types[t]) for t in kind.tolist()])]),
            source=np.concatenate([types[t] for t in kind.tolist()]),
            weight=load[kind, node] * len(kind) / load.sum(),
            state=np.zeros(len(kind)),
            server=node,
            free=np.empty(0, dtype=np.int64),
            arrived=len(kind),
            turn=0,
        ),
        default_rng(0),  # the policy draws nothing
    )
    herd.refine()
    after = np.zeros_like(load)
    np.add.at(after, (kind, herd.servers_of(np.arange(len(kind)))), load[kind, node])
    return float(herd.traffic.sum()), after


def _cumulative(load: Floats) -> tuple[Ints, Floats]:
    nodes = np.flatnonzero(load)
    return nodes, np.cumsum(load[nodes]) / load.sum()
