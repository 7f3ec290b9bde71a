"""Seven agents as processes, each with a runner, and a proxy on every connection between them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from drover.agents.journal import Journal
from drover.hierarchy.durable_state import replay
from drover.hierarchy.layout import TreeFile, read_layout
from drover.hierarchy.messages import Record
from tests.hierarchy.world import holders

HOST = "127.0.0.1"
RUNNER = Path(__file__).parent / "runner_program.py"
PARENTS = (None, 0, 0, 1, 1, 2, 2)


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


class Proxy:
    """Forwards bytes to a port; while it is cut, it disconnects every caller."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.cut = False
        self._server = socket.create_server((HOST, 0))
        self.port = int(self._server.getsockname()[1])
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._server.accept()
                threading.Thread(target=self._pass_on, args=(caller,), daemon=True).start()

    def _pass_on(self, caller: socket.socket) -> None:
        with contextlib.suppress(OSError), caller, socket.create_connection((HOST, self.target)) as target:
            self._open |= {caller, target}
            while not self.cut:
                ready, _, _ = select.select([caller, target], [], [], 0.05)
                for each in ready:
                    data = each.recv(65536)
                    if not data:
                        return
                    if not self.cut:
                        (target if each is caller else caller).sendall(data)

    def close(self) -> None:
        """Stop for good."""
        self.cut = True
        self._server.close()


class Forest:
    """The agents, their files and the connections between them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = [free_port() for _ in PARENTS]
        links = [(i, up) for i, up in enumerate(PARENTS) if up is not None]
        self.proxies = {pair: Proxy(self.ports[pair[1]]) for i, up in links for pair in ((i, up), (up, i))}
        self.agents: dict[int, subprocess.Popen[str]] = {}
        self.killed = 0
        self.starts = 0
        (folder / "token").write_text("f" * 64)
        (folder / "token").chmod(0o600)
        for node in range(len(PARENTS)):
            (folder / f"{node}.yaml").write_text(yaml.safe_dump(self._tree(node), sort_keys=False))
        self.layout: TreeFile = read_layout(folder / "0.yaml")
        self.measure([])

    def _tree(self, node: int) -> dict[str, Any]:
        """Return the tree file of a node: it reaches its neighbours through proxies."""
        ports = {other: self.proxies[node, other].port for other in range(7) if (node, other) in self.proxies}
        nodes = {
            f"n{i}": {
                **({} if up is None else {"parent": f"n{up}"}),
                "address": f"{HOST}:{ports.get(i, self.ports[i])}",
            }
            | {"memory": 100}
            for i, up in enumerate(PARENTS)
        }
        operators: dict[str, dict[str, Any]] = {}
        for i in range(7):
            leaf = i
            while leaf < 3:
                leaf = 2 * leaf + 1
            for k in range(4):  # chains of two
                operators[f"a{i}{k}"] = {"entries": [f"n{leaf}"], "at": f"n{i}", "memory": 5}
                operators[f"b{i}{k}"] = {"inputs": [f"a{i}{k}"], "at": f"n{i}", "memory": 5}
        timing = {"period": 0.4, "patience": 0.15, "tries": 3}
        return {"tree": 1, "timing": timing, "nodes": nodes, "operators": operators}

    def measure(self, hot: list[int]) -> None:
        """Make the operators that started on these nodes large and the others small, or all of them equal."""
        large, small = (9.0, 3.0) if hot else (5.0, 5.0)
        sizes = {name: {"memory": large if int(name[1]) in hot else small} for name in self.layout.operators}
        (self.folder / "sizes.new").write_text(json.dumps(sizes))
        (self.folder / "sizes.new").replace(self.folder / "sizes")

    def start(self, node: int) -> None:
        """Start an agent that is not running."""
        where = self.folder
        out = (self.folder / f"{node}.out").open("a")
        words = [sys.executable, "-m", "drover", "agent", f"{where}/{node}.yaml", f"n{node}"]
        words += ["--journal", f"{where}/{node}.journal", "--token", f"{where}/token"]
        words += ["--sizes", f"{where}/sizes", "--fence", f"{where}/fence"]
        self.starts += 1
        words = [sys.executable, str(RUNNER), f"{where}/log", f"n{node}", str(self.starts), *words]
        with out:
            out.write('{"born": true}\n')  # what was said before is of an earlier life
            out.flush()
            self.agents[node] = subprocess.Popen(words, stdout=out, stderr=out, text=True, env=dict(os.environ))

    def kill(self, node: int) -> None:
        """Kill an agent, and wait until its runner has noticed that."""
        if self._signal(node, signal.SIGKILL):
            self.agents[node].wait(60)
            self.killed += 1

    def _signal(self, node: int, number: int) -> bool:
        """Send a signal to the agent of a node, which its runner has started."""
        lines = [line.split() for line in self.log() if line.startswith("agent ") and line.endswith(f" n{node}")]
        with contextlib.suppress(ProcessLookupError):
            if lines and self.agents[node].poll() is None:
                os.kill(int(lines[-1][1]), number)
                return True
        return False

    def log(self) -> list[str]:
        """Return what the runners have written down."""
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

    def doubles(self) -> list[str]:
        """Return the starts of operators that another runner, or the same one, was still running."""
        found: list[str] = []
        where: dict[str, str] = {}
        for line in self.log():
            what, name, node = line.split()
            if what == "start":
                if name in where:
                    found.append(f"{name} starts on {node} and runs on {where[name]}")
                where[name] = node
            elif what == "stop":
                assert where.pop(name) == node
        return found

    def said(self, node: int) -> list[str]:
        """Return all output lines of an agent, across restarts."""
        return (self.folder / f"{node}.out").read_text().splitlines()

    def stop(self) -> None:
        """Stop all agents."""
        for node in self.agents:
            self._signal(node, signal.SIGTERM)
        for node, agent in self.agents.items():
            assert agent.wait(60) == 0, self.said(node)[-5:]

    def end(self) -> None:
        """Stop all processes and close all files."""
        for node, agent in self.agents.items():
            if agent.poll() is None:
                self._signal(node, signal.SIGKILL)
                agent.kill()
                agent.wait()
        for proxy in self.proxies.values():
            proxy.close()

    def records(self, node: int) -> list[Record]:
        """Return the journal of an agent that has stopped."""
        with Journal(self.folder / f"{node}.journal", f"n{node}", self.layout.digest) as journal:
            return journal.read()

    def owners(self) -> dict[int, list[int]]:
        """Return which stopped agents own each operator."""
        return holders([replay(self.records(node)) for node in range(7)], len(self.layout.operators))

    def last(self, node: int) -> dict[str, Any]:
        """Return the last level that an agent has reported since its last start, if any."""
        for line in reversed(self.said(node)):
            found = json.loads(line) if line.startswith("{") else {}
            if "level" in found or "born" in found:
                return found if "level" in found else {}
        return {}


@contextlib.contextmanager
def forest(folder: Path) -> Iterator[Forest]:
    """Provide seven running agents, and stop them at the end."""
    made = Forest(folder)
    try:
        for node in range(7):
            made.start(node)
        yield made
    finally:
        made.end()


def until(condition: Any, seconds: float = 240.0) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.1)
