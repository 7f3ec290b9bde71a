"""Connections between agents: callers without the token keep nobody out, and a broken connection is opened again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from drover.agents import links
from drover.agents.links import STRANGERS, PeerConnections
from drover.agents.seal import LONGEST, make_seal
from drover.hierarchy.codec import CodecError
from drover.hierarchy.messages import Bundle, Clear, Message, Take
from tests.agents.forest import HOST, free_port

SEAL = make_seal(b"a token of sixteen bytes", "digest")
CLEAR = Clear(1, 0, (1, 1, 1))


class Ear:
    """Node 0, which listens, and node 1, which sends to it."""

    def __init__(self, port: int) -> None:
        self.port, self.heard = port, asyncio.Queue[Message]()
        self.listener = PeerConnections(SEAL, {1: (HOST, free_port())}, self.hear)
        self.talker = PeerConnections(SEAL, {0: (HOST, port)}, lambda _: None)
        self.server: asyncio.Server | None = None

    def hear(self, message: Message) -> None:
        if message.sender != 1:
            raise CodecError("not a neighbour")
        self.heard.put_nowait(message)

    async def say(self, message: Message) -> Message:
        """Send a message until it arrives, as a machine would."""
        for _ in range(50):
            self.talker.send(message)
            try:
                async with asyncio.timeout(0.2):
                    return await self.heard.get()
            except TimeoutError:
                continue
        raise AssertionError("never heard")

    async def call(self, data: bytes = b"") -> asyncio.StreamReader:
        """Connect as an unknown caller."""
        reader, writer = await asyncio.open_connection(HOST, self.port)
        self.strangers.append(writer)
        writer.write(data)
        return reader

    strangers: list[asyncio.StreamWriter]


@asynccontextmanager
async def ear() -> AsyncIterator[Ear]:
    made = Ear(free_port())
    made.strangers = []
    made.server = await made.listener.listen((HOST, made.port))
    talking = asyncio.create_task(made.talker.send_to(0))
    try:
        yield made
    finally:
        talking.cancel()
        made.server.close()
        for each in made.strangers:
            each.close()
        await made.listener.close_callers()


def played(play: Callable[[Ear], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(60), ear() as made:
            await play(made)

    asyncio.run(run())


def test_who_only_holds_the_line_keeps_no_neighbour_out() -> None:
    async def play(made: Ear) -> None:
        readers = [await made.call(b"{") for _ in range(3 * STRANGERS)]
        assert await made.say(CLEAR) == CLEAR
        assert await readers[0].read() == b"", "the first of them is hung up on"
        for _ in range(3 * STRANGERS):
            await made.call()
        made.talker.send(CLEAR)  # once: the neighbour that was heard before is no stranger
        assert await made.heard.get() == CLEAR

    played(play)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="another protocol"),
        pytest.param(b"\xff\x00\n", id="bytes"),
        pytest.param(b"[" * 100_000 + b"\n", id="deep"),
        pytest.param(b"x" * (3 * LONGEST), id="without an end"),
        pytest.param(SEAL.sign(Clear(5, 0, (5, 1, 1))), id="not from a neighbour"),
        pytest.param(make_seal(b"another token of 16 bytes", "digest").sign(CLEAR), id="another token"),
    ],
)
def test_strangers_are_hung_up_on_and_neighbours_heard(data: bytes) -> None:
    async def play(made: Ear) -> None:
        reader = await made.call(data)
        with suppress(ConnectionError):  # of what was not even read
            assert await reader.read() == b""
        assert await made.say(CLEAR) == CLEAR
        assert made.heard.empty()

    played(play)


def test_warnings_are_as_rare_as_callers_are_many(caplog: pytest.LogCaptureFixture) -> None:
    async def play(made: Ear) -> None:
        for _ in range(20):
            assert await (await made.call(b"hello\n")).read() == b""

    played(play)
    assert [record.levelname for record in caplog.records if record.name == links.__name__] == ["WARNING"]


def test_what_is_said_after_a_long_silence_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "FIRST", 1.0)

    async def play(made: Ear) -> None:
        await asyncio.sleep(1.5)  # longer than a caller may be silent
        made.talker.send(CLEAR)
        assert await made.heard.get() == CLEAR
        for writer in list(made.listener._callers.values()):  # as if the other side had been started again
            writer.close()
        await asyncio.sleep(0.2)
        made.talker.send(CLEAR)
        assert await made.heard.get() == CLEAR

    played(play)


def test_a_line_of_a_neighbour_that_calls_again_takes_the_place_of_the_first() -> None:
    async def play(made: Ear) -> None:
        for _ in range(20):
            await made.call(SEAL.sign(CLEAR))
            assert await made.heard.get() == CLEAR
        while len(made.listener._callers) > 1:  # or the time of all that is played runs out
            await asyncio.sleep(0.01)

    played(play)


def test_too_much_at_once_is_not_sent_and_said(caplog: pytest.LogCaptureFixture) -> None:
    long = Take(1, 0, (1, 1, 1), tuple(Bundle((j,), ((1.0,),)) for j in range(40_000)))

    async def play(made: Ear) -> None:
        made.talker.send(long)
        made.talker.send(CLEAR)
        assert await made.heard.get() == CLEAR

    played(play)
    assert "too many operators at once" in caplog.text


def test_of_what_nobody_takes_the_oldest_is_lost() -> None:
    async def play(made: Ear) -> None:
        alone = PeerConnections(SEAL, {0: (HOST, 1)}, lambda _: None)
        for number in range(links.WAITING + 5):
            alone.send(Clear(1, 0, (1, 1, number)))
        assert alone._waiting[0].get_nowait() == Clear(1, 0, (1, 1, 5))
        assert made.heard.empty()

    played(play)
