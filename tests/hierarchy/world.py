"""All machines of a tree on a network that loses, repeats and reorders messages, and the invariants that must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from numpy.random import default_rng

from drover.hierarchy.durable_state import DurableState, replay
from drover.hierarchy.machine import Machine, initial_snapshot
from drover.hierarchy.messages import Closed, HandedOut, Handover, Message, Record, Start, StepEffects, TookIn
from drover.hierarchy.node_state import NEVER, ROUNDING, NodeConfig, Phase, Timing
from drover.hierarchy.queries import Queries, placement_faults
from drover.hierarchy.thresholds import Size, TreeThresholds, add, level
from drover.hierarchy.transfers import open_transfers
from drover.hierarchy.tree import ROOT, Tree
from drover.hierarchy.validation import check_message

SWINGS = {  # by what they are multiplied, and within which bounds; a node has room for 20 to 40
    "grow": (2.0, 1.0, 20.0),
    "shrink": (0.5, 1.0, 20.0),
    "one grows": (3.0, 1.0, 20.0),
    "one is gone": (0.0, 0.0, 0.0),
    "one is too large for any": (1.0, 100.0, 100.0),
}
DYING = ("before it writes", "before it acts", "before it speaks", "between two messages")


@dataclass(slots=True)
class World:
    """The nodes; `journal` is what their disks hold, `wire` the messages on their way, in no order."""

    places: Sequence[NodeConfig]
    machines: list[Machine | None]
    journal: list[list[Record]]
    running: list[set[int]]
    wire: list[Message] = field(default_factory=list)
    now: float = 0.0
    skew: list[float] = field(default_factory=list)  # what each node's clock is ahead of `now`; nothing if it is not
    count: Counter[str] = field(default_factory=Counter)

    def carry_out(self, node: int, output: StepEffects, dies: str = "") -> None:
        """Apply the effects of a step in order, unless the node dies in between."""
        if dies == DYING[0]:
            return self.crash(node)
        for record in output.records:
            self._check_record(node, record)
        self._check_giver(node, output)
        self.journal[node] += output.records
        if dies == DYING[1]:
            return self.crash(node)
        for action in output.actions:
            if isinstance(action, Start):
                assert self.running[node].isdisjoint(action.operators)
                self.running[node].update(action.operators)
            else:
                assert self.running[node].issuperset(action.operators)
                self.running[node].difference_update(action.operators)
        if dies == DYING[2]:
            return self.crash(node)
        self.wire += output.messages[: len(output.messages) // 2 if dies else None]
        return self.crash(node) if dies else None

    def deliver(self, index: int, dies: str = "") -> None:
        """Deliver a message; it is lost if its receiver is down."""
        message = self.wire.pop(index)
        check_message(message, self.places[message.receiver])  # no machine says what another would refuse to hear
        machine = self.machines[message.receiver]
        if machine is not None:
            self.carry_out(message.receiver, machine.receive(message, self.clock(message.receiver)), dies)

    def clock(self, node: int) -> float:
        """Return the time on a node's own clock."""
        return self.now + (self.skew[node] if self.skew else 0.0)

    def tick(self, node: int, dies: str = "") -> None:
        """Advance the time until a node is due."""
        machine = self.machines[node]
        if machine is not None and machine.wake < NEVER:
            self.now += max(0.0, machine.wake - self.clock(node))
            self.carry_out(node, machine.tick(max(self.clock(node), machine.wake)), dies)

    def swing(self, node: int, how: str) -> None:
        """Scale the sizes of all operators that a node runs, or of one of them."""
        machine = self.machines[node]
        if machine is None or not machine.sizes:
            return
        factor, least, most = SWINGS[how]
        chosen = [self.count["taken in"] % len(machine.sizes)] if "one" in how else range(len(machine.sizes))
        own = list(machine.sizes.items())
        sizes = {own[at][0]: tuple(min(max(each * factor, least), most) for each in own[at][1]) for at in chosen}
        for each in filter(None, self.machines):
            each.measure(sizes)

    def crash(self, node: int) -> None:
        """Crash a node: it loses everything but its journal."""
        self.count["crash"] += 1
        self.machines[node] = None
        self.running[node].clear()

    def restart(self, node: int, dies: str = "") -> None:
        """Start a node that is down."""
        if self.machines[node] is None:
            now = self.clock(node)
            machine = Machine(self.places[node], self.journal[node], now, now)
            self.machines[node] = machine
            self.carry_out(node, machine.output, dies)

    def durable_states(self) -> list[DurableState]:
        """Return the durable state in the journals."""
        return [replay(journal) for journal in self.journal]

    def holders(self) -> dict[int, list[int]]:
        """Return the owner of each operator: it changes when the receiver of a hand-over takes it."""
        return holders(self.durable_states(), len(self.places[0].queries))

    def check(self) -> None:
        """Fail unless every operator has one owner, runs at most once, and runs where its inputs pass."""
        place = self.places[0]
        holders = self.holders()
        assert {len(nodes) for nodes in holders.values()} == {1}, f"lost or doubled: {holders}"
        runs = Counter(operator for running in self.running for operator in running)
        assert not runs or max(runs.values()) == 1, f"running twice: {runs}"
        node_of = [holders[j][0] for j in range(len(place.queries))]
        assert list(placement_faults(place.tree, place.queries, node_of)) == []
        for node, machine in enumerate(self.machines):
            if machine is not None:
                assert self.running[node] == set(machine.running)
                assert self.running[node] <= {j for j, at in enumerate(node_of) if at == node}
                assert replay(self.journal[node]).sizes.keys() == machine.sizes.keys()

    def _check_record(self, node: int, record: Record) -> None:
        """Fail if operators move where they cannot run, or fill a node beyond its upper threshold."""
        machine = self.machines[node]
        place = self.places[node]
        if isinstance(record, HandedOut):
            self._check_handover(place, record.handover)
        if isinstance(record, TookIn) and record.bundles:
            assert machine is not None
            assert machine.level <= place.thresholds.upper, "filled beyond the upper mark by what it has accepted"
            self.count["taken in"] += 1
        if isinstance(record, TookIn) and not record.bundles:
            self.count["refused"] += 1
        if isinstance(record, Closed):
            self.count["closed"] += 1

    def _check_handover(self, place: NodeConfig, handover: Handover) -> None:
        self.count["handed out"] += 1
        here = replay(self.journal[place.node]).sizes
        ways = {(each.operators, each.receiver) for each in open_transfers(place.tree, place.queries, place.node, here)}
        assert {(bundle.operators, handover.receiver) for bundle in handover.bundles} <= ways
        assert len(set(handover.operators)) == len(handover.operators)

    def _check_giver(self, node: int, output: StepEffects) -> None:
        """Fail if a node gives so much that it falls below the target."""
        machine = self.machines[node]
        place = self.places[node]
        if machine is not None and any(isinstance(record, HandedOut) for record in output.records):
            left = add((machine.sizes[j] for j in machine.running), (0.0,) * len(place.capacity))
            assert level(left, place.capacity) >= place.thresholds.target - ROUNDING, "it has given too much"

    def recover(self) -> None:
        """Repair everything and start nothing new: every round must end, and every operator must run exactly once."""
        for node in range(len(self.machines)):
            self.restart(node)
            machine = self.machines[node]
            assert machine is not None
            machine.state.next_check = NEVER
        for _ in range(200):
            while self.wire:
                self.deliver(0)
            self.check()
            waiting = [node for node, each in enumerate(self.machines) if each and each.phase is not Phase.IDLE]
            if not waiting:
                break
            self.tick(waiting[0])
        assert all(each is not None and each.phase is Phase.IDLE for each in self.machines), "a round does not end"
        assert sorted(j for running in self.running for j in running) == list(range(len(self.places[0].queries)))


