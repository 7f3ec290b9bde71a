from __future__ import annotations

import http.client
import json
import logging
import socket
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from drover.cli import main
from drover.control import history
from drover.control.settings import Control, Mode
from drover.errors import DroverError
from drover.spark import caller, endpoint, routes, whereabouts
from drover.spark.caller import ask
from drover.spark.queries.office import ERRANDS
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows
from tests.spark.conftest import Worlds
from tests.spark.pens import SETTINGS, START, Pen
from tests.spark.runs import chaos_network


@pytest.fixture
def pen(tmp_path: Path) -> Iterator[Pen]:
    with Pen(tmp_path / "checkpoint") as made:
        yield made


def send(
    pen: Pen, method: str, path: str, body: bytes | None = None, **head: str
) -> tuple[int, dict[str, Any]]:  # Any: JSON
    """Send a request as it is, with the right token and host unless `head` says otherwise."""
    line = http.client.HTTPConnection("127.0.0.1", pen.where.port, timeout=10)
    usual = {"Authorization": f"Bearer {pen.where.token}", "Host": f"127.0.0.1:{pen.where.port}"}
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
        pytest.param("POST", "/mode", b"{", {}, 400, "cannot be read", id="no JSON"),
        pytest.param("POST", "/mode", b"[" * 60_000, {}, 400, "cannot be read", id="JSON without a floor"),
        pytest.param("POST", "/mode", b"[]", {}, 400, "must be a JSON object", id="JSON that is no object"),
        pytest.param("POST", "/mode", b"{}", {}, 400, "mode is missing", id="a field is missing"),
        pytest.param("POST", "/mode", b'{"mood": 1}', {}, 400, "Did you mean mode?", id="an unknown field"),
        pytest.param("POST", "/mode", b'{"mode": 1}', {}, 400, "must be a text", id="a field of another type"),
        pytest.param("POST", "/drain", b'{"node": true}', {}, 400, "must be a whole number", id="true is no node"),
        pytest.param("GET", "/history?last=x", None, {}, 400, "must be a whole number", id="a query of another type"),
        pytest.param("GET", "/history?last=1&last=2", None, {}, 400, "may be there once", id="a field twice"),
        pytest.param("GET", "/history?" + "a=1&" * 99, None, {}, 400, "cannot be read", id="too many fields"),
        pytest.param("POST", "/mode", b" " * 70_000, {}, 413, "may have 65536", id="too large"),
        pytest.param("POST", "/mode", b"{}", {"Content-Length": "-1"}, 411, "Content-Length", id="no length"),
        pytest.param("POST", "/mode", b"{}", {"Content-Length": "9"}, 408, "2 of 9 bytes", id="less than it said"),
        pytest.param("POST", "/mode", b'{"mode": "aut"}', {}, 409, "Did you mean auto?", id="an unknown mode"),
        pytest.param("POST", "/drain", b'{"node": 9}', {}, 409, "nodes are 0 to 1", id="an unknown node"),
        pytest.param("GET", "/explain?unit=z", None, {}, 409, "there is no unit 'z'", id="an unknown unit"),
    ],
)
def test_what_is_wrong_is_refused_in_words(
    pen: Pen, method: str, path: str, body: bytes | None, head: dict[str, str], status: int, says: str
) -> None:
    found, answer = send(pen, method, path, body, **head)
    assert found == status
    assert list(answer) == ["error"]
    assert says in answer["error"]
    assert "Traceback" not in answer["error"]
    assert pen.controller.settings == SETTINGS
    assert send(pen, "GET", "/status")[0] == 200  # and it goes on


