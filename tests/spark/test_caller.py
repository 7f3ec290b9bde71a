"""Requests to a run: its endpoint if it answers, its files if it is stopped, and errors that say what to do."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from drover.errors import DroverError
from drover.spark.caller import CHANGES, ask, call
from drover.spark.endpoint_file import EndpointAddress
from drover.spark.queries.routes import QUERY_ROUTES
from drover.spark.routes import REQUESTS, Request
from tests.spark.control_runs import ControlRun, stopped


def test_the_caller_knows_which_requests_change_a_run() -> None:
    both: dict[str, Request[Any]] = {**REQUESTS, **QUERY_ROUTES}  # Any: the controller or the query service
    assert {name for name, request in both.items() if request.changes} == CHANGES


def test_a_running_network_answers_live_and_a_stopped_one_from_files(tmp_path: Path) -> None:
    with ControlRun(tmp_path) as run:
        found = ask(run.path, "status")
        assert (found["running"], found["live"]) == (True, True)
    found = ask(str(tmp_path), "status")
    assert (found["running"], found["live"]) == (False, False)


def test_a_refusal_of_the_endpoint_is_an_error_with_its_message(tmp_path: Path) -> None:
    with ControlRun(tmp_path) as run, pytest.raises(DroverError, match="there is no unit 'none'"):
        ask(run.path, "explain", unit="none")


def test_an_endpoint_that_is_gone_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(DroverError, match=rf"process 7 does not answer at 127\.0\.0\.1:{port}"):
        call(EndpointAddress(port, "token", 7, "here"), "status")


def test_asking_a_running_network_does_not_import_spark(tmp_path: Path) -> None:
    run = stopped(tmp_path)
    program = (
        "import sys; from drover.spark.caller import ask; import drover.spark.queries.routes; "
        f"ask({run.path!r}, 'queries'); sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