def holders(durable_states: Sequence[DurableState], operators: int) -> dict[int, list[int]]:
    """Return the owner of each operator: it changes when the receiver of a hand-over takes it."""
    found: dict[int, list[int]] = {j: [] for j in range(operators)}
    for node, state in enumerate(durable_states):
        gone = {
            operator
            for receiver, handover in state.pending.items()
            if (decision := durable_states[receiver].decided.get(node)) and decision.serial == handover.serial
            for operator in decision.taken
        }
        for operator in state.sizes.keys() - gone:
            found[operator].append(node)
    return found


def world_of(
    tree: Tree,
    queries: Queries,
    node_of: Sequence[int],
    sizes: Sequence[Size],
    capacity: Sequence[Size],
    thresholds: TreeThresholds | None = None,
) -> World:
    """Return a world of nodes that have just started, and check their levels after one, two, ... seconds."""
    marks = thresholds or TreeThresholds()
    places = [NodeConfig(node, tree, queries, capacity[node], marks, Timing()) for node in range(len(tree))]
    own = [{j: sizes[j] for j, at in enumerate(node_of) if at == node} for node in range(len(tree))]
    journal: list[list[Record]] = [[initial_snapshot(each)] for each in own]
    world = World(places, [], journal, [set() for _ in places])
    for node, place in enumerate(places):
        machine = Machine(place, journal[node], 0.0, float(node))
        world.machines.append(machine)
        world.carry_out(node, machine.output)
    return world


def crowded(seed: int, resources: int) -> World:
    """Return a world in which most nodes are too full or too empty, so that there is much to negotiate."""
    rng = default_rng(seed)
    n = int(rng.integers(2, 6))
    m = int(rng.integers(6, 16))
    tree = Tree((ROOT, *(int(rng.integers(i)) for i in range(1, n))))
    inputs = list[tuple[int, ...]]()
    entries = list[tuple[int, ...]]()
    node_of = list[int]()
    for j in range(m):
        inputs.append(tuple(int(each) for each in rng.permutation(j)[: rng.choice((0, 1, 2), p=(0.5, 0.4, 0.1))]))
        entries.append(() if inputs[-1] and rng.random() < 0.9 else (int(rng.integers(n)),))
        above = list(tree.path(tree.meet([*(node_of[other] for other in inputs[-1]), *entries[-1]])))
        node_of.append(above[int(rng.integers(len(above)))])
    sizes = rng.choice((1.0, 2.0, 4.0, 8.0), size=(m, resources))
    capacity = [(float(each),) * resources for each in rng.choice((20.0, 30.0, 40.0), size=n)]
    return world_of(
        tree, Queries(tuple(inputs), tuple(entries)), node_of, [tuple(each) for each in sizes.tolist()], capacity
    )
