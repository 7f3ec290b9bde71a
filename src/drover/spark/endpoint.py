"""The control endpoint of a run: HTTP on the loopback of the driver, for those who can read the checkpoint.

Rule 1: nothing is done for a request without the token; the token is in a file that only its owner can read.
Rule 2: an answer is JSON and never a traceback. Rule 3: whoever is slow or large is hung up on, and the run never
waits: what is being answered when the run ends is answered before the checkpoint is let go.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from drover.errors import DroverError, shorten
from drover.spark.controller import Controller
from drover.spark.queries.moving import answer_move
from drover.spark.queries.office import ERRANDS, Office
from drover.spark.routes import LARGEST, REQUESTS, Answer, Fields, Request
from drover.spark.whereabouts import HOST, Whereabouts, write

SWALLOWED: Final = 2**20  # bytes that are read and dropped, so that a sender gets its answer before the line is cut
PATIENCE: Final = 5.0  # seconds in which a request must be there
AT_ONCE: Final = 16  # requests; a further one is hung up on
Served = tuple[Request[Any], Callable[[Fields], Answer]]  # Any: of the controller or of the office
log = logging.getLogger(__name__)


class Endpoint:
    """Serves one controller and one office, from `start` to `close`; needs a checkpoint on a disk of this machine."""

    def __init__(
        self, controller: Controller, folder: Path, office: Office | None = None, *, patience: float = PATIENCE
    ) -> None:
        self._controller, self._office, self._folder, self._patience = controller, office, folder, patience
        self._closing = threading.Event()
        self._server: _Server | None = None

    def start(self) -> Whereabouts:
        """Begin to listen, and say where in the checkpoint."""
        server = _Server(self._controller, self._office, secrets.token_urlsafe(32), self._patience)
        found = Whereabouts(server.port, server.token, os.getpid(), socket.gethostname())
        try:
            self._written = write(self._folder, found)
        except BaseException:
            server.server_close()
            raise
        self._server = server
        self._thread = threading.Thread(target=self._serve, args=(server,), name="drover endpoint", daemon=True)
        self._thread.start()
        return found

    def close(self) -> None:
        """Answer what was asked, and listen no more; a second time does nothing."""
        server, self._server = self._server, None
        if server is None:
            return
        self._written.unlink(missing_ok=True)
        self._closing.set()
        with suppress(OSError), socket.create_connection((HOST, server.port), PATIENCE):
            pass  # wakes the thread, which waits for somebody to call
        self._thread.join()
        server.hang_up()
        server.server_close()  # waits for those that are being answered

    def _serve(self, server: _Server) -> None:
        while not self._closing.is_set():
            server.handle_request()


class _Server(ThreadingMixIn, TCPServer):
    """A thread per request, and no more than AT_ONCE of them."""

    allow_reuse_address = False
    daemon_threads = False  # so that closing waits for them
    request_queue_size = 2 * AT_ONCE  # who does not find room there calls again a second later

    def __init__(self, controller: Controller, office: Office | None, token: str, patience: float) -> None:
        self.controller, self.office, self.token, self.patience = controller, office, token, patience
        self._free = threading.Semaphore(AT_ONCE)
        self._reading: set[socket.socket] = set()
        self._turn = threading.Lock()  # held while that is read or changed
        self._closing = False
        super().__init__((HOST, 0), _Handler)
        self.port = int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:  # Any: as the library has it
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # Any: as above
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the library's signature
        log.debug("a caller of the control endpoint has gone", exc_info=True)

    def find(self, name: str) -> Served | None:
        """Return what is asked or told by that name, and who answers; None if nobody does."""
        if name == "move" and self.office is not None:
            return REQUESTS[name], partial(answer_move, self.controller, self.office)
        if name in REQUESTS:
            return REQUESTS[name], partial(REQUESTS[name].answer, self.controller)
        if name in ERRANDS and self.office is not None:
            return ERRANDS[name], partial(ERRANDS[name].answer, self.office)
        return None

    def read_soon(self, line: socket.socket) -> threading.Timer:
        """Hang up on a caller whose request is not there in time; cancel it when it is."""
        with self._turn:
            self._reading.add(line)
            if self._closing:
                _cut(line)
        timer = threading.Timer(self.patience, _cut, (line,))
        timer.daemon = True
        timer.start()
        return timer

    def read_done(self, line: socket.socket, timer: threading.Timer) -> None:
        """Note that a request is there, or never will be."""
        timer.cancel()
        with self._turn:
            self._reading.discard(line)

    def hang_up(self) -> None:
        """Hang up on all whose requests are not there yet, from now on at once."""
        with self._turn:
            self._closing = True
            for line in self._reading:
                _cut(line)


def _cut(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RD)


class _Refused(Exception):  # noqa: N818 - an answer, not an error
    """A request that is not answered, with the HTTP status that says why."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: _Server
    server_version, sys_version = "drover", ""

    def setup(self) -> None:
        self.request.settimeout(2 * self.server.patience)  # of a single read or write; the timer comes first
        super().setup()
        self._timer = self.server.read_soon(self.connection)

    def finish(self) -> None:
        self.server.read_done(self.connection, self._timer)
        super().finish()

    def do_GET(self) -> None:
        self._respond(changes=False)

    def do_POST(self) -> None:
        self._respond(changes=True)

    def _respond(self, *, changes: bool) -> None:
        try:
            answer = self._work(changes=changes)
            status = 200
        except _Refused as refused:
            status, answer = refused.status, {"error": str(refused)}
        except DroverError as error:
            status, answer = 409, {"error": str(error)}
        except OSError:  # the caller has gone, or was too slow
            raise
        except Exception as error:
            log.exception("the control endpoint has failed on %s", shorten(self.path))
            status, answer = 500, {"error": f"the endpoint has failed ({type(error).__name__}); see the driver's log."}
        self._send(status, answer)

    def _work(self, *, changes: bool) -> dict[str, Any]:  # Any: JSON
        address = urlsplit(self.path)
        name = address.path.removeprefix("/")
        served = self.server.find(name)
        # Only who has the token may send much.
        body = self._body(LARGEST if served is None or not self._is_admitted() else served[0].largest)
        self.server.read_done(self.connection, self._timer)
        self._admit()
        if served is None:
            known = [*REQUESTS, *(ERRANDS if self.server.office is not None else ())]
            raise _Refused(404, f"there is no {shorten(address.path)}. Known: {', '.join(known)}.")
        request, answer = served
        if request.changes != changes:
            raise _Refused(405, f"{name} must be sent by {'POST' if request.changes else 'GET'}.")
        given = _document(body) if changes else _query(address.query)
        try:
            fields = request.read(given)
        except DroverError as error:
            raise _Refused(400, str(error)) from error
        return answer(fields)

    def _body(self, largest: int) -> bytes:
        """Return the body of the request, read in any case: who is cut off while sending does not read the answer."""
        said = self.headers.get_all("Content-Length") or ["0"]
        if len(said) > 1 or not (said[0].isascii() and said[0].isdigit()) or "Transfer-Encoding" in self.headers:
            raise _Refused(
                411, "Content-Length must say how long the body is, and Transfer-Encoding must not be there."
            )
        length = int(said[0][:12])
        body = self.rfile.read(min(length, max(largest, SWALLOWED)))
        if length > largest:
            raise _Refused(413, f"the body has {length} bytes, but may have {largest}. Send less.")
        if len(body) < length:
            raise _Refused(408, f"{len(body)} of {length} bytes came within {self.server.patience:g} s. Send it again.")
        return body

    def _is_admitted(self) -> bool:
        try:
            self._admit()
        except _Refused:
            return False
        return True

    def _admit(self) -> None:
        """Refuse who has another name for this machine, as a page that was rebound to it has, or not the token."""
        names = self.headers.get_all("Host") or []
        if len(names) != 1 or names[0].lower() not in {f"{HOST}:{self.server.port}", f"localhost:{self.server.port}"}:
            raise _Refused(403, f"Host must be {HOST}:{self.server.port}.")
        given = self.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, f"Bearer {self.server.token}".encode()):
            raise _Refused(401, "Authorization must be: Bearer, and the token in control/endpoint.json.")

    def _send(self, status: int, answer: dict[str, Any]) -> None:  # Any: JSON
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(data)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request that HTTP knows; the library would answer with a page."""
        self.close_connection = True
        self._send(code, {"error": message or explain or "this is no request"})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name; Any: as above
        """Write what was asked to drover's log; the library would write it to standard error."""
        log.debug(format, *args)


def _document(body: bytes) -> dict[str, object]:
    found = _parsed(lambda: json.loads(body or b"{}"))
    if not isinstance(found, dict):
        raise _Refused(400, "the body must be a JSON object.")
    return found


def _query(text: str) -> dict[str, object]:
    pairs: list[tuple[str, str]] = _parsed(
        lambda: parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=8)
    )
    if len(dict(pairs)) < len(pairs):
        raise _Refused(400, "every field may be there once.")
    return dict(pairs)


def _parsed(parse: Callable[[], Any]) -> Any:  # Any: JSON, or fields
    try:
        return parse()
    except (ValueError, RecursionError) as error:
        raise _Refused(400, f"the request cannot be read: {type(error).__name__}. Send JSON, or fields.") from error
