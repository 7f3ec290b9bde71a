"""An agent: the state machine of one node, with a journal, connections to its neighbours, and a runner of operators.

Rule 1: an agent does one thing at a time, in the order that the machine requires: write, act, send.
Rule 2: an agent only passes on messages and the time. The machine makes every decision.
Rule 3: the host decides when a hand-over leaves: when the runner has acknowledged that its operators have stopped.
Rule 4: an agent that ends tells the runner to stop everything, and waits for the acknowledgement for a while.
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
from drover.agents.links import Address, PeerConnections
from drover.agents.seal import MessageSeal
from drover.errors import DroverError
from drover.hierarchy.layout import TreeFile
from drover.hierarchy.machine import Machine, initial_snapshot
from drover.hierarchy.messages import Message, StepEffects
from drover.hierarchy.thresholds import Size
from drover.hierarchy.validation import check_message

HEARD: Final = 10_000  # messages that wait to be handled; further ones are dropped
LOOK: Final = 0.05  # seconds between two looks whether the runner has stopped everything, while the agent ends
RUNNER_GONE: Final = (
    "standard input has ended, so nobody can acknowledge that operators have stopped. Start the agent from the program "
    "that runs the operators, or let --exec COMMAND start and stop them."
)

Measure = Callable[[], Mapping[int, Size]]


def address_of(text: str, name: str) -> Address:
    """Return the host and port of a node's address."""
    host, _, port = text.rpartition(":")
    if not host:
        raise DroverError(f"nodes.{name}.address is empty, but other agents must reach this one. Set it to host:port.")
    return host.strip("[]"), int(port)  # an IPv6 address is written in brackets


def _listen_error(address: str, name: str, error: OSError) -> DroverError:
    if error.errno == errno.EADDRINUSE:
        reason = "another process listens there"
        way_out = "Stop that process; it may be another agent of this node"
    else:
        reason = str(error.strerror)
        way_out = "Use an address of this machine"
    return DroverError(f"nodes.{name}.address is {address}, but the agent cannot listen on it ({reason}). {way_out}.")


class Agent:
    """One node, from `run` to its end."""

    def __init__(
        self, layout: TreeFile, node: int, journal: Journal, host: Host, measure: Measure, grace: float
    ) -> None:
        """Prepare an agent; at its end, it gives the runner `grace` seconds to stop all operators."""
        self._layout = layout
        self._node = node
        self._journal = journal
        self._host = host
        self._measure = measure
        self._grace = grace
        self._config = layout.config(node)
        self._inbox: asyncio.Queue[Message] = asyncio.Queue(HEARD)

    async def run(self, seal: MessageSeal, stop: asyncio.Event, report: Callable[[dict[str, object]], None]) -> None:
        """Listen, send and negotiate until `stop` is set."""
        layout = self._layout
        loop = asyncio.get_running_loop()
        reached = {
            each: address_of(layout.addresses[each], layout.nodes[each]) for each in layout.tree.neighbours(self._node)
        }
        self._links = PeerConnections(seal, reached, self._on_message)
        async with AsyncExitStack() as stack:
            own = address_of(layout.addresses[self._node], layout.nodes[self._node])
            try:
                server = await self._links.listen(own)
            except OSError as error:
                raise _listen_error(layout.addresses[self._node], layout.nodes[self._node], error) from error
            stack.push_async_callback(self._links.close_callers)
            stack.callback(server.close)
            machine = self._wake_up(loop.time())  # a second agent of this node fails in `listen`
            group = await stack.enter_async_context(asyncio.TaskGroup())
            talking = [group.create_task(self._links.send_to(each)) for each in reached]
            serving = group.create_task(self._host.runner.serve(self._on_stopped))
            report({"listening": f"{own[0]}:{own[1]}", "life": machine.state.durable.life})
            try:
                await self._until_stopped(machine, stop, report, serving)
            finally:
                for task in (*talking, serving):
                    task.cancel()

    async def _until_stopped(
        self,
        machine: Machine,
        stop: asyncio.Event,
        report: Callable[[dict[str, object]], None],
        serving: asyncio.Task[None],
    ) -> None:
        try:
            await self._negotiate(machine, stop, report, serving)
        except BaseException:
            with suppress(OSError):  # nobody reads the output; the first error is the one to report
                await self._stop_runner(serving)
            raise
        if left := await self._stop_runner(serving):
            raise DroverError(
                f"the agent has ended, but the runner has not acknowledged that these have stopped: {', '.join(left)}. "
                "Stop them before you start the agent again, or set a longer --grace."
            )

    async def _stop_runner(self, serving: asyncio.Task[None]) -> list[str]:
        """Tell the runner to stop everything, and wait; return the operators that may still run."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._grace
        self._host.stop_all(loop.time())
        while self._host.unacknowledged() and not serving.done() and loop.time() < end:
            await asyncio.wait((serving,), timeout=LOOK)
        return self._host.unacknowledged()

    def _on_stopped(self, number: str) -> None:
        """Send what has waited for an acknowledgement of the runner."""
        for message in self._host.acknowledge(number):
            self._links.send(message)

    def _on_message(self, message: Message) -> None:
        check_message(message, self._config)
        # A full inbox drops messages like a lossy network; the machines repeat what was not answered.
        with suppress(asyncio.QueueFull):
            self._inbox.put_nowait(message)

    def _wake_up(self, now: float) -> Machine:
        records = self._journal.read() or [initial_snapshot(self._layout.initial_sizes(self._node))]
        period = self._layout.timing.period
        # Agents check their levels at random offsets: agents that start together would all find each other busy.
        machine = Machine(self._config, records, now, now + random.uniform(0, period))
        self._journal.begin(machine.output.records)
        self._host.begin(machine.state.durable.life, machine.state.durable.stopped, now)
        self._act_and_send(machine.output, now)
        return machine

    async def _negotiate(
        self,
        machine: Machine,
        stop: asyncio.Event,
        report: Callable[[dict[str, object]], None],
        serving: asyncio.Task[None],
    ) -> None:
        loop = asyncio.get_running_loop()
        stopping = asyncio.ensure_future(stop.wait())
        look = machine.state.next_check
        while not stop.is_set():
            hearing = asyncio.ensure_future(self._inbox.get())
            wait = max(0.0, machine.wake - loop.time())
            await asyncio.wait((hearing, stopping, serving), timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                raise DroverError(RUNNER_GONE)
            if hearing.done():
                self._carry_out(machine.receive(hearing.result(), loop.time()), loop.time())
            else:
                hearing.cancel()
            if loop.time() >= machine.wake:
                machine.measure(self._measure())
                self._carry_out(machine.tick(loop.time()), loop.time())
            if machine.state.next_check > look:
                look = machine.state.next_check
                self._host.report_slow(loop.time())
                report(self._status(machine))
        stopping.cancel()

    def _status(self, machine: Machine) -> dict[str, object]:
        status: dict[str, object] = {"level": round(machine.level, 4), "phase": machine.phase.value}
        status["running"] = len(machine.running)
        if waiting := self._host.unacknowledged():
            status["unacknowledged"] = waiting
        return status

    def _carry_out(self, output: StepEffects, now: float) -> None:
        if output.records:
            self._journal.append(output.records)
        self._act_and_send(output, now)

    def _act_and_send(self, output: StepEffects, now: float) -> None:
        for message in self._host.apply(output.actions, output.messages, now):
            self._links.send(message)
