"""The control endpoint: only authorized requests are served, and no client can delay a run."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from drover.cli import main
from drover.control.settings import Control, Mode
from drover.errors import DroverError
from drover.spark import endpoint, routes
from drover.spark.caller import ask
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows
from tests.spark.conftest import Worlds
from tests.spark.control_runs import SETTINGS, START, ControlRun
from tests.spark.runs import chaos_network


@pytest.fixture
def run(tmp_path: Path) -> Iterator[ControlRun]:
    with ControlRun(tmp_path / "checkpoint") as made:
        yield made


def send(
    run: ControlRun, method: str, path: str, body: bytes | None = None, **head: str
) -> tuple[int, dict[str, Any]]:  # Any: JSON
    """Send a request as it is, with the right token and host unless `head` says otherwise."""
    line = http.client.HTTPConnection("127.0.0.1", run.where.port, timeout=10)
    usual = {"Authorization": f"Bearer {run.where.token}", "Host": f"127.0.0.1:{run.where.port}"}
    try:
        line.request(method, path, body, usual | head)
        response = line.getresponse()
        return response.status, json.loads(response.read())
    finally:
        line.close()


@pytest.mark.parametrize(
    ("method", "path", "body", "head", "status", "says"),
    [
        pytest.param("GET", "/status", None, {"Authorization": "Bearer x"}, 401, "token", id="a wrong token"),
        pytest.param("GET", "/status", None, {"Authorization": ""}, 401, "token", id="no token"),
        pytest.param(
            "GET", "/status", None, {"Authorization": "Bearer \xe9"}, 401, "token", id="a token of odd letters"
        ),
        pytest.param("GET", "/status", None, {"Host": "evil.example"}, 403, "Host must be", id="a rebound name"),
        pytest.param("GET", "/secrets", None, {}, 404, "Known: status, history", id="an unknown path"),
        pytest.param("GET", "/../status", None, {}, 404, "there is no", id="a path that climbs"),
        pytest.param("GET", "/apply", None, {}, 405, "must be sent by POST", id="a change by GET"),
        pytest.param("POST", "/status", b"{}", {}, 405, "must be sent by GET", id="a question by POST"),
        pytest.param("PUT", "/status", None, {}, 501, "Unsupported method", id="another method"),
        pytest.param("POST", "/mode", b"{", {}, 400, "not JSON (Expecting property name", id="no JSON"),
        pytest.param("POST", "/mode", b"[" * 60_000, {}, 400, "nested too deeply", id="JSON without a floor"),
        pytest.param(
            "POST", "/mode", b'{"mode": "auto", "mode": "auto"}', {}, 400, "key 'mode' appears twice", id="a key twice"
        ),
        pytest.param("GET", "http://[/status", None, {}, 400, "must be / and a name", id="no path"),
        pytest.param("POST", "/mode", b"[]", {}, 400, "must be a JSON object", id="JSON that is no object"),
        pytest.param("POST", "/mode", b"{}", {}, 400, "mode is missing", id="a field is missing"),
        pytest.param("POST", "/mode", b'{"mood": 1}', {}, 400, "Did you mean mode?", id="an unknown field"),
        pytest.param("POST", "/mode", b'{"mode": 1}', {}, 400, "must be text", id="a field of another type"),
        pytest.param("POST", "/drain", b'{"node": true}', {}, 400, "must be a whole number", id="true is no node"),
        pytest.param("GET", "/history?last=x", None, {}, 400, "must be a whole number", id="a query of another type"),
        pytest.param("GET", "/history?last=1&last=2", None, {}, 400, "appears twice", id="a field twice"),
        pytest.param("GET", "/history?" + "a=1&" * 99, None, {}, 400, "cannot be read", id="too many fields"),
        pytest.param("POST", "/mode", b" " * 70_000, {}, 413, "may have 65536", id="too large"),
        pytest.param("POST", "/mode", b"{}", {"Content-Length": "-1"}, 411, "Content-Length", id="no length"),
        pytest.param("POST", "/mode", b"{}", {"Content-Length": "9"}, 408, "2 of 9 bytes", id="less than it said"),
        pytest.param("POST", "/mode", b'{"mode": "aut"}', {}, 409, "Did you mean auto?", id="an unknown mode"),
        pytest.param("POST", "/drain", b'{"node": 9}', {}, 409, "nodes are 0 to 1", id="an unknown node"),
        pytest.param("GET", "/explain?unit=z", None, {}, 409, "there is no unit 'z'", id="an unknown unit"),
    ],
)
def test_a_bad_request_is_refused_with_the_reason(
    run: ControlRun, method: str, path: str, body: bytes | None, head: dict[str, str], status: int, says: str
) -> None:
    found, answer = send(run, method, path, body, **head)
    assert found == status
    assert list(answer) == ["error"]
    assert says in answer["error"]
    assert "Traceback" not in answer["error"]
    assert run.controller.settings == SETTINGS
    assert send(run, "GET", "/status")[0] == 200  # and it goes on


def test_a_defect_is_reported_without_a_traceback(
    run: ControlRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> dict[str, object]:
        raise ZeroDivisionError("secret")

    monkeypatch.setitem(cast(dict[str, routes.Request[Any]], routes.REQUESTS), "status", routes.Request(broken))
    with caplog.at_level(logging.CRITICAL):
        status, answer = send(run, "GET", "/status")
    assert (status, answer) == (500, {"error": "the endpoint failed (ZeroDivisionError). See the driver's log."})


def test_it_listens_on_loopback_only_and_the_token_is_private(run: ControlRun) -> None:
    path = run.folder / "control" / "endpoint.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run.where.host == "127.0.0.1"
    assert len(run.where.token) >= 40
    assert run.where.token not in repr(run.where)
    assert [each.name for each in path.parent.glob(".*")] == []


def test_the_address_file_is_deleted_with_the_run(tmp_path: Path) -> None:
    with ControlRun(tmp_path) as run:
        where = run.where
    assert not (tmp_path / "control" / "endpoint.json").exists()
    run.endpoint.close()  # a second time does nothing
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", where.port), 1).close()


def test_a_slow_client_is_cut_off_and_delays_no_other(run: ControlRun) -> None:
    with socket.create_connection(("127.0.0.1", run.where.port), 10) as slow:
        slow.sendall(b"GET /status HT")
        assert send(run, "GET", "/status")[0] == 200
        assert b"flock" not in b"".join(iter(lambda: slow.recv(1000), b""))


@pytest.fixture
def patient(run: ControlRun) -> Iterator[tuple[endpoint.Endpoint, int]]:
    """An endpoint that cuts off no slow client, and its port."""
    run.endpoint.close()
    made = endpoint.Endpoint(run.controller, run.folder, patience=600.0)
    yield made, made.start().port
    made.close()


def test_closing_does_not_wait_for_a_silent_client(patient: tuple[endpoint.Endpoint, int]) -> None:
    made, port = patient
    with socket.create_connection(("127.0.0.1", port), 10) as silent:
        while made._server is None or not made._server._reading:
            time.sleep(0.001)
        made.close()
        assert silent.recv(10) == b""


def test_silent_connections_keep_nobody_out_and_the_oldest_makes_way(
    run: ControlRun, patient: tuple[endpoint.Endpoint, int]
) -> None:
    _, port = patient  # which would wait for 600 s
    with ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 60)) for _ in range(3 * endpoint.UNREAD)
        ]
        for line in silent[:10]:
            assert line.recv(10) == b""
        assert ask(run.path, "status")["network"] == "flock"
        silent[-1].settimeout(0.2)
        with pytest.raises(TimeoutError):
            silent[-1].recv(10)  # one of the last is still open


def test_a_request_beyond_the_limit_is_told_to_come_back(run: ControlRun, monkeypatch: pytest.MonkeyPatch) -> None:
    entered = threading.Semaphore(0)
    leave = threading.Event()

    def slow(*_: object) -> dict[str, object]:
        entered.release()
        leave.wait(60)
        return {"late": True}

    monkeypatch.setitem(cast(dict[str, routes.Request[Any]], routes.REQUESTS), "explain", routes.Request(slow))
    with ThreadPoolExecutor(endpoint.AT_ONCE) as pool:
        answers = [pool.submit(send, run, "GET", "/explain") for _ in range(endpoint.AT_ONCE)]
        for _ in answers:
            assert entered.acquire(timeout=60)
        assert send(run, "GET", "/status") == (503, {"error": "16 requests are being answered. Try again."})
        leave.set()
        assert [each.result() for each in answers] == [(200, {"late": True})] * endpoint.AT_ONCE
    assert send(run, "GET", "/status")[0] == 200


def test_many_clients_at_once(run: ControlRun) -> None:
    run.feed(4)

    def work(number: int) -> str:
        if number % 3 == 0:
            return str(ask(run.path, "mode", mode=["propose", "observe"][number % 2])["mode"])
        return str(ask(run.path, ["status", "proposal"][number % 2])["network"])

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(work, range(60)))
    assert found == {"propose", "observe", "flock"}


def test_what_is_shown_is_what_is_applied(run: ControlRun) -> None:
    run.feed(4)
    shown = ask(run.path, "proposal")
    assert shown["waits"]
    wanted = {**START.node_of} | {move["unit"]: move["target"] for move in shown["proposal"]["moves"]}
    applied = ask(run.path, "apply", id=shown["proposal"]["id"])
    assert (applied["plan"], run.places) == (2, wanted)
    assert applied["record"]["proposal"]["moves"] == shown["proposal"]["moves"]
    assert ask(run.path, "history", last=1)["records"][0]["kind"] == "moved"
    with pytest.raises(DroverError, match="p3 was carried out in period 4: applied by hand"):
        ask(run.path, "apply", id=shown["proposal"]["id"])


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.AUTO])
def test_a_proposal_is_computed_on_request_and_can_be_applied(tmp_path: Path, mode: Mode) -> None:
    with ControlRun(tmp_path, Control(mode=mode, warm_up=3, window=4, trial=50)) as run:
        run.feed(4)
        shown = ask(run.path, "proposal")
        assert not shown["waits"]
        assert shown["kind"] == ("on trial" if mode is Mode.AUTO else "proposed")
        assert ask(run.path, "proposal") == shown  # asking changes nothing
        assert run.places == dict(START.node_of)
        run.feed(2)  # time passes while a person reads it
        ask(run.path, "apply", id=shown["proposal"]["id"])
        assert run.places == {**START.node_of} | {move["unit"]: move["target"] for move in shown["proposal"]["moves"]}
        with pytest.raises(DroverError, match="is on node 1 now"):
            ask(run.path, "apply", id=shown["proposal"]["id"])


def test_an_outdated_proposal_is_refused(tmp_path: Path) -> None:
    with ControlRun(tmp_path, Control(mode=Mode.OBSERVE, warm_up=3, window=4)) as run:
        run.feed(8)
        shown = ask(run.path, "proposal")["proposal"]["id"]
        ask(run.path, "drain", node=1)
        with pytest.raises(DroverError, match="is lost or drained"):
            ask(run.path, "apply", id=shown)
        ask(run.path, "drain", node=1, empty=False)
        run.controller.change(pins={"b": 0, "a": 0})
        with pytest.raises(DroverError, match="is pinned to node 0"):
            ask(run.path, "apply", id=shown)
        run.controller.change(pins={})
        run.feed(3, rows=20_000)
        with pytest.raises(DroverError, match="the load has changed in period"):
            ask(run.path, "apply", id=shown)
        ask(run.path, "move", unit="c", node=0)
        with pytest.raises(DroverError, match="plan 1 ran then, and plan 2 does now"):
            ask(run.path, "apply", id=shown)


def test_a_requested_move_is_recorded_and_the_unit_rests(run: ControlRun) -> None:
    run.feed(3)
    assert ask(run.path, "move", unit="c", node=0)["plan"] == 2
    assert run.places["c"] == 0
    assert "moved by hand" in ask(run.path, "explain", unit="c")["text"]
    assert "c" in run.controller._state.resting(10)


def test_a_drained_node_is_emptied(tmp_path: Path) -> None:
    with ControlRun(tmp_path, Control(mode=Mode.AUTO, warm_up=3, window=4)) as run:
        run.feed(1)
        assert ask(run.path, "drain", node=0)["units"] == ["a", "b"]
        run.feed(1)
        assert set(run.places.values()) == {1}


def test_a_run_that_has_ended_is_not_changed(tmp_path: Path) -> None:
    with ControlRun(tmp_path) as run:
        run.feed(1)
    for change in (
        lambda: run.controller.move("a", 1),
        lambda: run.controller.drain(1),
        lambda: run.controller.change(mode="auto"),
        lambda: run.controller.approve("p3"),
    ):
        with pytest.raises(DroverError, match="the run has ended"):
            change()


def test_commands_reach_a_real_run(
    worlds: Worlds, ordered: list[Batch], expected: dict[str, pl.DataFrame], capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that proposes; a node is drained, the proposal is shown and applied, and no row is lost."""
    world = worlds(chaos_network())
    world.add(ordered[:3])
    path = str(world.checkpoint)
    handle = world.start(trigger={"processingTime": "0 seconds"}, control={"mode": "propose", "period": 0.0})
    handle.processAllAvailable()
    handle.control.wait()

    def run_command(*words: str) -> dict[str, Any]:
        assert main([*words, "--json"]) == 0
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    status = run_command("status", path)
    assert (status["live"], status["network"], status["plan"]["nodes"]) == (True, "chaos", 2)
    assert len(run_command("history", path)["records"]) >= 3
    assert run_command("explain", "windows", "--from", path)["node"] == handle.plan.node_of["windows"]
    units = run_command("drain", "1", "--from", path)["units"]
    shown = run_command("plan", "--from", path)["proposal"]
    assert [move["unit"] for move in shown["moves"]] == units
    assert handle.proposal.proposal is not None
    assert handle.proposal.proposal.id == shown["id"]
    run_command("apply", shown["id"], "--from", path)
    assert set(handle.plan.node_of.values()) == {0}
    world.add(ordered[3:])
    handle.processAllAvailable()
    assert {entry["plan"] for entry in handle.batches} == {1, 2}
    handle.stop()
    for stream, rows in expected.items():
        if stream in world.network.outputs:
            assert_same_rows(world.output(stream), rows)
    status = run_command("status", path)
    assert (status["running"], status["drained"], status["plan"]["number"]) == (False, [1], 2)
    assert not (world.checkpoint / "control" / "endpoint.json").exists()
