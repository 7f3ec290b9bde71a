"""An agent: the machine of one node, with a journal, lines to its neighbours, and operators that start and stop.

Rule 1: one thing at a time, in the order that the machine asks for: write, act, speak.
Rule 2: what the machine hears and when it looks around is all that happens here; nothing is decided.
"""

from __future__ import annotations

import asyncio
import errno
import random
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Final

from drover.agents.host import Host
from drover.agents.journal import Journal
from drover.agents.links import Address, Links
from drover.agents.seal import Seal
from drover.errors import DroverError
from drover.hierarchy.layout import Layout
from drover.hierarchy.machine import Machine, settle_in
from drover.hierarchy.messages import Message, Output
from drover.hierarchy.sound import check
from drover.hierarchy.thresholds import Size

HEARD: Final = 10_000  # messages that wait to be handled; more are lost

Measure = Callable[[], Mapping[int, Size]]


def address_of(text: str, name: str) -> Address:
    """Return host and port of a node's address."""
    host, _, port = text.rpartition(":")
    if not host:
        raise DroverError(f"nodes.{name}.address is empty, but its agent must be reached. Write host:port.")
    return host.strip("[]"), int(port)  # brackets around an IPv6 address are notation


def _cannot_listen(address: str, name: str, error: OSError) -> DroverError:
    if error.errno == errno.EADDRINUSE:
        reason, way_out = "somebody listens there already", "Stop that, which may be another agent of this node"
    else:
        reason, way_out = str(error.strerror), "Write an address of this machine"
    return DroverError(f"nodes.{name}.address is {address}, but cannot be listened on ({reason}). {way_out}.")


class Agent:
    """One node, from `run` to its end."""

    def __init__(self, layout: Layout, node: int, journal: Journal, host: Host, measure: Measure) -> None:
        self._layout, self._node, self._journal, self._host, self._measure = layout, node, journal, host, measure
        self._place = layout.place(node)
        self._inbox: asyncio.Queue[Message] = asyncio.Queue(HEARD)

    async def run(self, seal: Seal, stop: asyncio.Event, tell: Callable[[dict[str, object]], None]) -> None:
        """Listen, talk and negotiate until told to stop."""
        layout, loop = self._layout, asyncio.get_running_loop()
        reached = {
            each: address_of(layout.addresses[each], layout.nodes[each]) for each in layout.tree.neighbours(self._node)
        }
        self._links = Links(seal, reached, self._hear)
        async with AsyncExitStack() as stack:
            own = address_of(layout.addresses[self._node], layout.nodes[self._node])
            try:
                server = await self._links.listen(own)
            except OSError as error:
                raise _cannot_listen(layout.addresses[self._node], layout.nodes[self._node], error) from error
            stack.push_async_callback(self._links.hang_up)
            stack.callback(server.close)
            machine = self._wake_up(loop.time())  # after `listen`, which another agent of this node would not survive
            group = await stack.enter_async_context(asyncio.TaskGroup())
            talking = [group.create_task(self._links.talk(each)) for each in reached]
            tell({"listening": f"{own[0]}:{own[1]}", "life": machine.memory.estate.life})
            try:
                await self._negotiate(machine, stop, tell)
            finally:
                for task in talking:
                    task.cancel()

    def _hear(self, message: Message) -> None:
        check(message, self._place)
        with suppress(asyncio.QueueFull):
            self._inbox.put_nowait(message)

    def _wake_up(self, now: float) -> Machine:
        records = self._journal.read() or [settle_in(self._layout.begin(self._node))]
        period = self._layout.timing.period
        machine = Machine(self._place, records, now, now + random.uniform(0, period))
        self._journal.begin(machine.output.records)
        self._host.do(machine.output.actions)
        for message in machine.output.messages:
            self._links.send(message)
        return machine

    async def _negotiate(
        self, machine: Machine, stop: asyncio.Event, tell: Callable[[dict[str, object]], None]
    ) -> None:
        loop = asyncio.get_running_loop()
        stopping = asyncio.ensure_future(stop.wait())
        look = machine.memory.look
        while not stop.is_set():
            hearing = asyncio.ensure_future(self._inbox.get())
            wait = max(0.0, machine.wake - loop.time())
            await asyncio.wait((hearing, stopping), timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            if hearing.done():
                self._carry_out(machine.receive(hearing.result(), loop.time()))
            else:
                hearing.cancel()
            if loop.time() >= machine.wake:
                machine.measure(self._measure())
                self._carry_out(machine.tick(loop.time()))
            if machine.memory.look > look:
                look = machine.memory.look
                tell({"level": round(machine.level, 4), "phase": machine.phase.value, "running": len(machine.running)})
        stopping.cancel()

    def _carry_out(self, output: Output) -> None:
        if output.records:
            self._journal.append(output.records)
        self._host.do(output.actions)
        for message in output.messages:
            self._links.send(message)
