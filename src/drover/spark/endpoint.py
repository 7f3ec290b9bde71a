"""The control endpoint of a run: HTTP on the driver's loopback interface, for users who can read the checkpoint.

Rule 1: a request without the token is refused. The token is in a file that only its owner can read.
Rule 2: an answer is JSON, never a traceback.
Rule 3: a run never waits for a client: slow and large requests are cut off. Requests that are being answered when the
run ends are answered before the checkpoint is released.
Rule 4: silent clients cannot keep others out: if too many connections wait for a request, the oldest one makes way.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from drover import strict_json
from drover.errors import DroverError, shorten
from drover.spark.controller import Controller
from drover.spark.endpoint_file import HOST, EndpointAddress, write
from drover.spark.queries.moving import answer_move
from drover.spark.queries.routes import QUERY_ROUTES
from drover.spark.queries.service import QueryService
from drover.spark.routes import LARGEST, REQUESTS, Answer, Fields, Request

DISCARDED: Final = 2**20  # bytes of a refused body that are read anyway: a client cut off while sending sees no answer
PATIENCE: Final = 5.0  # seconds in which a whole request must arrive
AT_ONCE: Final = 16  # requests that are answered at the same time; a further one is refused
UNREAD: Final = 64  # connections whose request has not arrived; each has a thread
Served = tuple[Request[Any], Callable[[Fields], Answer]]  # Any: the controller or the query service
log = logging.getLogger(__name__)


class Endpoint:
    """Serves one controller and one query service from `start` to `close`; the checkpoint must be on a local disk."""

    def __init__(
        self, controller: Controller, folder: Path, queries: QueryService | None = None, *, patience: float = PATIENCE
    ) -> None:
        self._controller = controller
        self._queries = queries
        self._folder = folder
        self._patience = patience
        self._closing = threading.Event()
        self._server: _Server | None = None

    def start(self) -> EndpointAddress:
        """Start to listen, and write the address into the checkpoint."""
        server = _Server(self._controller, self._queries, secrets.token_urlsafe(32), self._patience)
        found = EndpointAddress(server.port, server.token, os.getpid(), socket.gethostname())
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
        """Answer open requests and stop listening; a second call does nothing."""
        server = self._server
        self._server = None
        if server is None:
            return
        # First of all, so that no further client finds the endpoint while it closes.
        self._written.unlink(missing_ok=True)
        self._closing.set()
        with suppress(OSError), socket.create_connection((HOST, server.port), PATIENCE):
            pass  # a connection wakes the thread, which waits in accept()
        self._thread.join()
        server.hang_up()
        server.server_close()  # waits for requests that are being answered

    def _serve(self, server: _Server) -> None:
        while not self._closing.is_set():
            server.handle_request()


class _Server(ThreadingMixIn, TCPServer):
    """A thread per connection; UNREAD and AT_ONCE limit their number."""

    allow_reuse_address = False
    daemon_threads = False  # so that closing waits for them
    request_queue_size = 2 * UNREAD  # with a full queue, the kernel of the client tries again a second later

    def __init__(self, controller: Controller, queries: QueryService | None, token: str, patience: float) -> None:
        self.controller = controller
        self.queries = queries
        self.token = token
        self.patience = patience
        self._free = threading.Semaphore(AT_ONCE)
        self._reading: dict[socket.socket, None] = {}  # connections whose request has not arrived, oldest first
        self._lock = threading.Lock()  # held while `_reading` or `_closing` is read or changed
        self._closing = False
        super().__init__((HOST, 0), _Handler)
        self.port = int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:  # Any: as in the library
        with self._lock:
            # A client that means it sends its request at once, so the oldest connection is the least likely to.
            if len(self._reading) >= UNREAD:
                oldest = next(iter(self._reading))
                del self._reading[oldest]
                _cut(oldest, socket.SHUT_RDWR)
            self._reading[request] = None
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started
            with self._lock:
                self._reading.pop(request, None)
            raise

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Take one of the places for requests that are being answered, and say whether there was one."""
        found = self._free.acquire(blocking=False)
        try:
            yield found
        finally:
            if found:
                self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the library's signature
        log.debug("a client of the control endpoint has disconnected", exc_info=True)

    def find(self, name: str) -> Served | None:
        """Return the request of that name and the function that answers it; None if there is none."""
        if name == "move" and self.queries is not None:
            return REQUESTS[name], partial(answer_move, self.controller, self.queries)
        if name in REQUESTS:
            return REQUESTS[name], partial(REQUESTS[name].answer, self.controller)
        if name in QUERY_ROUTES and self.queries is not None:
            return QUERY_ROUTES[name], partial(QUERY_ROUTES[name].answer, self.queries)
        return None

    def expect_request(self, line: socket.socket) -> threading.Timer:
        """Start a timer that cuts off a client whose request does not arrive in time; cancel it when it has."""
        with self._lock:
            if self._closing:
                _cut(line)
        timer = threading.Timer(self.patience, _cut, (line,))
        timer.daemon = True
        timer.start()
        return timer

    def request_done(self, line: socket.socket, timer: threading.Timer) -> None:
        """Stop the timer of a request that has arrived, or never will."""
        timer.cancel()
        with self._lock:
            self._reading.pop(line, None)

    def hang_up(self) -> None:
        """Cut off all clients whose requests have not arrived, now and from now on."""
        with self._lock:
            self._closing = True
            for line in self._reading:
                _cut(line)


