"""Network files, or run files instead of them, as arguments of commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from drover.errors import FileError, visible
from drover.network.files.disk import read_stream, read_text
from drover.network.files.document import read_document
from drover.network.files.network_file import loads
from drover.network.model import Network
from drover.runs import inspect_document as inspect_run
from drover.runs import is_run

STDIN: Final = "-"


def read_input(path: str) -> str:
    """Return the text of a file, or of standard input for `-`; FileError if it cannot be read."""
    return read_stream(sys.stdin.buffer) if path == STDIN else read_text(path)


def read_network(path: str) -> Network:
    """Return the network of a network file or a run file; FileError lists every fault.

    A tree in a run file is ignored, with a message: the commands that call this assume equal nodes.
    """
    text = read_input(path)
    document = read_document(text)
    if not is_run(document):
        return loads(text)
    run, faults = inspect_run(document, Path(path).parent)
    if run is None:
        raise FileError(faults)
    if run.cluster is not None:
        words = "has a cluster, which is ignored here: all nodes count as equal, and rows can go to any of them"
        click.echo(f"drover: {visible(path)} {words}", err=True)
    return run.network