def test_a_defect_is_told_without_a_traceback(
    pen: Pen, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> dict[str, object]:
        raise ZeroDivisionError("secret")

    monkeypatch.setitem(cast(dict[str, routes.Request[Any]], routes.REQUESTS), "status", routes.Request(broken))
    with caplog.at_level(logging.CRITICAL):
        status, answer = send(pen, "GET", "/status")
    assert (status, answer) == (500, {"error": "the endpoint has failed (ZeroDivisionError); see the driver's log."})


def test_it_listens_to_this_machine_alone_and_only_its_owner_reads_the_token(pen: Pen) -> None:
    path = pen.folder / "control" / "endpoint.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert pen.where.host == "127.0.0.1"
    assert len(pen.where.token) >= 40
    assert pen.where.token not in repr(pen.where)
    assert [each.name for each in path.parent.glob(".tmp-*")] == []


def test_the_file_is_gone_with_the_run(tmp_path: Path) -> None:
    with Pen(tmp_path) as pen:
        where = pen.where
    assert not (tmp_path / "control" / "endpoint.json").exists()
    pen.endpoint.close()  # a second time does nothing
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", where.port), 1).close()


def test_a_slow_caller_is_hung_up_on_and_holds_up_nobody(pen: Pen) -> None:
    with socket.create_connection(("127.0.0.1", pen.where.port), 10) as slow:
        slow.sendall(b"GET /status HT")
        assert send(pen, "GET", "/status")[0] == 200
        assert b"flock" not in b"".join(iter(lambda: slow.recv(1000), b""))


@pytest.fixture
def patient(pen: Pen) -> Iterator[tuple[endpoint.Endpoint, int]]:
    """An endpoint that hangs up on nobody for being slow, and its port."""
    pen.endpoint.close()
    made = endpoint.Endpoint(pen.controller, pen.folder, patience=600.0)
    yield made, made.start().port
    made.close()


def test_closing_does_not_wait_for_who_says_nothing(patient: tuple[endpoint.Endpoint, int]) -> None:
    made, port = patient
    with socket.create_connection(("127.0.0.1", port), 10) as silent:
        while made._server is None or not made._server._reading:
            time.sleep(0.001)
        made.close()
        assert silent.recv(10) == b""


def test_too_many_at_once_are_hung_up_on(patient: tuple[endpoint.Endpoint, int]) -> None:
    made, port = patient
    with ExitStack() as stack:
        lines = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 10)) for _ in range(endpoint.AT_ONCE + 1)
        ]
        assert lines[-1].recv(10) == b""
        made.close()


def test_many_ask_and_tell_at_once(pen: Pen) -> None:
    pen.feed(4)

    def work(number: int) -> str:
        if number % 3 == 0:
            return str(ask(pen.path, "mode", mode=["propose", "observe"][number % 2])["mode"])
        return str(ask(pen.path, ["status", "proposal"][number % 2])["network"])

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(work, range(60)))
    assert found == {"propose", "observe", "flock"}


def test_the_caller_knows_what_changes_a_run() -> None:
    known: dict[str, routes.Request[Any]] = {**routes.REQUESTS, **ERRANDS}
    assert {name for name, request in known.items() if request.changes} == caller.CHANGES
    assert whereabouts.FOLDER == history.FOLDER


def test_what_is_shown_is_what_is_applied(pen: Pen) -> None:
    pen.feed(4)
    shown = ask(pen.path, "proposal")
    assert shown["waits"]
    wanted = {**START.node_of} | {move["unit"]: move["target"] for move in shown["proposal"]["moves"]}
    applied = ask(pen.path, "apply", id=shown["proposal"]["id"])
    assert (applied["plan"], pen.places) == (2, wanted)
    assert applied["record"]["proposal"]["moves"] == shown["proposal"]["moves"]
    assert ask(pen.path, "history", last=1)["records"][0]["kind"] == "moved"
    with pytest.raises(DroverError, match="p3 was carried out in period 4: applied by hand"):
        ask(pen.path, "apply", id=shown["proposal"]["id"])


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.AUTO])
def test_a_proposal_is_worked_out_for_who_asks_and_can_be_applied(tmp_path: Path, mode: Mode) -> None:
    with Pen(tmp_path, Control(mode=mode, warm_up=3, window=4, trial=50)) as pen:
        pen.feed(4)
        shown = ask(pen.path, "proposal")
        assert not shown["waits"]
        assert shown["kind"] == ("on trial" if mode is Mode.AUTO else "proposed")
        assert ask(pen.path, "proposal") == shown  # asking changes nothing
        assert pen.places == dict(START.node_of)
        pen.feed(2)  # whoever reads it takes a while
        ask(pen.path, "apply", id=shown["proposal"]["id"])
        assert pen.places == {**START.node_of} | {move["unit"]: move["target"] for move in shown["proposal"]["moves"]}
        with pytest.raises(DroverError, match="is on node 1 now"):
            ask(pen.path, "apply", id=shown["proposal"]["id"])


