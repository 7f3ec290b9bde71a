"""The words that the driver, routers and resident nodes exchange over Arrow Flight.

Rule 1: every call carries the run's secret; a server refuses any other call before it reads the rest of it.
Rule 2: if the secret has a certificate, a connection is encrypted, and ends at a process of the run or not at all.
Rule 3: a turn is one computation of one batch, with a name that is never used again. What belongs to another turn is
refused, so nothing of an attempt that was given up can reach a later one.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, TypeVar

import pyarrow.flight as fl

from drover.spark.resident.encryption import NAME, RunCertificate

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


@dataclass(frozen=True, slots=True)
class RunSecret:
    """What the processes of a run know and nobody else does: a word, and a certificate if they encrypt."""

    word: str = field(repr=False)
    certificate: RunCertificate | None = field(default=None, repr=False)

    @property
    def scheme(self) -> str:
        """How the location of a server begins."""
        return "grpc" if self.certificate is None else "grpc+tls"

    def for_callers(self) -> RunSecret:
        """Return what a process needs that only calls nodes."""
        return self if self.certificate is None else replace(self, certificate=self.certificate.without_key())


def new_secret(certificate: RunCertificate | None = None) -> RunSecret:
    """Return a secret for one run."""
    return RunSecret(secrets.token_hex(32), certificate)


class _SecretCheck(fl.ServerMiddlewareFactory):  # type: ignore[misc]  # pyarrow has no types
    """Refuses calls without the run's secret."""

    def __init__(self, secret: RunSecret) -> None:
        super().__init__()
        self._expected = f"Bearer {secret.word}".encode()

    def start_call(self, _info: Any, headers: Mapping[str, list[str]]) -> None:  # Any: pyarrow has no types
        """Run before every call."""
        given = [value for name, values in headers.items() if name.lower() == HEADER for value in values]
        if len(given) != 1 or not hmac.compare_digest(given[0].encode(), self._expected):
            raise fl.FlightUnauthenticatedError("this call needs the secret of the run")


def server_options(secret: RunSecret) -> dict[str, Any]:  # Any: pyarrow has no types
    """Return the arguments of a server that only answers calls with the secret; its location must have its scheme."""
    checks = {"middleware": {"secret": _SecretCheck(secret)}}
    if secret.certificate is None:
        return checks
    return {**checks, "tls_certificates": [(secret.certificate.chain, secret.certificate.key)]}


def connect(location: str, secret: RunSecret) -> fl.FlightClient:
    """Return a connection to a server of the run."""
    if secret.certificate is None:
        return fl.connect(location)
    return fl.connect(location, tls_root_certs=secret.certificate.chain, override_hostname=NAME)


def call_options(secret: RunSecret, timeout: float | None = None) -> fl.FlightCallOptions:
    """Return the options of a call: the secret, and how many seconds it may take."""
    return fl.FlightCallOptions(timeout=timeout, headers=[(HEADER.encode(), f"Bearer {secret.word}".encode())])


def reachable_host(host: str, port: int) -> str:
    """Return the address of this machine that `host` can reach; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))
        name: str = probe.getsockname()[0]
    return name
