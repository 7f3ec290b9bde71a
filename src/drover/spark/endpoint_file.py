"""The address of a run's endpoint: a small file in its checkpoint that only its owner can read.

Rule 1: the file is complete or absent.
Rule 2: it is valid only while the process that wrote it holds the checkpoint. The file of a killed run is ignored.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from drover.errors import DroverError
from drover.files import replacing
from drover.flow.state.lock import Holder, holder
from drover.flow.state.storage import local_path, open_root

FOLDER: Final = "control"  # as in control/history.py, whose import takes half a second; a test compares the two
HOST: Final = "127.0.0.1"
NAME: Final = "endpoint.json"


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    """How to reach a run."""

    port: int
    token: str = field(repr=False)
    pid: int
    machine: str
    host: str = HOST


def write(folder: Path, address: EndpointAddress) -> Path:
    """Write the address into the checkpoint, and return the path of the file."""
    path = folder / FOLDER / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    # The token in it lets whoever reads it command the run.
    with replacing(path, mode=0o600, locked=True, durable=False) as file:
        file.write(json.dumps(asdict(address)).encode("ascii"))
    return path


def working(checkpoint: str) -> Holder | None:
    """Return the process that holds a checkpoint, or None."""
    return holder(*open_root(checkpoint))


def read(checkpoint: str, who: Holder) -> EndpointAddress | None:
    """Return the address of the run of this process, or None if it has none; DroverError if it cannot be reached."""
    folder = local_path(*open_root(checkpoint))
    path = None if folder is None else folder / FOLDER / NAME
    try:
        body = None if path is None else json.loads(path.read_text("ascii"))
        found = None if body is None else EndpointAddress(**body)
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise DroverError(
            f"{path} has the address of the run, but only its owner can read it. "
            "Run the command as the user who started the run."
        ) from error
    except (OSError, ValueError, TypeError):  # not written by a run
        return None
    if found is None or (found.pid, found.machine) != (who.pid, who.host):
        return None
    if found.machine != socket.gethostname():
        raise DroverError(
            f"the run on {checkpoint} is on machine {found.machine} and accepts requests from there only. "
            "Run the command on that machine."
        )
    return found
