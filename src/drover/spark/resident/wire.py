"""The words that the driver, routers and resident nodes exchange over Arrow Flight.

Rule 1: every call carries the run's secret; a server refuses any other call before it reads the rest of it.
Rule 2: a turn is one computation of one batch, with a name that is never used again. What belongs to another turn is
refused, so nothing of an attempt that was given up can reach a later one.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

import pyarrow.flight as fl

HEADER: Final = "authorization"
UNKNOWN_TURN: Final = "drover: this node does not know the turn"

AnyWord = TypeVar("AnyWord", "FrameDelivery", "HopRequest", "NodeAddress")


@dataclass(frozen=True, slots=True)
class FrameDelivery:
    """Says what a stream of frames is, before it: who sends it, to which hop of which turn."""

    turn: str
    hop: int
    sender: str
    router: str = ""  # of a router: a word that only this attempt of its task has
    piece: int | None = None  # of a pipelined batch; None: what is not sent in pieces


@dataclass(frozen=True, slots=True)
class HopRequest:
    """Asks a node to run a hop and to return its frames for the driver, or to run a piece of its streamed operators."""

    turn: str
    hop: int
    routers: tuple[str, ...]  # the attempts of router tasks that count
    piece: int | None = None  # None: all that does not run in pieces, and the end of what does


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """Where a resident node can be reached; every start of its task has another `start` word."""

    node: int
    location: str
    start: str
    job: str = ""  # the Spark job that its task belongs to


def dumps(word: FrameDelivery | HopRequest | NodeAddress) -> bytes:
    """Return a word as bytes."""
    return json.dumps(asdict(word)).encode()


def loads(kind: type[AnyWord], data: bytes) -> AnyWord:
    """Return the word that the bytes say."""
    found: dict[str, Any] = json.loads(data)  # Any: JSON
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}
    return kind(**fields)


def new_secret() -> str:
    """Return a secret for one run."""
    return secrets.token_hex(32)


class _SecretCheck(fl.ServerMiddlewareFactory):  # type: ignore[misc]  # pyarrow has no types
    """Refuses calls without the run's secret."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self._expected = f"Bearer {secret}".encode()

    def start_call(self, _info: Any, headers: Mapping[str, list[str]]) -> None:  # Any: pyarrow has no types
        """Run before every call."""
        given = [value for name, values in headers.items() if name.lower() == HEADER for value in values]
        if len(given) != 1 or not hmac.compare_digest(given[0].encode(), self._expected):
            raise fl.FlightUnauthenticatedError("this call needs the secret of the run")


def server_middleware(secret: str) -> dict[str, fl.ServerMiddlewareFactory]:
    """Return the middleware of a server that only answers calls with the secret."""
    return {"secret": _SecretCheck(secret)}


def call_options(secret: str, timeout: float | None = None) -> fl.FlightCallOptions:
    """Return the options of a call: the secret, and how many seconds it may take."""
    return fl.FlightCallOptions(timeout=timeout, headers=[(HEADER.encode(), f"Bearer {secret}".encode())])


def reachable_host(host: str, port: int) -> str:
    """Return the address of this machine that `host` can reach; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))
        name: str = probe.getsockname()[0]
    return name
