"""Network files, and run files in their place, as arguments of commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from drover.errors import FileError, visible
from drover.network.files import loads
from drover.network.files.disk import read_stream, read_text
from drover.network.files.document import read_document
from drover.network.model import Network
from drover.runs import inspect_document as inspect_run
from drover.runs import is_run

STDIN: Final = "-"


def text_of(path: str) -> str:
    """Return the text of a file, or of standard input for `-`; FileError says why it cannot be had."""
    return read_stream(sys.stdin.buffer) if path == STDIN else read_text(path)


def network_of(path: str) -> Network:
    """Return the network in a network file, or the one that a run file names; FileError lists every fault.

    A tree that the run file has is passed over, and that is said: what follows is about nodes that are all alike.
    """
    text = text_of(path)
    document = read_document(text)
    if not is_run(document):
        return loads(text)
    run, faults = inspect_run(document, Path(path).parent)
    if run is None:
        raise FileError(faults)
    if run.cluster is not None:
        words = "has a cluster, which does not count here: nodes are taken to be all alike, and rows to go anywhere"
        click.echo(f"drover: {visible(path)} {words}", err=True)
    return run.network
