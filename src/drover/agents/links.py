"""Lines to and from neighbours, over TCP: a connection in each direction, made whenever there is something to say.

Rule 1: what cannot be sent is lost, and nobody waits for it: the machine asks again.
Rule 2: whoever sends a line that is not sealed, or too long, or nothing at first, is hung up on.
Rule 3: strangers are few, and the newest of them are heard: who only holds the line keeps no neighbour out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from drover.agents.seal import LONGEST, Seal, SealError
from drover.hierarchy.codec import CodecError
from drover.hierarchy.messages import Message

Address: TypeAlias = tuple[str, int]
Caller: TypeAlias = "asyncio.Task[None] | None"  # who reads what a connection brings
WAITING: Final = 1000  # messages to a neighbour that does not take them; of more the oldest are lost
AGAIN: Final = 0.1  # seconds until a broken connection is made again
FIRST: Final = 10.0  # seconds in which a connection must be made, and in which its first line must come
STRANGERS: Final = 64  # connections at a time that have not brought a line yet; each may hold two long ones in memory
TURNS: Final = 5  # of the loop, after which a caller that was being taken when the door closed is among the others
QUIET: Final = 10.0  # seconds between two warnings about callers
log = logging.getLogger(__name__)


class Links:
    """All connections of one agent, while it runs."""

    def __init__(self, seal: Seal, neighbours: Mapping[int, Address], hear: Callable[[Message], None]) -> None:
        self._seal, self._hear, self._neighbours = seal, hear, neighbours
        self._waiting: dict[int, asyncio.Queue[Message]] = {each: asyncio.Queue(WAITING) for each in neighbours}
        self._callers: dict[Caller, asyncio.StreamWriter] = {}
        self._strangers: dict[Caller, asyncio.StreamWriter] = {}  # those of them that have not said anything, in order
        self._known: dict[int, asyncio.StreamWriter] = {}  # by neighbour: the last that has
        self._warned = -QUIET

    def send(self, message: Message) -> None:
        """Send a message some time soon, or never."""
        waiting = self._waiting[message.receiver]
        if waiting.full():
            waiting.get_nowait()
        waiting.put_nowait(message)

    async def listen(self, address: Address) -> asyncio.Server:
        """Begin to take connections."""
        return await asyncio.start_server(self._take, *address, limit=LONGEST)

    async def talk(self, neighbour: int) -> None:
        """Pass on what there is to say to a neighbour, for ever.

        A connection is made when there is something to say: one that says nothing is hung up on, and what is said into
        it then would be lost without a word.
        """
        waiting, message = self._waiting[neighbour], None
        while True:
            message = message or await waiting.get()
            try:
                async with asyncio.timeout(FIRST):
                    reader, writer = await asyncio.open_connection(*self._neighbours[neighbour])
            except OSError as error:  # TimeoutError is one
                log.debug("node %d is not reached: %s", neighbour, error)
                message = None
                await asyncio.sleep(AGAIN)
                continue
            try:
                message = await self._pour(reader, writer, waiting, message)
            except OSError as error:
                log.debug("the line to node %d is cut: %s", neighbour, error)
                message = None
            finally:
                writer.close()

    async def _pour(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        waiting: asyncio.Queue[Message],
        message: Message,
    ) -> Message:
        """Send messages for as long as somebody listens; return the first that nobody did."""
        while not (writer.is_closing() or reader.at_eof()):
            line = self._seal.close(message)
            if len(line) > LONGEST:
                words = "a %s of %d bytes is not sent, since no line may have more than %d: too many operators at once"
                log.warning(words, type(message).__name__, len(line), LONGEST)
            else:
                writer.write(line)
                await writer.drain()
            message = await waiting.get()
        return message

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        caller = asyncio.current_task()
        if len(self._strangers) >= STRANGERS:
            self._strangers.pop(next(iter(self._strangers))).close()
        self._callers[caller] = self._strangers[caller] = writer
        try:
            async with asyncio.timeout(FIRST):
                line = await reader.readline()
            while line.endswith(b"\n"):
                message = self._seal.open(line)
                self._hear(message)
                self._recognise(caller, message.sender, writer)
                line = await reader.readline()
        except (SealError, CodecError) as error:
            self._warn(error)
        except (OSError, ValueError) as error:  # ValueError: a line that is too long
            log.debug("a caller has gone: %s", error)
        finally:
            self._strangers.pop(caller, None)
            del self._callers[caller]
            writer.close()

    def _recognise(self, caller: Caller, neighbour: int, writer: asyncio.StreamWriter) -> None:
        """Note who speaks; an earlier connection of the same is one that broke without our hearing of it."""
        self._strangers.pop(caller, None)
        if (before := self._known.get(neighbour)) is not writer:
            self._known[neighbour] = writer
            if before is not None:
                before.close()

    def _warn(self, error: Exception) -> None:
        """Say why somebody was hung up on, but not as often as somebody calls."""
        now = asyncio.get_running_loop().time()
        if now - self._warned >= QUIET:
            self._warned = now
            log.warning("drover: a caller is hung up on: %s", error)

    async def hang_up(self) -> None:
        """Hang up on all callers: tasks that are cancelled instead would each leave a traceback."""
        for _ in range(TURNS):
            await asyncio.sleep(0)
            tasks = [task for task in self._callers if task is not None]
            for writer in self._callers.values():
                writer.close()
            await asyncio.gather(*tasks)
