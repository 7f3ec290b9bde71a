"""Every interleaving there is, for worlds that are small enough.

From a state, anything may happen next: any message comes, is lost or doubled; any node looks around, or finds that it
has waited long enough, however early; any node dies, at each point of a step, and comes back; operators grow and
shrink. Only how often is bounded.
Time is left out: whatever could be late may be late at once, which is more than any clock would allow.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from drover.hierarchy.machine import CheckLevel, Machine, PhaseTimeout
from drover.hierarchy.messages import Message
from drover.hierarchy.node_state import NEVER, Phase
from tests.hierarchy.world import DYING, World


@dataclass(frozen=True, slots=True)
class Budget:
    """How often each kind of event may still happen."""

    looks: tuple[int, ...]  # by node
    late: int = 0
    lost: int = 0
    doubled: int = 0
    crashes: int = 0
    swings: tuple[tuple[int, float], ...] = ()  # operators that get another size, in this order


def copied(machine: Machine | None) -> Machine | None:
    """Return a copy of a machine."""
    if machine is None:
        return None
    other = object.__new__(Machine)
    other.state = copy.copy(machine.state)
    for each in fields(other.state):
        value = getattr(other.state, each.name)
        if isinstance(value, dict | list):
            setattr(other.state, each.name, copy.copy(value))
    other.state.durable = copy.copy(machine.state.durable)
    for each in fields(other.state.durable):
        setattr(other.state.durable, each.name, copy.copy(getattr(other.state.durable, each.name)))
    return other


def branched(world: World) -> World:
    """Return a copy of a world; each journal is reduced to one snapshot."""
    return replace(
        world,
        machines=[copied(machine) for machine in world.machines],
        journal=[[state.snapshot()] for state in world.durable_states()],
        running=[set(each) for each in world.running],
        wire=list(world.wire),
    )


def key(world: World, budget: Budget) -> Any:
    """Return a key that identifies a state: everything but the time and the order of messages."""
    nodes = tuple(
        None
        if machine is None
        else (
            machine.phase,
            machine.state.rounds,
            machine.state.round,
            tuple(machine.state.asked.values()),
            tuple(machine.state.replies.values()),
            machine.state.promise,
            machine.state.tries,
        )
        for machine in world.machines
    )
    wire = tuple(sorted(map(hash, world.wire)))
    return nodes, tuple(state.snapshot() for state in world.durable_states()), wire, budget


def nexts(world: World, budget: Budget) -> Iterator[tuple[World, Budget]]:
    """Yield every possible next state."""
    for index, message in enumerate(world.wire):
        if message in world.wire[:index]:
            continue  # its double comes to the same
        yield from _deliveries(world, budget, index, message)
    if budget.swings:
        after = branched(world)
        ((operator, size), *rest) = budget.swings
        for each in filter(None, after.machines):
            each.measure({operator: (size,)})
        yield after, replace(budget, swings=tuple(rest))
    for node, machine in enumerate(world.machines):
        if machine is None:
            after = branched(world)
            after.restart(node)
            yield after, budget
            continue
        if machine.phase is Phase.IDLE and budget.looks[node]:
            looks = tuple(count - (at == node) for at, count in enumerate(budget.looks))
            yield from _steps(world, replace(budget, looks=looks), node, CheckLevel())
        if machine.state.due < NEVER and budget.late:
            yield from _steps(world, replace(budget, late=budget.late - 1), node, PhaseTimeout())


def _deliveries(world: World, budget: Budget, index: int, message: Message) -> Iterator[tuple[World, Budget]]:
    for dies in ("", *DYING) if budget.crashes else ("",):
        after = branched(world)
        after.deliver(index, dies if after.machines[message.receiver] is not None else "")
        yield after, replace(budget, crashes=budget.crashes - bool(dies))
    if budget.lost:
        after = branched(world)
        after.wire.pop(index)
        yield after, replace(budget, lost=budget.lost - 1)
    if budget.doubled:
        after = branched(world)
        after.wire.append(message)
        yield after, replace(budget, doubled=budget.doubled - 1)


def _steps(world: World, budget: Budget, node: int, event: CheckLevel | PhaseTimeout) -> Iterator[tuple[World, Budget]]:
    for dies in ("", *DYING) if budget.crashes else ("",):
        after = branched(world)
        machine = after.machines[node]
        assert machine is not None
        machine._step(event, 0.0)
        after.carry_out(node, machine.state.flush(), dies)
        yield after, replace(budget, crashes=budget.crashes - bool(dies))


def explore(world: World, budget: Budget) -> tuple[int, int]:
    """Check every reachable state, and the recovery from it; return the numbers of states and of final states."""
    seen = {key(world, budget)}
    open_: list[tuple[World, Budget]] = [(world, budget)]
    moved = 0
    start = world.holders()
    while open_:
        here, left = open_.pop()
        here.check()
        for after, rest in nexts(here, left):
            mark = key(after, rest)
            if mark not in seen:
                seen.add(mark)
                open_.append((after, rest))
        here.recover()  # the last that is done with it
        moved += here.holders() != start
    return len(seen), moved