def _cut(line: socket.socket, how: int = socket.SHUT_RD) -> None:
    with suppress(OSError):
        line.shutdown(how)


class _Refused(Exception):  # noqa: N818 - becomes an answer
    """A request that is refused, with the HTTP status."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: _Server
    server_version = "drover"
    sys_version = ""

    def setup(self) -> None:
        self.request.settimeout(2 * self.server.patience)  # of a single read or write; the timer fires first
        super().setup()
        self._timer = self.server.expect_request(self.connection)

    def finish(self) -> None:
        self.server.request_done(self.connection, self._timer)
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
            status = refused.status
            answer = {"error": str(refused)}
        except DroverError as error:
            status = 409
            answer = {"error": str(error)}
        except OSError:  # the client has disconnected or was too slow, so there is nobody to answer
            raise
        except Exception as error:
            log.exception("the control endpoint failed on %s", shorten(self.path))
            status = 500
            answer = {"error": f"the endpoint failed ({type(error).__name__}). See the driver's log."}
        self._send(status, answer)

    def _work(self, *, changes: bool) -> dict[str, Any]:  # Any: JSON
        try:
            address = urlsplit(self.path)
        except ValueError as error:
            raise _Refused(400, f"the path is {shorten(self.path)}, but must be / and a name. Correct it.") from error
        name = address.path.removeprefix("/")
        served = self.server.find(name)
        if not self._is_admitted():
            self._body(LARGEST)
            self._admit()
        if served is None:
            self._body(LARGEST)
            known = [*REQUESTS, *(QUERY_ROUTES if self.server.queries is not None else ())]
            raise _Refused(404, f"there is no {shorten(address.path)}. Known: {', '.join(known)}.")
        # Only a client with the token may send a large body, and only so many at a time.
        with self.server.place() as has_place:
            if has_place:
                return self._answer(served, name, address.query, changes=changes)
        self._body(LARGEST)
        raise _Refused(503, f"{AT_ONCE} requests are being answered. Try again.")

    def _answer(self, served: Served, name: str, query: str, *, changes: bool) -> dict[str, Any]:  # Any: JSON
        request, answer = served
        body = self._body(request.largest)
        self.server.request_done(self.connection, self._timer)
        if request.changes != changes:
            raise _Refused(405, f"{name} must be sent by {'POST' if request.changes else 'GET'}.")
        given = _document(body) if changes else _query(query)
        try:
            fields = request.read(given)
        except DroverError as error:
            raise _Refused(400, str(error)) from error
        return answer(fields)

    def _body(self, largest: int) -> bytes:
        """Return the body of the request. It is read even if it is refused, so that the client reads the answer."""
        lengths = self.headers.get_all("Content-Length") or ["0"]
        if (
            len(lengths) > 1
            or not (lengths[0].isascii() and lengths[0].isdigit())
            or "Transfer-Encoding" in self.headers
        ):
            raise _Refused(411, "Content-Length must be the length of the body. Transfer-Encoding is not supported.")
        # Twelve digits are beyond every limit. Parsing many more would only take time.
        length = int(lengths[0][:12])
        body = self.rfile.read(min(length, max(largest, DISCARDED)))
        if length > largest:
            raise _Refused(413, f"the body has {length} bytes, but may have {largest}. Send less.")
        if len(body) < length:
            raise _Refused(
                408, f"{len(body)} of {length} bytes arrived within {self.server.patience:g} s. Send it again."
            )
        return body

    def _is_admitted(self) -> bool:
        try:
            self._admit()
        except _Refused:
            return False
        return True

    def _admit(self) -> None:
        """Refuse a request with a wrong Host (as after DNS rebinding by a web page) or a wrong token."""
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
        """Refuse malformed HTTP with JSON; the library would answer with a page."""
        self.close_connection = True
        self._send(code, {"error": message or explain or "this is not an HTTP request"})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name; Any: as above
        """Write requests to drover's log; the library would write them to standard error."""
        log.debug(format, *args)


def _document(body: bytes) -> dict[str, object]:
    try:
        found = strict_json.loads(body or b"{}")
    except strict_json.JsonError as error:
        raise _Refused(400, f"the body is not JSON ({error}). Send a JSON object, with every key once.") from error
    if not isinstance(found, dict):
        raise _Refused(400, "the body must be a JSON object.")
    return found


def _query(text: str) -> dict[str, object]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=8)
    except ValueError as error:
        raise _Refused(400, f"the fields cannot be read ({error}). Send at most 8, as name=value.") from error
    if len(dict(pairs)) < len(pairs):
        raise _Refused(400, "a field appears twice. Send every field once.")
    return dict(pairs)
