"""`drover agent`: one node of a hierarchy as a separate process."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from drover.errors import DroverError, FaultsError, shorten, visible

if TYPE_CHECKING:
    from drover.agents.agent import Agent, Measure
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
@click.option("--public", is_flag=True, help="Listen on an address that other machines can reach.")
def agent(tree: str, node: str, journal: str, token: str, sizes: str | None, fence: str | None, public: bool) -> None:
    """Run NODE of the hierarchy in the file TREE; operators move between it and its neighbours.

    When the node is overloaded or underloaded, it negotiates with the agents of its parent and its children. It prints
    events as lines of JSON: {"started": [...]}, {"stopped": [...]}, {"level": 0.53, ...}. An operator stops here before
    it starts elsewhere. It never runs twice at a time, even if processes die or messages are lost.

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
        host = Host(layout.operators, _print_event, None if fence is None else Path(fence))
        try:
            running = Agent(layout, number, held, host, _measure(layout, sizes))
            asyncio.run(_run(running, seal))
        except* (DroverError, BrokenPipeError) as group:
            raise _first(group) from None
        finally:
            host.close()


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
        print(json.dumps(line), flush=True)
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
                print(f"drover: {visible(fault)}", file=sys.stderr, flush=True)
        return sizes

    return read
