"""Lines to and from neighbours, over TCP: a connection in each direction, made again whenever it breaks.

Rule 1: what cannot be sent is lost, and nobody waits for it: the machine asks again.
Rule 2: whoever sends a line that is not sealed, or too long, or nothing at first, is hung up on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

from drover.agents.seal import LONGEST, Seal, SealError
from drover.hierarchy.messages import Message

Address: TypeAlias = tuple[str, int]
WAITING: Final = 1000  # messages to a neighbour that does not take them; more are lost
AGAIN: Final = 0.1  # seconds until a broken connection is made again
FIRST: Final = 10.0  # seconds in which the first line must come
MOST: Final = 256  # connections at a time
log = logging.getLogger(__name__)


class Links:
    """All connections of one agent, while it runs."""

    def __init__(self, seal: Seal, neighbours: Mapping[int, Address], hear: Callable[[Message], None]) -> None:
        self._seal, self._hear, self._neighbours = seal, hear, neighbours
        self._waiting: dict[int, asyncio.Queue[Message]] = {each: asyncio.Queue(WAITING) for each in neighbours}
        self._callers: dict[asyncio.Task[None] | None, asyncio.StreamWriter] = {}

    def send(self, message: Message) -> None:
        """Send a message some time soon, or never."""
        with suppress(asyncio.QueueFull):
            self._waiting[message.receiver].put_nowait(message)

    async def listen(self, address: Address) -> asyncio.Server:
        """Begin to take connections."""
        return await asyncio.start_server(self._take, *address, limit=LONGEST)

    async def talk(self, neighbour: int) -> None:
        """Keep a connection to a neighbour, for ever."""
        while True:
            try:
                _, writer = await asyncio.open_connection(*self._neighbours[neighbour])
            except OSError:
                await asyncio.sleep(AGAIN)
                continue
            try:
                await self._pour(writer, self._waiting[neighbour])
            except OSError as error:
                log.debug("the line to node %d is cut: %s", neighbour, error)
            finally:
                writer.close()
            await asyncio.sleep(AGAIN)

    async def _pour(self, writer: asyncio.StreamWriter, waiting: asyncio.Queue[Message]) -> None:
        while True:
            message = await waiting.get()
            if writer.is_closing():
                return
            writer.write(self._seal.close(message))
            await writer.drain()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._callers) >= MOST:
            writer.close()
            return
        caller = asyncio.current_task()
        self._callers[caller] = writer
        try:
            async with asyncio.timeout(FIRST):
                line = await reader.readline()
            while line.endswith(b"\n"):
                self._hear(self._seal.open(line))
                line = await reader.readline()
        except SealError as error:
            log.warning("a caller is hung up on: %s", error)
        except (OSError, ValueError, TimeoutError) as error:  # ValueError: a line that is too long
            log.debug("a caller has gone: %s", error)
        finally:
            del self._callers[caller]
            writer.close()

    async def hang_up(self) -> None:
        """Hang up on all callers: tasks that are cancelled instead would each leave a traceback."""
        tasks = [task for task in self._callers if task is not None]
        for writer in self._callers.values():
            writer.close()
        await asyncio.gather(*tasks)
