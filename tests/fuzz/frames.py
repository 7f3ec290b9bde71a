"""Target: what neighbours send to an agent: signed lines, and lines that nobody signed.

Rule 1: a case is a list of lines. Text after `sign:` is signed as a neighbour would, and other lines go as they are.
Rule 2: whatever passes the checks must leave the machine in a phase of its table.
"""

from __future__ import annotations

import asyncio
import json
import random
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from drover.agents.links import PeerConnections
from drover.agents.seal import MessageSeal, SealError, make_seal
from drover.errors import DroverError
from drover.hierarchy.codec import RECORDS, CodecError, decode_record, encode
from drover.hierarchy.layout import TreeFile, parse_layout
from drover.hierarchy.machine import Machine, initial_snapshot
from drover.hierarchy.messages import (
    Bundle,
    Clear,
    DemandReply,
    DemandRequest,
    Handover,
    HandoverReply,
    Message,
    OfferReply,
    OfferRequest,
    Take,
)
from drover.hierarchy.validation import check_message
from tests.fuzz.mutate import LARGE_ONE_IN, Vocabulary, large, mutate_text, mutate_tree
from tests.fuzz.target import Feed, Target
from tests.fuzz.trees import COMPLETE

SERVED_ONE_IN: Final = 50  # cases that go through a connection
SIGN: Final = "sign:"
TICK: Final = "tick"  # let time pass
RECORD: Final = "record:"  # a line of the journal
EAST: Final = 1  # the node that hears: it has a parent (0) and a child (3)
WORDS: Final = (*RECORDS, "OfferRequest", "Handover", "sender", "receiver", "round", "bundles", "sizes", "operators")
KNOWN: Final = Vocabulary(WORDS, {})


def draw(chance: random.Random) -> str:
    """Return some lines."""
    return "\n".join(_line(chance) for _ in range(chance.randrange(1, 5)))


def _line(chance: random.Random) -> str:
    roll = chance.random()
    if roll < 0.15:
        return TICK
    text = encode(_message(chance))
    if chance.randrange(LARGE_ONE_IN) == 0:
        return SIGN + large(chance, (text,)).replace("\n", " ")
    if roll < 0.65:
        text = mutate_tree(text, chance, KNOWN)
    elif roll < 0.75:
        text = mutate_text(text, chance, WORDS)
    if roll > 0.95:
        text = json.dumps({"code": "0" * 64, "message": text}) if chance.random() < 0.5 else text
        return mutate_text(text, chance, WORDS).replace("\n", " ")
    mark = RECORD if roll > 0.9 else SIGN
    return mark + text.replace("\n", " ")


def _message(chance: random.Random) -> Message:
    """Return a message to the node, mostly a valid one."""
    sender = chance.choice((0, 3, 3, 1, 7))
    began = (chance.choice((sender, EAST)), chance.choice((1, 1, 2)), chance.choice((1, 1, 2)))
    count = chance.choice((0, 1, 1, 2))
    bundles = tuple(_bundle(chance) for _ in range(count))
    flag = chance.random() < 0.5
    serial = chance.choice((0, 1, 2))
    drawn: tuple[Message, ...] = (
        OfferRequest(sender, EAST, began, bundles),
        OfferReply(sender, EAST, began, bundles, flag),
        DemandRequest(sender, EAST, began, (chance.choice((0.0, 30.0)), 1.0)),
        DemandReply(sender, EAST, began, bundles, flag, not flag),
        Take(sender, EAST, began, bundles),
        Clear(sender, EAST, began),
        Handover(sender, EAST, began, serial, bundles),
        HandoverReply(sender, EAST, began, serial, (chance.randrange(3),)),
    )
    return chance.choice(drawn)


def _bundle(chance: random.Random) -> Bundle:
    operators = tuple(chance.sample(range(3), chance.choice((1, 1, 2))))
    return Bundle(operators, tuple((chance.choice((0.0, 5.0, 60.0)), chance.choice((0.0, 0.2))) for _ in operators))


@contextmanager
def frames(_folder: Path) -> Iterator[Feed]:
    """Feed lines to the agent of a node in the middle of a tree."""
    layout = parse_layout(COMPLETE)
    seal = make_seal(b"a token of sixteen bytes", layout.digest)
    loop = asyncio.new_event_loop()

    def feed(text: str) -> bool:
        agent = _Agent(layout, seal)
        if zlib.crc32(text.encode(errors="surrogatepass")) % SERVED_ONE_IN == 0:
            loop.run_until_complete(_serve(agent, text))
            return agent.heard > 0
        refused: DroverError | None = None
        for line in text.split("\n"):
            try:
                agent.take(line)
            except (SealError, CodecError) as error:
                refused = error
        if refused is not None and not agent.heard:
            raise refused
        return True

    try:
        yield feed
    finally:
        loop.close()


@dataclass(slots=True)
class _Agent:
    """A node, as an agent drives it, without disk or sockets."""

    layout: TreeFile
    seal: MessageSeal
    machine: Machine = field(init=False)
    now: float = 0.0
    heard: int = 0

    def __post_init__(self) -> None:
        self.machine = Machine(self.layout.config(EAST), [initial_snapshot({0: (60.0, 0.9), 1: (1.0, 0.1)})], 0.0, 0.5)

    def take(self, line: str) -> None:
        """Do what a line says."""
        if line == TICK:
            self.now += 0.6
            self.machine.tick(self.now)
        elif line.startswith(RECORD):
            decode_record(line.removeprefix(RECORD))
        else:
            self.hear(self.seal.verify(self.signed(line)))

    def signed(self, line: str) -> bytes:
        """Return a line as it is on the wire."""
        if not line.startswith(SIGN):
            return line.encode("utf-8", "surrogatepass") + b"\n"
        text = line.removeprefix(SIGN)
        return json.dumps({"code": self.seal._code(text), "message": text}).encode() + b"\n"

    def hear(self, message: Message) -> None:
        """Check a message and pass it on, as an agent does."""
        check_message(message, self.layout.config(EAST))
        self.heard += 1
        for effect in self.machine.receive(message, self.now).messages:
            self.seal.sign(effect)


class _Writer:
    """The other half of a connection, which nobody reads."""

    def close(self) -> None:
        """Do nothing."""


async def _serve(agent: _Agent, text: str) -> None:
    """Send the lines through the code that serves a connection."""
    links = PeerConnections(agent.seal, {0: ("127.0.0.1", 1), 3: ("127.0.0.1", 1)}, agent.hear)
    reader = asyncio.StreamReader(limit=2**20)
    reader.feed_data(b"".join(agent.signed(line) for line in text.split("\n")))
    reader.feed_eof()
    await links._serve(reader, cast("Any", _Writer()))  # Any: a writer as far as it is used


FRAMES: Final = Target("frames", 12, draw, frames)
