"""One agent as a process: a taken port, a full disk, and output that nobody reads."""

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
        self, node: str, *, journal: str = "", most: int = 0, out: Any = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """Start an agent that may write files of at most this size."""
        words = [sys.executable, "-m", "drover", "agent", f"{self.folder}/tree.yaml", node]
        words += ["--token", f"{self.folder}/token", "--journal", f"{self.folder}/{journal or node}.journal"]
        if most:
            words = [sys.executable, "-c", LIMITED, str(most), *words]
        made = subprocess.Popen(words, stdout=out, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
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
        found |= set(line.get("started", ()))
        found -= set(line.get("stopped", ()))
    return found


def heard(agent: subprocess.Popen[str], key: str) -> dict[str, Any]:
    """Return the next output line with this key."""
    assert agent.stdout is not None
    for line in agent.stdout:
        if key in (found := json.loads(line)):
            return dict(found)
    raise AssertionError(f"it never said {key}")


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
    first = [heard(agent, "started"), heard(agent, "level")]
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
    assert set(heard(east, "started")["started"]) == {"mean", "more"}, "nothing was handed over"
    assert heard(east, "stopped") == {"stopped": ["more"]}
    assert heard(centre, "started") == {"started": ["more"]}


def test_an_agent_that_nobody_can_hear_ends_with_a_word(pair: Pair) -> None:
    with Path("/dev/full").open("w") as full:
        _, err = ended(pair.start("east", out=full))
    assert "standard output cannot be written" in err
    assert err.count("\n") == 1
