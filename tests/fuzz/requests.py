"""Target: requests to the control endpoint, whole HTTP messages.

Rule 1: a case is text in which each character is a byte; TOKEN and PORT stand for those of the endpoint.
Rule 2: most requests go to the handler directly, and a few through a socket, because that is twenty times slower.
Rule 3: status 500 is a finding: it stands for a traceback in the driver's log.
"""

from __future__ import annotations

import io
import json
import random
import socket
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from drover.spark.endpoint import _Handler, _Server
from drover.spark.endpoint_file import HOST
from drover.spark.queries.routes import QUERY_ROUTES
from drover.spark.routes import REQUESTS
from tests.fuzz.mutate import LARGE_ONE_IN, ODD_TEXTS, ODD_VALUES, Vocabulary, mutate_text, mutate_tree
from tests.fuzz.target import Feed, Target, demand
from tests.spark.queries.catalogs import ServedRun, begin, served

SOCKET_ONE_IN: Final = 400
MOST_QUERIES: Final = 20  # of the run; then all are dropped, so that requests stay quick
TOKEN: Final = "TOKEN"  # stands for the token, which differs between runs
PORT: Final = "PORT"
BODIES: Final = {
    "status": "",
    "history": "last=3",
    "explain": "unit=a",
    "proposal": "",
    "apply": '{"id": "1-2"}',
    "mode": '{"mode": "observe"}',
    "drain": '{"node": 1, "empty": false}',
    "move": '{"unit": "a", "node": 1}',
    "resume": '{"operator": "a"}',
    "spread": '{"join": "j", "spread": "2 x 2"}',
    "submit": '{"queries": [{"name": "q", "tenant": "acme", "operators": '
    '{"big": {"kind": "filter", "input": "events", "where": "key > 1"}}}], "atomic": false}',
    "drop": '{"names": ["q"], "tenant": "acme"}',
    "queries": "tenant=acme",
}
WORDS: Final = (*REQUESTS, *QUERY_ROUTES, "a", "b", "j", "q", "acme", "events", "observe", "propose", "auto")
KNOWN: Final = Vocabulary(WORDS, {})
HEADERS: Final = ("Host", "Authorization", "Content-Length", "Transfer-Encoding", "Expect", "Connection", "Cookie")


def draw(chance: random.Random) -> str:
    """Return a request: damaged in its body, in its head, or everywhere."""
    name = chance.choice(tuple(BODIES))
    body = BODIES[name]
    is_change = body.startswith("{")
    if chance.random() < 0.7:
        body = _damaged(body, chance, is_json=is_change)
    if chance.randrange(LARGE_ONE_IN) == 0:
        body = chance.choice(("[", '{"a":', " ", "\x00", body, "9")) * 30_000
    path = f"/{name}" if is_change else f"/{name}?{body}"
    data = _bytes(body) if is_change else ""
    head = {"Host": f"{HOST}:{PORT}", "Authorization": f"Bearer {TOKEN}", "Content-Length": str(len(data))}
    roll = chance.random()
    if roll < 0.15:
        head[chance.choice(HEADERS)] = _bytes(chance.choice((*ODD_TEXTS, "chunked", "100-continue", "keep-alive", "9")))
    method = "POST" if is_change else "GET"
    if roll > 0.95:
        method = chance.choice(("GET", "POST", "PUT", "HEAD", "OPTIONS", "get", "", "\x00", "X" * 99))
    lines = [f"{method} {_bytes(path)} HTTP/1.{chance.choice('1110')}", *(f"{key}: {head[key]}" for key in head)]
    text = "\r\n".join([*lines, "", data])
    return text if chance.random() < 0.9 else _bytes(mutate_text(text, chance, HEADERS))


def _damaged(body: str, chance: random.Random, *, is_json: bool) -> str:
    if is_json and chance.random() < 0.7:
        return mutate_tree(body, chance, KNOWN)
    if is_json and chance.random() < 0.2:
        return chance.choice(ODD_VALUES)
    return mutate_text(body, chance, WORDS)


def _bytes(text: str) -> str:
    """Return the UTF-8 of a text, one character per byte."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


class _Line:
    """A connection whose request has arrived, for a handler."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.sent = b""

    def settimeout(self, _seconds: float) -> None:
        """Do nothing: there is nobody to wait for."""

    def makefile(self, *_: object) -> io.BytesIO:
        return io.BytesIO(self._data)

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def shutdown(self, _how: int) -> None:
        """Do nothing: nobody is connected."""


@contextmanager
def requests(folder: Path) -> Iterator[Feed]:
    """Feed a request to the endpoint of a run without Spark."""
    with served(folder / "checkpoint") as made:
        made.run.feed(6)
        server = made.run.endpoint._server
        assert server is not None
        found = _Served(made, server)
        made.service.submit(json.loads(BODIES["submit"])["queries"])  # compiles the kernels of placement
        yield found.feed


class _Served:
    """A run with an endpoint, and the batches that it has begun."""

    def __init__(self, made: ServedRun, server: _Server) -> None:
        self._made = made
        self._server = server
        self._batch = 0

    def feed(self, text: str) -> bool:
        where = self._made.run.where
        data = text.replace(TOKEN, where.token).replace(PORT, str(where.port)).encode("latin-1")
        through_socket = zlib.crc32(text.encode()) % SOCKET_ONE_IN == 0
        answer = self._send(data) if through_socket else self._handle(data)
        if len(self._made.catalog) > MOST_QUERIES:
            self._made.service.drop(every=True)
            begin(self._made.catalog, self._batch)
            self._batch += 1
        return _check(answer)

    def _handle(self, data: bytes) -> bytes:
        line: Any = _Line(data)  # Any: a socket as far as the handler uses it
        _Handler(line, (HOST, 0), self._server)
        sent: bytes = line.sent
        return sent

    def _send(self, data: bytes) -> bytes:
        with socket.create_connection((HOST, self._server.port), 10) as line:
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            received = b""
            while piece := line.recv(65536):
                received += piece
            return received


def _check(answer: bytes) -> bool:
    """Return whether a request was granted; an answer is JSON, and never blames drover."""
    if not answer:
        return False  # an empty request, which has no answer
    head, _, body = answer.partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    if not words[0].startswith(b"HTTP/"):
        body = answer  # of HTTP 0.9, which has no head
    found = json.loads(body)
    demand(isinstance(found, dict), "the answer is not a JSON object")
    said = str(found.get("error", ""))
    demand("the endpoint failed" not in said, said)
    return "error" not in found


REQUEST_TARGET: Final = Target("requests", 6, draw, requests)
