"""Connections to neighbours over TCP: one per direction, opened when there is a message to send.

Rule 1: a message that cannot be sent is dropped, and nothing waits for it: the machine repeats its question.
Rule 2: a caller is disconnected if it sends an unsigned or overlong line, or nothing at first.
Rule 3: unauthenticated callers are limited, and the oldest makes way: idle callers cannot keep neighbours out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from drover.agents.seal import LONGEST, MessageSeal, SealError
from drover.hierarchy.codec import CodecError
from drover.hierarchy.messages import Message

Address: TypeAlias = tuple[str, int]
Caller: TypeAlias = "asyncio.Task[None] | None"  # the task that reads a connection
WAITING: Final = 1000  # messages queued for an unreachable neighbour; the oldest ones beyond that are dropped
AGAIN: Final = 0.1  # seconds until a broken connection is opened again
FIRST: Final = 10.0  # seconds in which a connection must open, and in which its first line must arrive
STRANGERS: Final = 64  # connections without a valid line yet; each may buffer two long lines
TURNS: Final = 5  # iterations of the event loop until a caller that was being accepted at the close is in the list
QUIET: Final = 10.0  # seconds between two warnings about callers
log = logging.getLogger(__name__)


class PeerConnections:
    """All connections of one agent, while it runs."""

    def __init__(
        self, seal: MessageSeal, neighbours: Mapping[int, Address], on_message: Callable[[Message], None]
    ) -> None:
        self._seal = seal
        self._on_message = on_message
        self._neighbours = neighbours
        self._waiting: dict[int, asyncio.Queue[Message]] = {each: asyncio.Queue(WAITING) for each in neighbours}
        self._callers: dict[Caller, asyncio.StreamWriter] = {}
        self._strangers: dict[Caller, asyncio.StreamWriter] = {}  # callers without a valid line yet, oldest first
        self._known: dict[int, asyncio.StreamWriter] = {}  # by neighbour: its last authenticated connection
        self._warned = -QUIET

    def send(self, message: Message) -> None:
        """Queue a message; it is sent soon, or never."""
        waiting = self._waiting[message.receiver]
        if waiting.full():
            waiting.get_nowait()
        waiting.put_nowait(message)

    async def listen(self, address: Address) -> asyncio.Server:
        """Begin to accept connections."""
        return await asyncio.start_server(self._serve, *address, limit=LONGEST)

    async def send_to(self, neighbour: int) -> None:
        """Send the queued messages to a neighbour, forever.

        A connection opens when there is a message: the neighbour disconnects silent callers, and messages that are
        written into a closed connection are lost without an error.
        """
        waiting = self._waiting[neighbour]
        message = None
        while True:
            message = message or await waiting.get()
            try:
                async with asyncio.timeout(FIRST):
                    reader, writer = await asyncio.open_connection(*self._neighbours[neighbour])
            except OSError as error:  # TimeoutError is one
                log.debug("cannot reach node %d: %s", neighbour, error)
                message = None
                await asyncio.sleep(AGAIN)
                continue
            try:
                message = await self._send_while_open(reader, writer, waiting, message)
            except OSError as error:
                log.debug("the connection to node %d broke: %s", neighbour, error)
                message = None
            finally:
                writer.close()

    async def _send_while_open(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        waiting: asyncio.Queue[Message],
        message: Message,
    ) -> Message:
        """Send messages while the connection is open; return the first message that was not sent."""
        while not (writer.is_closing() or reader.at_eof()):
            line = self._seal.sign(message)
            if len(line) > LONGEST:
                words = (
                    "a %s of %d bytes is not sent: a line has at most %d bytes. It moves too many operators at once."
                )
                log.warning(words, type(message).__name__, len(line), LONGEST)
            else:
                writer.write(line)
                await writer.drain()
            message = await waiting.get()
        return message

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        caller = asyncio.current_task()
        # The oldest one makes way: neighbours identify themselves at once, and silent callers do not.
        if len(self._strangers) >= STRANGERS:
            self._strangers.pop(next(iter(self._strangers))).close()
        self._callers[caller] = self._strangers[caller] = writer
        try:
            async with asyncio.timeout(FIRST):
                line = await reader.readline()
            while line.endswith(b"\n"):
                message = self._seal.verify(line)
                self._on_message(message)
                self._recognise(caller, message.sender, writer)
                line = await reader.readline()
        except (SealError, CodecError) as error:
            self._warn(error)
        except (OSError, ValueError) as error:  # ValueError: an overlong line
            log.debug("a caller has disconnected: %s", error)
        finally:
            self._strangers.pop(caller, None)
            del self._callers[caller]
            writer.close()

    def _recognise(self, caller: Caller, neighbour: int, writer: asyncio.StreamWriter) -> None:
        """Record which neighbour a connection belongs to; an earlier connection of it must have broken unnoticed."""
        self._strangers.pop(caller, None)
        if (before := self._known.get(neighbour)) is not writer:
            self._known[neighbour] = writer
            if before is not None:
                before.close()

    def _warn(self, error: Exception) -> None:
        """Log why a caller was disconnected, at most once per QUIET seconds."""
        now = asyncio.get_running_loop().time()
        if now - self._warned >= QUIET:
            self._warned = now
            log.warning("drover: disconnected a caller: %s", error)

    async def close_callers(self) -> None:
        """Disconnect all callers. Their tasks end normally; cancelled tasks would each log a traceback."""
        for _ in range(TURNS):
            await asyncio.sleep(0)
            tasks = [task for task in self._callers if task is not None]
            for writer in self._callers.values():
                writer.close()
            await asyncio.gather(*tasks)
