"""Agents as processes: a taken port, a full disk, output that nobody reads, and runners that answer late or never."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.forest import HOST, free_port

TREE = """
tree: 1
timing: {{period: 0.3, patience: 0.1}}
nodes:
  centre: {{address: "127.0.0.1:{centre}", memory: 100}}
  east: {{parent: centre, address: "127.0.0.1:{east}", memory: 50}}
operators:
  mean: {{entries: [east], at: east, memory: 26}}
  more: {{entries: [east], at: east, memory: 5}}
"""  # more than east may have: it hands `more` over as soon as it can
LIMITED = (
    "import os, resource, sys; most = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)


class Pair:
    """Two agents, and the folder of their files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = {"centre": free_port(), "east": free_port()}
        (folder / "tree.yaml").write_text(TREE.format(**self.ports))
        (folder / "token").write_text("f" * 64)
        (folder / "token").chmod(0o600)
        self.started: list[subprocess.Popen[str]] = []

    def start(
        self, node: str, *options: str, journal: str = "", most: int = 0, out: Any = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """Start an agent that may write files of at most this size; without options, everything stops at once."""
        words = [sys.executable, "-m", "drover", "agent", f"{self.folder}/tree.yaml", node]
        words += ["--token", f"{self.folder}/token", "--journal", f"{self.folder}/{journal or node}.journal"]
        words += options or ("--exec", "true")
        if most:
            words = [sys.executable, "-c", LIMITED, str(most), *words]
        made = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
        )
        self.started.append(made)
        return made


def ended(agent: subprocess.Popen[str], *, number: int | None = None) -> tuple[list[dict[str, Any]], str]:
    """Return all output lines of an agent that has ended, and its errors."""
    if number is not None:
        agent.send_signal(number)
    out, err = agent.communicate(timeout=60)
    assert "Traceback" not in err
    return [json.loads(line) for line in (out or "").splitlines()], err


def running(said: list[dict[str, Any]]) -> set[str]:
    """Return the operators that run after these output lines."""
    found: set[str] = set()
    for line in said:
        found |= set(line.get("start", ()))
        found -= set(line.get("stopped", ()))
    return found


def heard(agent: subprocess.Popen[str], key: str) -> dict[str, Any]:
    """Return the next output line with this key."""
    assert agent.stdout is not None
    for line in agent.stdout:
        if key in (found := json.loads(line)):
            return dict(found)
    raise AssertionError(f"it never said {key}")


def send_line(agent: subprocess.Popen[str], line: str) -> None:
    """Write a line as the runner of an agent."""
    assert agent.stdin is not None
    agent.stdin.write(line + "\n")
    agent.stdin.flush()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    yield made
    for agent in made.started:
        if agent.poll() is None:
            agent.kill()
            agent.communicate()


def test_an_agent_that_cannot_listen_starts_nothing(pair: Pair) -> None:
    with socket.create_server((HOST, pair.ports["east"])):
        said, err = ended(pair.start("east", journal="other"))
    assert said == []
    assert "nodes.east.address is 127.0.0.1:" in err
    assert "another agent of this node" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_agent_that_is_stopped_says_what_it_stops(pair: Pair, number: int) -> None:
    agent = pair.start("east")
    first = [heard(agent, "start"), heard(agent, "level")]
    said, err = ended(agent, number=number)
    assert (agent.returncode, err) == (0, "")
    assert running(first) == {"mean", "more"}
    assert running([*first, *said]) == set()


def test_an_agent_whose_journal_cannot_grow_ends_before_it_hands_over(pair: Pair) -> None:
    alone = pair.start("east")
    heard(alone, "level")
    ended(alone, number=signal.SIGTERM)
    centre = pair.start("centre")
    heard(centre, "listening")
    size = (pair.folder / "east.journal").stat().st_size
    said, err = ended(pair.start("east", most=size + 30))
    assert "Free disk space, and start the agent again" in err
    assert running(said) == set()
    east = pair.start("east")
    assert set(heard(east, "start")["start"]) == {"mean", "more"}, "nothing was handed over"
    assert heard(east, "stopped")["stopped"] == ["more"]
    assert heard(centre, "start") == {"start": ["more"]}


def test_an_agent_that_nobody_can_hear_ends_with_a_word(pair: Pair) -> None:
    with Path("/dev/full").open("w") as full:
        _, err = ended(pair.start("east", out=full))
    assert "standard output cannot be written" in err
    assert err.count("\n") == 1


LINES = ("--grace", "60")  # options of an agent whose runner is the test


