"""All machines of a tree, each with a runner that is late, slow, repeats itself and outlives its agent."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from drover.agents.stop_ledger import StopLedger
from drover.hierarchy.messages import Message, Start, StepEffects
from tests.hierarchy.world import DYING, World, crowded


@dataclass(frozen=True, slots=True)
class Order:
    """A line that an agent has printed and its runner has not read yet: start, or stop if it has a number."""

    operators: tuple[int, ...]
    number: str = ""


@dataclass(slots=True)
class RunnerWorld(World):
    """`running` is what the runners do, which is not what the agents have said."""

    ledgers: list[StopLedger] = field(default_factory=list)
    orders: list[deque[Order]] = field(default_factory=list)
    acknowledged: list[list[str]] = field(default_factory=list)  # lines on their way, in no order
    careless: bool = False  # as if nobody held a hand-over back

    def carry_out(self, node: int, output: StepEffects, dies: str = "") -> None:
        """Apply the effects of a step as an agent does, unless it dies in between."""
        if dies == DYING[0]:
            return self.crash(node)
        self.journal[node] += output.records
        if dies == DYING[1]:
            return self.crash(node)
        ledger = self.ledgers[node]
        for action in output.actions:
            number = "" if isinstance(action, Start) else ledger.request(action.operators, self.now).number
            self.orders[node].append(Order(action.operators, number))
        leaving: Sequence[Message] = ledger.hold_back(output.messages)
        if self.careless:
            leaving = output.messages
        if dies == DYING[2]:
            return self.crash(node)
        self.wire += leaving[: len(leaving) // 2 if dies else None]
        return self.crash(node) if dies else None

    def crash(self, node: int) -> None:
        """Crash an agent. Its runner goes on, reads what was printed, and writes to nobody."""
        self.count["crash"] += 1
        self.machines[node] = None

    def restart(self, node: int, dies: str = "") -> None:
        """Start an agent that is down; it asks again about hand-overs without an answer."""
        if self.machines[node] is None:
            self.ledgers[node] = StopLedger(self.durable_states()[node].life + 1)
            stopped = tuple(sorted(self.durable_states()[node].stopped))
            if stopped:
                self.orders[node].append(Order(stopped, self.ledgers[node].request(stopped, self.now).number))
            World.restart(self, node, dies)

    def obey(self, node: int) -> None:
        """Let a runner read one line."""
        if not self.orders[node]:
            return
        order = self.orders[node].popleft()
        if not order.number:
            self.running[node].update(order.operators)  # what runs already goes on
        else:
            self.running[node].difference_update(order.operators)
            self.acknowledged[node].append(order.number)

    def hear(self, node: int, index: int, *, again: bool = False) -> None:
        """Deliver an acknowledgement, or a copy of it; it is lost if the agent is down."""
        lines = self.acknowledged[node]
        number = lines[index] if again else lines.pop(index)
        if self.machines[node] is None:
            return
        ended, messages = self.ledgers[node].acknowledge(number)
        self.count["ended" if ended else "stale"] += 1
        self.wire += messages

    def check(self) -> None:
        """Fail unless every operator has one owner and at most one runner, which is the owner's."""
        holders = self.holders()
        assert {len(nodes) for nodes in holders.values()} == {1}, f"lost or doubled: {holders}"
        runs = Counter(operator for running in self.running for operator in running)
        assert not runs or max(runs.values()) == 1, f"running twice: {runs}"
        for node, running in enumerate(self.running):
            assert {each for j in running for each in holders[j]} <= {node}, "running where its owner is not"

    def recover(self) -> None:
        """Repair everything and let all runners catch up: every operator must run exactly once."""
        for node in range(len(self.machines)):
            self.restart(node)
        for _ in range(50):
            for node in range(len(self.machines)):
                while self.orders[node]:
                    self.obey(node)
                while self.acknowledged[node]:
                    self.hear(node, 0)
            for machine in filter(None, self.machines):
                machine.state.next_check = float("inf")
            while self.wire:
                self.deliver(0)
            for node in range(len(self.machines)):
                self.tick(node)
            self.check()
        assert sorted(j for running in self.running for j in running) == list(range(len(self.places[0].queries)))


def runner_world(seed: int, *, careless: bool = False) -> RunnerWorld:
    """Return a world in which there is much to hand over."""
    made = crowded(seed, 1)
    n = len(made.places)
    world = RunnerWorld(
        made.places,
        [None] * n,
        [list(each) for each in made.journal],
        [set() for _ in range(n)],
        ledgers=[StopLedger(0) for _ in range(n)],
        orders=[deque() for _ in range(n)],
        acknowledged=[[] for _ in range(n)],
        careless=careless,
    )
    for node in range(n):
        world.restart(node)
    return replace(world, count=Counter())
