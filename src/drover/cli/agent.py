"""`drover agent`: one node of a hierarchy as a separate process."""

from __future__ import annotations

import asyncio
import io
import ipaddress
import json
import os
import shlex
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TextIO

import click

from drover.errors import DroverError, FaultsError, shorten, visible

if TYPE_CHECKING:
    from drover.agents.agent import Agent, Measure
    from drover.agents.runner import NodeRunner
    from drover.agents.seal import MessageSeal
    from drover.hierarchy.layout import TreeFile
    from drover.hierarchy.thresholds import Size

MOST_FAULTS: Final = 100  # faults of the sizes file that are printed; more could fill a disk with log lines


@click.command()
@click.argument("tree")
@click.argument("node")
@click.option("--journal", required=True, metavar="FILE", help="Durable state of this node; every node needs its own.")
@click.option(
    "--token", required=True, metavar="FILE", help="Shared secret of all agents; only you may have access to the file."
)
@click.option("--sizes", metavar="FILE", help="JSON, read again at every check: {operator: {memory: 3, cpu: 0.1}}.")
@click.option("--fence", metavar="FOLDER", help="Hold a lock file in FOLDER for every running operator.")
@click.option(
    "--exec",
    "command",
    metavar="COMMAND",
    help="Run COMMAND start NAME and COMMAND stop NAME for each operator. A stop counts when its command ends with 0.",
)
@click.option(
    "--exec-timeout",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Kill a command of --exec after this time, and run it again.",
)
@click.option(
    "--grace",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="At the end, wait this long until all operators have stopped.",
)
@click.option("--public", is_flag=True, help="Listen on an address that other machines can reach.")
def agent(
    tree: str,
    node: str,
    journal: str,
    token: str,
    sizes: str | None,
    fence: str | None,
    command: str | None,
    exec_timeout: float,
    grace: float,
    public: bool,
) -> None:
    """Run NODE of the hierarchy in the file TREE; operators move between it and its neighbours.

    When the node is overloaded or underloaded, it negotiates with the agents of its parent and its children. It prints
    orders as lines of JSON: {"start": [...]} and {"stop": [...], "request": "1.7"}. Start and stop these operators, and
    write "stopped 1.7" to standard input when they have stopped; or let --exec do both. An operator starts elsewhere
    only after that. So it never runs twice at a time, even if processes die or messages are lost.

    \b
      openssl rand -hex 32 > token; chmod 600 token
      drover agent tree.yaml east --journal east.journal --token token

    Ctrl-C stops the agent. Start it again with the same journal to continue.
    docs/reference/tree-file.md describes TREE.
    """  # noqa: D301 - click wants the character itself
    from drover.agents.agent import Agent, address_of  # noqa: PLC0415 - slow to import, and other commands do not need it
    from drover.agents.host import Host  # noqa: PLC0415 - as above
    from drover.agents.journal import Journal  # noqa: PLC0415 - as above
    from drover.agents.seal import make_seal, read_token  # noqa: PLC0415 - as above
    from drover.hierarchy.layout import read_layout  # noqa: PLC0415 - as above

    try:
        layout = read_layout(tree)
    except FaultsError as error:  # it names no file, and this command reads several
        raise DroverError("\n".join(f"{shorten(tree)}: {fault}" for fault in error.faults)) from error
    number = layout.node(node)
    address_of(layout.addresses[number], node)  # raises if the node has no address
    _refuse_public(layout.addresses[number], node, public)
    seal = make_seal(read_token(token), layout.digest)
    with Journal(Path(journal), node, layout.digest) as held:
        runner = _runner(command, node, exec_timeout)
        host = Host(layout.operators, runner, _print_event, _warn, None if fence is None else Path(fence))
        try:
            running = Agent(layout, number, held, host, _measure(layout, sizes), grace)
            asyncio.run(_run(running, seal))
        except* (DroverError, BrokenPipeError) as group:
            raise _first(group) from None
        finally:
            host.close()


def _runner(command: str | None, node: str, limit: float) -> NodeRunner:
    """Return the runner that the options name: a command, or the program at the other end of the standard streams."""
    from drover.agents.hooks import HookRunner  # noqa: PLC0415 - slow to import, and other commands do not need it
    from drover.agents.lines import LineRunner  # noqa: PLC0415 - as above

    if command is None:
        return LineRunner(_print_event, _warn, _standard_input())
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise DroverError(
            f"--exec is {shorten(command)}, but is no command ({error}). Quote it as in a shell."
        ) from error
    return HookRunner(words, node, limit, _print_event, _warn)


def _standard_input() -> BinaryIO:
    """Return the input without a buffer: the lock of a buffer that a thread reads would abort Python at its exit."""
    try:
        return open(0, "rb", buffering=0, closefd=False)
    except OSError:  # the agent was started without one
        return io.BytesIO()


def _warn(text: str) -> None:
    _write_line(sys.stderr, f"drover: {visible(text)}")


def _write_line(stream: TextIO, line: str) -> None:
    """Write a line and its end in one call.

    Without buffers (PYTHONUNBUFFERED), `print` writes the end separately. If both streams go to one file, a line of the
    other stream can then land in between, and a killed agent can leave a line without its end.
    """
    stream.write(f"{line}\n")
    stream.flush()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of a group, however deeply nested."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _run(running: Agent, seal: MessageSeal) -> None:
    """Run an agent until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await running.run(seal, stop, _print_event)


def _print_event(line: Mapping[str, object]) -> None:
    try:
        _write_line(sys.stdout, json.dumps(line))
    except BrokenPipeError:
        raise  # `main` handles it
    except OSError as error:  # for example a full disk; the reader would not learn which operators to run
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the flush on exit fails again
        raise DroverError(
            f"standard output cannot be written ({error.strerror}), so nobody would learn which operators start and "
            "stop. Free some space."
        ) from error


def _refuse_public(address: str, node: str, public: bool) -> None:
    """Raise DroverError for a public address without --public: messages are authenticated, but not encrypted."""
    host = address.rpartition(":")[0]
    try:
        own = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        own = host == "localhost"
    if not own and not public:
        raise DroverError(
            f"nodes.{node}.address is {shorten(address)}, which other machines can reach. They can read all messages, "
            "though not send any without the token. Add --public to allow that, or use 127.0.0.1."
        )


def _measure(layout: TreeFile, path: str | None) -> Measure:
    """Return a function that reads the sizes of operators; an unreadable file is reported once and changes nothing."""
    from drover.agents.sizes import read_sizes  # noqa: PLC0415 - slow to import, and other commands do not need it

    printed: set[str] = set()

    def read() -> Mapping[int, Size]:
        if path is None:
            return {}
        sizes, faults = read_sizes(path, layout)
        for fault in faults:
            # An agent reads the file every few seconds for weeks; the same fault must not fill its log.
            if fault not in printed and len(printed) < MOST_FAULTS:
                printed.add(fault)
                _warn(fault)
        return sizes

    return read
