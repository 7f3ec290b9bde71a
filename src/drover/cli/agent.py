"""`drover agent`: one node of a hierarchy, as a process of its own."""

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
    from drover.agents.seal import Seal
    from drover.hierarchy.layout import Layout
    from drover.hierarchy.thresholds import Size

MOST_SAID: Final = 100  # faults of sizes that are told; a file that is wrong anew every time would fill a disk


@click.command()
@click.argument("tree")
@click.argument("node")
@click.option("--journal", required=True, metavar="FILE", help="What this node must never forget; one for each node.")
@click.option("--token", required=True, metavar="FILE", help="The secret of all agents; only you may read the file.")
@click.option("--sizes", metavar="FILE", help="JSON, read anew at every look: {operator: {memory: 3, cpu: 0.1}}.")
@click.option("--fence", metavar="FOLDER", help="Hold a lock file there for every operator that runs.")
@click.option("--public", is_flag=True, help="Listen on an address that other machines can reach.")
def agent(tree: str, node: str, journal: str, token: str, sizes: str | None, fence: str | None, public: bool) -> None:
    """Run NODE of the hierarchy in the file TREE: operators move between it and its neighbours.

    It negotiates with the agents of its parent and its children whenever it is overloaded or underloaded. What happens
    is printed as lines of JSON: {"started": [...]}, {"stopped": [...]}, {"level": 0.53, ...}. An operator that is
    handed over has stopped here before it starts there, and runs nowhere twice, whoever dies and whatever is lost.

    \b
      openssl rand -hex 32 > token; chmod 600 token
      drover agent tree.yaml east --journal east.journal --token token

    Ctrl-C stops it; started again with the same journal, it goes on. docs/hierarchy.md has the fields of TREE.
    """  # noqa: D301 - click wants the character itself
    from drover.agents.agent import Agent, address_of  # noqa: PLC0415 - other commands need not wait for it
    from drover.agents.host import Host  # noqa: PLC0415 - as above
    from drover.agents.journal import Journal  # noqa: PLC0415 - as above
    from drover.agents.seal import read_token, seal_of  # noqa: PLC0415 - as above
    from drover.hierarchy.layout import read_layout  # noqa: PLC0415 - as above

    try:
        layout = read_layout(tree)
    except FaultsError as error:  # which names no file, and here are several
        raise DroverError("\n".join(f"{shorten(tree)}: {fault}" for fault in error.faults)) from error
    number = layout.node(node)
    address_of(layout.addresses[number], node)  # or it has none
    _refuse_public(layout.addresses[number], node, public)
    seal = seal_of(read_token(token), layout.digest)
    with Journal(Path(journal), node, layout.digest) as held:
        host = Host(layout.operators, _tell, None if fence is None else Path(fence))
        try:
            running = Agent(layout, number, held, host, _measure(layout, sizes))
            asyncio.run(_run(running, seal))
        except* (DroverError, BrokenPipeError) as group:
            raise _first(group) from None
        finally:
            host.close()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of a group, however deep."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _run(running: Agent, seal: Seal) -> None:
    """Run an agent until somebody interrupts it."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await running.run(seal, stop, _tell)


def _tell(line: Mapping[str, object]) -> None:
    try:
        print(json.dumps(line), flush=True)
    except BrokenPipeError:
        raise  # for `main`, which knows what to do with it
    except OSError as error:  # a disk that is full, say: whoever runs operators would not learn what to run
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the same again when it is flushed on exit
        raise DroverError(
            f"standard output takes nothing ({error.strerror}), but says what is to start and to stop. Make room."
        ) from error


def _refuse_public(address: str, node: str, public: bool) -> None:
    """Refuse to listen where other machines can reach it, unless asked to: lines are sealed, but not secret."""
    host = address.rpartition(":")[0]
    try:
        own = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        own = host == "localhost"
    if not own and not public:
        raise DroverError(
            f"nodes.{node}.address is {shorten(address)}, which other machines can reach. Anyone there can read what "
            "is said, though not speak without the token. Say --public, or use 127.0.0.1."
        )


def _measure(layout: Layout, path: str | None) -> Measure:
    """Return what reads sizes of operators; a file that cannot be read says so once, and changes nothing."""
    from drover.agents.sizes import read_sizes  # noqa: PLC0415 - other commands need not wait for it

    said: set[str] = set()

    def read() -> Mapping[int, Size]:
        if path is None:
            return {}
        sizes, faults = read_sizes(path, layout)
        for fault in faults:
            if fault not in said and len(said) < MOST_SAID:
                said.add(fault)
                print(f"drover: {visible(fault)}", file=sys.stderr, flush=True)
        return sizes

    return read
