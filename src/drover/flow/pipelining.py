"""Pipelining: which operators of a batch run piece by piece, in how many pieces, and what each step waits for.

With barriers between hops, one node waits while the other works. In pieces, a node works on the next piece meanwhile.

Rule 1: an operator is streamed if its result for a row depends on this row alone, and if all its rows come from sources
or from other streamed operators. Its pieces, one after the other, are then what it makes of all rows at once.
Rule 2: all other operators wait for the last piece, and run once, on all rows.
Rule 3: the number of pieces changes no result, so it may follow from measurements, and differ on a replay.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Final, NamedTuple

from drover.flow.parking import Parking
from drover.flow.schedule import HopNode, Schedule
from drover.network.model import Network
from drover.network.operators import OPERATORS, Operator

# Seconds that a further piece adds for each place with streamed operators: a request, a delivery, and one more call of
# every operator. Two nodes in processes of their own took 3 to 5 ms more for each piece, on two busy cores.
PIECE_SECONDS: Final = 0.002
MOST_PIECES: Final = 8  # with 8, an eighth of what could be saved is left; twice as many would save half of that
NO_NODE: Final = -1


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The streamed operators of a batch, and in how many pieces they get their rows.

    `feeds` has the places with streamed operators, and for each the places whose streamed rows it reads.
    """

    pieces: int
    streamed: frozenset[str]
    feeds: Mapping[HopNode, tuple[HopNode, ...]]

    @property
    def is_on(self) -> bool:
        """Whether anything runs in pieces."""
        return self.pieces > 1


UNPIPELINED: Final = Pipeline(1, frozenset(), {})


def pipeline_of(schedule: Schedule, parking: Parking, busy: Mapping[str, float]) -> Pipeline:
    """Return how to run a batch; `busy` has the seconds that operators took in the batch before."""
    streamed = streamed_operators(schedule, parking)
    return make_pipeline(schedule, streamed, best_pieces(schedule, streamed, busy))


def make_pipeline(schedule: Schedule, streamed: frozenset[str], pieces: int) -> Pipeline:
    """Return how to run a batch in so many pieces."""
    feeds = feeds_of(schedule, streamed)
    return Pipeline(pieces, streamed, feeds) if pieces > 1 and feeds else UNPIPELINED


def streamed_operators(schedule: Schedule, parking: Parking) -> frozenset[str]:
    """Return the operators that may run piece by piece."""
    # An operator that has something to hold, to work off or to drop has state in this batch.
    absent = parking.names | parking.stateful
    found: set[str] = set()
    streams: set[str] = set()
    for place in sorted(schedule.runs):
        for operator in schedule.runs[place]:
            ready = all(stream in streams or stream not in schedule.made_at for stream in operator.inputs)
            # The draws of rows for a spread join depend on what is sent together.
            dealt = any(stream in schedule.distributions for stream in operator.outputs)
            if ready and not dealt and operator.name not in absent and is_row_wise(operator):
                found.add(operator.name)
                streams.update(operator.outputs)
    return frozenset(found)


def is_row_wise(operator: Operator) -> bool:
    """Return whether the result of an operator for a row depends on this row alone."""
    kind = OPERATORS.get(operator.kind)  # an instance of a spread join has no kind of its own
    return kind is not None and kind.row_wise and not operator.holds_state


def may_be_streamed(network: Network) -> frozenset[str]:
    """Return the operators that are streamed under plans without spread joins, if nothing is parked."""
    found: set[str] = set()
    streams = {source.name for source in network.sources}
    for operator in network.order:
        if is_row_wise(operator) and streams.issuperset(operator.inputs):
            found.add(operator.name)
            streams.update(operator.outputs)
    return frozenset(found)


def feeds_of(schedule: Schedule, streamed: frozenset[str]) -> dict[HopNode, tuple[HopNode, ...]]:
    """Return the places with streamed operators, and for each the places whose streamed rows it reads."""
    found: dict[HopNode, tuple[HopNode, ...]] = {}
    for place in sorted(schedule.runs):
        inputs = [stream for one in schedule.runs[place] if one.name in streamed for stream in one.inputs]
        if inputs:
            makers = {maker for stream in inputs for maker in schedule.made_at.get(stream, ())}
            found[place] = tuple(sorted(makers - {place}))
    return found


def best_pieces(schedule: Schedule, streamed: frozenset[str], busy: Mapping[str, float]) -> int:
    """Return the number of pieces in which a batch is expected to take least; 1 if pieces would not help."""
    save = waiting_seconds(schedule, streamed, busy)
    if not save:
        return 1
    # In P pieces, waiting takes 1/P of the time, and pieces take P times their cost: least at the root of the ratio.
    cost = PIECE_SECONDS * len(feeds_of(schedule, streamed))
    return max(min(MOST_PIECES, int(math.sqrt(save / cost))), 1)


def waiting_seconds(schedule: Schedule, streamed: frozenset[str], busy: Mapping[str, float]) -> float:
    """Return how long nodes would wait at the ends of hops for streamed operators, on the critical path."""
    hops: dict[int, float] = defaultdict(float)  # the slowest node of each
    nodes: dict[int, float] = defaultdict(float)
    for place, operators in schedule.runs.items():
        seconds = sum(busy.get(one.name, 0.0) for one in operators if one.name in streamed)
        hops[place.hop] = max(hops[place.hop], seconds)
        nodes[place.node] += seconds
    return max(sum(hops.values()) - max(nodes.values(), default=0.0), 0.0)


def working(schedule: Schedule) -> list[HopNode]:
    """Return the places that have work, hop by hop."""
    return sorted({*schedule.runs, *schedule.herds})


class Step(NamedTuple):
    """What a node does at a request: a piece of the streamed operators of a place, or else all the rest."""

    place: HopNode
    piece: int | None = None


class Wave:
    """The order of the steps of a batch: what may run now, given what has ended."""

    def __init__(self, schedule: Schedule, pipeline: Pipeline) -> None:
        self._left: TopologicalSorter[Step] = TopologicalSorter()
        for step, before in _orders(schedule, pipeline):
            self._left.add(step, *before)
        self._left.prepare()

    def ready(self) -> list[Step]:
        """Return the steps that may begin now; each is returned once."""
        found: list[Step] = []
        while begun := self._left.get_ready():
            for step in begun:
                if step.place.node == NO_NODE:
                    self._left.done(step)
                else:
                    found.append(step)
        # Older pieces first: a node runs requests in the order in which they come.
        return sorted(found, key=lambda step: (step.piece is None, step.piece or 0, step.place))

    def end(self, step: Step) -> None:
        """Note that a step has ended."""
        self._left.done(step)


def _orders(schedule: Schedule, pipeline: Pipeline) -> Iterator[tuple[Step, list[Step]]]:
    """Yield every step with those before it. The end of a hop is a step without a node, or there were n * n orders."""
    feeds = pipeline.feeds if pipeline.is_on else {}
    for piece in range(pipeline.pieces):
        for place, makers in feeds.items():
            yield Step(place, piece), [Step(maker, piece) for maker in makers]
    places = working(schedule)
    hops = sorted({place.hop for place in places})
    ended = dict(zip(hops[1:], (Step(HopNode(hop, NO_NODE)) for hop in hops), strict=False))
    for place in places:
        mine = [Step(place, piece) for piece in range(pipeline.pieces)] if place in feeds else []
        before = [ended[place.hop]] if place.hop in ended else []
        yield Step(place), mine + before
        yield Step(HopNode(place.hop, NO_NODE)), [Step(place)]
