from __future__ import annotations

import asyncio
import io
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from drover.agents.agent import address_of
from drover.agents.links import PeerConnections
from drover.agents.seal import make_seal
from drover.cli import main
from drover.cli.agent import _measure, _write_line
from drover.errors import DroverError
from drover.hierarchy.layout import parse_layout
from drover.hierarchy.messages import Clear, Message

TREE = """
tree: 1
timing: {period: 0.1}
nodes:
  root: {address: "127.0.0.1:PORT", memory: 100}
operators:
  mean: {entries: [root], at: root, memory: 10}
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("f" * 64)
    (tmp_path / "token").chmod(0o600)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    (tmp_path / "tree.yaml").write_text(TREE.replace("PORT", str(port)))
    return tmp_path


def words(files: Path, node: str = "root", token: str = "token") -> list[str]:
    return ["agent", f"{files}/tree.yaml", node, "--journal", f"{files}/journal", "--token", f"{files}/{token}"]


@pytest.mark.parametrize(
    ("node", "token", "change", "said"),
    [
        pytest.param("rot", "token", ("", ""), "Did you mean root?", id="an unknown node"),
        pytest.param("root", "none", ("", ""), "cannot be read", id="no token"),
        pytest.param("root", "token", ("127.0.0.1", "0.0.0.0"), "Add --public", id="an address that others reach"),
        pytest.param("root", "token", ("address: ", "parent: "), "no node has that name", id="a parent for an address"),
        pytest.param("root", "token", ('{address: "127.0.0.1:', "{memory: 5} #"), "address is empty", id="no address"),
        pytest.param("root", "token", ("tree: 1", "tree: 7"), "version 1 of tree files", id="another format"),
    ],
)
def test_a_command_that_cannot_run_says_why_without_a_traceback(
    files: Path, node: str, token: str, change: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = files / "tree.yaml"
    tree.write_text(tree.read_text().replace(*change) if change[0] else tree.read_text())
    assert main(words(files, node, token)) == 1
    out = capsys.readouterr()
    assert said in out.err
    assert "Traceback" not in out.err


def test_a_port_that_is_taken_is_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = parse_layout((files / "tree.yaml").read_text()).addresses[0]
    with socket.create_server(address_of(port, "root")):
        assert main(words(files)) == 1
    said = capsys.readouterr()
    assert said.out == "", "nothing was started"
    assert f"nodes.root.address is {port}, but the agent cannot listen on it" in said.err


def test_an_agent_runs_stops_and_continues(files: Path) -> None:
    for life in (1, 2):
        command = [sys.executable, "-m", "drover", *words(files), "--exec", "true"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as agent:
            assert agent.stdout is not None
            lines = [json.loads(agent.stdout.readline()) for _ in range(4)]
            agent.send_signal(signal.SIGTERM)
            rest, errors = agent.communicate(timeout=60)
        assert lines[0] == {"start": ["mean"]}
        assert lines[1]["life"] == life
        (level,) = [line for line in lines if "level" in line][:1]
        assert (level["level"], level["running"]) == (0.1, 1)
        assert (agent.returncode, errors) == (0, "")
        assert all(json.loads(line) for line in rest.splitlines())


def test_sizes_are_read_again_and_a_faulty_file_changes_nothing(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = parse_layout((files / "tree.yaml").read_text())
    path = files / "sizes"
    read = _measure(layout, str(path))
    path.write_text('{"mean": {"memory": 3}, "stranger": {"memory": 4}}')
    assert read() == {0: (3.0,)}
    assert "'stranger': the tree has no operator of that name" in capsys.readouterr().err
    for nonsense in (
        '{"mean": {"memory": -3}}',
        '{"mean": 3}',
        "[]",
        "{",
        '{"mean": {"memory": true}}',
        '{"mean": {"memory": 1e999}}',
    ):
        path.write_text(nonsense)
        assert read() == {}
        assert "--sizes is ignored" in capsys.readouterr().err
        assert read() == {}
        assert capsys.readouterr().err == "", "said once"
    assert _measure(layout, None)() == {}


@pytest.mark.parametrize("line", [b"hello\n", b"{}\n", b"x" * (2 << 20) + b"\n", b'{"code": "00", "message": "{}"}\n'])
def test_connections_of_strangers_are_closed_and_neighbours_are_accepted(line: bytes) -> None:
    seal = make_seal(b"0123456789abcdef", "digest")
    heard: list[Message] = []

    async def call() -> bytes:
        links = PeerConnections(seal, {}, heard.append)
        server = await links.listen(("127.0.0.1", 0))
        async with server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(seal.sign(Clear(1, 2, (1, 1, 1))) + line)
            try:
                return await asyncio.wait_for(reader.read(), 60)
            except ConnectionError:
                return b""
            finally:
                writer.close()
                await links.close_callers()

    assert asyncio.run(call()) == b""
    assert heard == [Clear(1, 2, (1, 1, 1))]


def test_an_address_may_be_of_either_kind() -> None:
    assert address_of("127.0.0.1:7000", "east") == ("127.0.0.1", 7000)
    assert address_of("[::1]:7000", "east") == ("::1", 7000)


def test_a_node_without_an_address_cannot_be_reached() -> None:
    with pytest.raises(DroverError, match=r"nodes\.east\.address is empty"):
        address_of("", "east")


class Unbuffered(io.StringIO):
    """A stream that notes every write, as a file without a buffer would get it."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return super().write(text)


def test_a_line_and_its_end_are_one_write() -> None:
    stream = Unbuffered()
    _write_line(stream, "drover: a line")
    assert stream.writes == ["drover: a line\n"]