def test_a_changed_world_is_refused(tmp_path: Path) -> None:
    with Pen(tmp_path, Control(mode=Mode.OBSERVE, warm_up=3, window=4)) as pen:
        pen.feed(8)
        shown = ask(pen.path, "proposal")["proposal"]["id"]
        ask(pen.path, "drain", node=1)
        with pytest.raises(DroverError, match="is lost or is being emptied"):
            ask(pen.path, "apply", id=shown)
        ask(pen.path, "drain", node=1, empty=False)
        pen.controller.change(pins={"b": 0, "a": 0})
        with pytest.raises(DroverError, match="is pinned to node 0"):
            ask(pen.path, "apply", id=shown)
        pen.controller.change(pins={})
        pen.feed(3, rows=20_000)
        with pytest.raises(DroverError, match="the load has changed in period"):
            ask(pen.path, "apply", id=shown)
        ask(pen.path, "move", unit="c", node=0)
        with pytest.raises(DroverError, match="plan 1 ran then, and plan 2 does now"):
            ask(pen.path, "apply", id=shown)


def test_a_move_by_hand_is_written_down_and_rests(pen: Pen) -> None:
    pen.feed(3)
    assert ask(pen.path, "move", unit="c", node=0)["plan"] == 2
    assert pen.places["c"] == 0
    assert "moved by hand" in ask(pen.path, "explain", unit="c")["text"]
    assert "c" in pen.controller._state.resting(10)


def test_a_drained_node_is_emptied(tmp_path: Path) -> None:
    with Pen(tmp_path, Control(mode=Mode.AUTO, warm_up=3, window=4)) as pen:
        pen.feed(1)
        assert ask(pen.path, "drain", node=0)["units"] == ["a", "b"]
        pen.feed(1)
        assert set(pen.places.values()) == {1}


def test_a_run_that_has_ended_is_not_changed(tmp_path: Path) -> None:
    with Pen(tmp_path) as pen:
        pen.feed(1)
    for change in (
        lambda: pen.controller.move("a", 1),
        lambda: pen.controller.drain(1),
        lambda: pen.controller.change(mode="auto"),
        lambda: pen.controller.approve("p3"),
    ):
        with pytest.raises(DroverError, match="the run has ended"):
            change()


def test_a_real_run_is_asked_and_told_by_commands(
    worlds: Worlds, ordered: list[Batch], expected: dict[str, pl.DataFrame], capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that proposes; a node is drained, the proposal is shown and applied, and no row is lost."""
    world = worlds(chaos_network())
    world.add(ordered[:3])
    path = str(world.checkpoint)
    handle = world.start(trigger={"processingTime": "0 seconds"}, control={"mode": "propose", "period": 0.0})
    handle.processAllAvailable()
    handle.control.settle()

    def told(*words: str) -> dict[str, Any]:
        assert main([*words, "--json"]) == 0
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    status = told("status", path)
    assert (status["live"], status["network"], status["plan"]["nodes"]) == (True, "chaos", 2)
    assert len(told("history", path)["records"]) >= 3
    assert told("explain", "windows", "--from", path)["node"] == handle.plan.node_of["windows"]
    units = told("drain", "1", "--from", path)["units"]
    shown = told("plan", "--from", path)["proposal"]
    assert [move["unit"] for move in shown["moves"]] == units
    assert handle.proposal.proposal is not None
    assert handle.proposal.proposal.id == shown["id"]
    told("apply", shown["id"], "--from", path)
    assert set(handle.plan.node_of.values()) == {0}
    world.add(ordered[3:])
    handle.processAllAvailable()
    assert {entry["plan"] for entry in handle.recentProgress} == {1, 2}
    handle.stop()
    for stream, rows in expected.items():
        if stream in world.network.outputs:
            assert_same_rows(world.output(stream), rows)
    status = told("status", path)
    assert (status["running"], status["drained"], status["plan"]["number"]) == (False, [1], 2)
    assert not (world.checkpoint / "control" / "endpoint.json").exists()
