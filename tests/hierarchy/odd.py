"""Unusual worlds: a single node, long chains, wide stars, and sizes from 0 to more than any node has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from numpy.random import Generator, default_rng

from drover.hierarchy.messages import Handover, HandoverReply, Message
from drover.hierarchy.node_state import NEVER, Phase
from drover.hierarchy.queries import Queries
from drover.hierarchy.thresholds import Size
from drover.hierarchy.tree import ROOT, Tree, balanced
from tests.hierarchy.world import World, world_of

SHAPES = {
    "one": Tree((ROOT,)),
    "pair": Tree((ROOT, 0)),
    "chain": balanced(10, fan_out=1),
    "star": Tree((ROOT, *([0] * 50))),
    "levels": balanced(7),
}
SIZES = (0.0, 0.0, 1.0, 4.0, 4.0, 4.0, 8.0, 60.0)  # many alike, and such as no node has room for
CAPACITIES = (10.0, 20.0, 40.0, 1e-9)  # the last has room for nothing but what is nothing
REMEMBERED = 400  # messages that may come again


def odd(shape: str, seed: int, resources: int) -> World:
    """Return a world of this shape in which operators often read two children, and capacities are uneven."""
    rng = default_rng(seed)
    tree = SHAPES[shape]
    n = len(tree)
    m = int(rng.integers(8, 24))
    inputs = list[tuple[int, ...]]()
    entries = list[tuple[int, ...]]()
    node_of = list[int]()
    for j in range(m):
        read = tuple(int(each) for each in rng.permutation(j)[: rng.choice((0, 1, 2), p=(0.4, 0.3, 0.3))])
        sources = tuple(int(each) for each in rng.integers(n, size=1 if not read else int(rng.integers(2))))
        lowest = tree.meet([*(node_of[other] for other in read), *sources])
        above = list(tree.path(lowest))
        node_of.append(above[min(int(rng.geometric(0.5)) - 1, len(above) - 1)])
        inputs.append(read)
        entries.append(sources)
    sizes: list[Size] = [tuple(each) for each in rng.choice(SIZES, size=(m, resources)).tolist()]
    capacity = [_capacity(rng, resources) for _ in range(n)]
    world = world_of(tree, Queries(tuple(inputs), tuple(entries)), node_of, sizes, capacity)
    world.skew = [0.0] * n
    return world


def _capacity(rng: Generator, resources: int) -> Size:
    return tuple(rng.choice(CAPACITIES, p=(0.35, 0.3, 0.3, 0.05), size=resources).tolist())


@dataclass(slots=True)
class Day:
    """A world, all messages ever sent in it, and the broken connections: pairs of a node and its parent."""

    world: World
    said: list[Message] = field(default_factory=list)
    cut: set[tuple[int, int]] = field(default_factory=set)

    def edge(self, child: int) -> tuple[int, int]:
        """Return the connection from a node other than the root to its parent."""
        return child, self.world.places[0].tree.parent[child]

    def look(self, nodes: Sequence[int], messages: int, until: tuple[type, ...] = ()) -> None:
        """Let nodes check their levels, and deliver messages until one of the given kinds is on its way."""
        for node in nodes:
            self.world.tick(node)
        for _ in range(messages):
            self.said = [*self.said, *(each for each in self.world.wire if each not in self.said)][-REMEMBERED:]
            index = next((i for i, each in enumerate(self.world.wire) if self._open(each)), None)
            if index is None or isinstance(self.world.wire[index], until):
                return
            self.world.deliver(index)
            self.world.check()

    def _open(self, message: Message) -> bool:
        return not {(message.sender, message.receiver), (message.receiver, message.sender)} & self.cut

    def hear_of_old(self, index: int) -> None:
        """Deliver an old message once more, however old it is, also from before a restart."""
        if self.said:
            self.world.count["of old"] += 1
            self.world.wire.append(self.said[index % len(self.said)])
            self.world.deliver(len(self.world.wire) - 1)

    def cut_line(self, child: int, *, lost: bool) -> None:
        """Break a connection: messages on it are lost, or wait until it is repaired."""
        self.cut.add(self.edge(child))
        if lost:
            self.world.wire = [each for each in self.world.wire if self._open(each)]

    def cut_handover(self, node: int, *, lost: bool) -> None:
        """Break the connection of a hand-over at once: before it arrives, or before it is answered."""
        self.look([node], 30, (Handover, HandoverReply))
        for message in self.world.wire:
            if isinstance(message, Handover | HandoverReply) and self._open(message):
                self.world.count["cut in a hand-over"] += 1
                self.cut_line(max(message.sender, message.receiver), lost=lost)
                return

    def heal(self, messages: int) -> None:
        """Repair all connections."""
        self.cut.clear()
        self.look([], messages)

    def kill_neighbours(self, child: int, dies: str) -> None:
        """Crash both ends of a connection, one of them while it handles a message, preferably in a hand-over."""
        machines = [machine for machine in self.world.machines if machine is not None]
        under_way = [each for machine in machines for each in machine.state.durable.pending.values()]
        ends = (under_way[0].sender, under_way[0].receiver) if under_way else self.edge(child)
        self.world.count["both died in a hand-over"] += bool(under_way)
        for index, message in enumerate(self.world.wire):
            if message.receiver in ends and self.world.machines[message.receiver] is not None:
                self.world.deliver(index, dies)
                break
        for node in ends:
            if self.world.machines[node] is not None:
                self.world.crash(node)

    def restart(self, dies: str) -> None:
        """Restart all nodes that are down; some crash again while they start."""
        for node in range(len(self.world.machines)):
            self.world.restart(node, dies)


def calm_down(world: World) -> int:
    """Let nodes look around and be heard until nothing is handed over any more; return in how many periods.

    Who has too much takes nothing, and who has too little gives nothing, so this ends once each operator has left the
    one and come to the other, at the latest.
    """
    operators = len(world.places[0].queries)
    for period in range(2 * operators + 2):
        before = world.count["taken in"]
        for node, machine in enumerate(world.machines):
            assert machine is not None
            assert machine.phase is Phase.IDLE
            machine.state.next_check = world.clock(node)
            world.tick(node)
            machine.state.next_check = NEVER
            while world.wire:
                world.deliver(0)
            world.check()
        if world.count["taken in"] == before:
            return period
    raise AssertionError("operators go to and fro for ever")