def test_a_hand_over_waits_until_the_runner_has_acknowledged_it(pair: Pair) -> None:
    centre = pair.start("centre")
    east = pair.start("east", *LINES)
    request = heard(east, "stop")
    assert request == {"stop": ["more"], "request": "1.1"}
    for line in ("stopped", "stopped more", "stopped 0.1", "stopped 1.2"):
        send_line(east, line)
    for _ in range(5):  # periods, in each of which the machine repeats its hand-over
        assert heard(east, "unacknowledged")["unacknowledged"] == ["more"]
    send_line(east, "stopped 1.1")
    send_line(east, "stopped 1.1")
    assert heard(east, "stopped") == {"stopped": ["more"], "request": "1.1"}
    send_line(east, "stopped 1.2")  # of the request that comes at the end, before it was made
    heard(east, "level")
    east.send_signal(signal.SIGTERM)
    assert heard(east, "stop") == {"stop": ["mean"], "request": "1.2"}
    send_line(east, "stopped 1.2")
    assert heard(east, "stopped")["stopped"] == ["mean"]
    _, err = ended(east)
    assert east.returncode == 0
    assert err.count("is ignored") == 6, err
    said, _ = ended(centre, number=signal.SIGTERM)
    assert [line["start"] for line in said if "start" in line] == [[], ["more"]], "once, however often it was told"


@pytest.mark.parametrize("acknowledged", [True, False])
def test_an_agent_that_dies_before_its_hand_over_leaves_asks_the_runner_again(pair: Pair, acknowledged: bool) -> None:
    east = pair.start("east", *LINES)
    centre = pair.start("centre")
    number = heard(east, "stop")["request"]
    ended(centre, number=signal.SIGKILL)
    if acknowledged:
        send_line(east, f"stopped {number}")
        heard(east, "stopped")
    ended(east, number=signal.SIGKILL)
    east = pair.start("east", *LINES)
    assert heard(east, "stop") == {"stop": ["more"], "request": "2.1"}
    assert heard(east, "start") == {"start": ["mean"]}
    centre = pair.start("centre")
    send_line(east, f"stopped {number}")  # of the life before
    for _ in range(5):
        assert heard(east, "unacknowledged")["unacknowledged"] == ["more"]
    send_line(east, "stopped 2.1")
    assert heard(east, "stopped") == {"stopped": ["more"], "request": "2.1"}
    assert heard(centre, "start") == {"start": []}
    assert heard(centre, "start") == {"start": ["more"]}


def test_an_agent_whose_runner_never_answers_ends_with_the_names_of_what_may_run(pair: Pair) -> None:
    east = pair.start("east", "--grace", "0.3")
    heard(east, "level")
    east.send_signal(signal.SIGTERM)
    assert east.wait(60) == 1
    _, err = ended(east)
    assert err == (
        "drover: the agent has ended, but the runner has not acknowledged that these have stopped: mean, more. "
        "Stop them before you start the agent again, or set a longer --grace.\n"
    )


def test_an_agent_whose_runner_is_gone_ends(pair: Pair) -> None:
    east = pair.start("east", *LINES)
    heard(east, "level")
    said, err = ended(east)  # which closes its input
    assert east.returncode == 1
    assert said[-1]["stop"] == ["mean", "more"]
    assert err == (
        "drover: standard input has ended, so nobody can acknowledge that operators have stopped. Start the agent from "
        "the program that runs the operators, or let --exec COMMAND start and stop them.\n"
    )


def test_a_command_for_each_operator_ends_before_the_hand_over_leaves(pair: Pair) -> None:
    script = pair.folder / "operate"
    log = pair.folder / "log"
    script.write_text(f'#!/bin/sh\ntest $1 = stop && sleep 0.5\necho "$1 $2 $DROVER_NODE" >> {log}\n')
    script.chmod(0o700)
    centre, east = (pair.start(node, "--exec", str(script)) for node in ("centre", "east"))
    assert heard(centre, "started") == {"started": ["more"]}
    for agent in (east, centre):
        ended(agent, number=signal.SIGTERM)
        assert agent.returncode == 0
    lines = log.read_text().splitlines()
    assert sorted(lines[:2]) == ["start mean east", "start more east"]
    assert lines[2:] == ["stop more east", "start more centre", "stop mean east", "stop more centre"]


def test_a_command_that_cannot_be_read_is_refused(pair: Pair) -> None:
    _, err = ended(pair.start("east", "--exec", "it's"))
    assert err == """drover: --exec is "it's", but is no command (No closing quotation). Quote it as in a shell.\n"""
