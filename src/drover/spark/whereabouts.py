"""Where the endpoint of a run listens: a small file in its checkpoint, which only its owner can read.

Rule 1: the file is whole or absent. Rule 2: it counts only while the process that wrote it holds the checkpoint; what a
run that was killed has left is passed over.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from drover.errors import DroverError
from drover.flow.state.lock import Holder, holder
from drover.flow.state.storage import local_path, open_root

FOLDER: Final = "control"  # as in control/history.py, which takes half a second to import; a test compares
HOST: Final = "127.0.0.1"
NAME: Final = "endpoint.json"


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """How to reach a run."""

    port: int
    token: str = field(repr=False)
    pid: int
    machine: str
    host: str = HOST


def write(folder: Path, found: Whereabouts) -> Path:
    """Write where a run listens into its checkpoint, and return the path of the file."""
    path = folder / FOLDER / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".tmp-{NAME}-{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            json.dump(asdict(found), file)
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return path


def working(checkpoint: str) -> Holder | None:
    """Return who works on a checkpoint, or None if nobody does."""
    return holder(*open_root(checkpoint))


def read(checkpoint: str, who: Holder) -> Whereabouts | None:
    """Return where the run of this process listens, or None if it does not; DroverError if it is out of reach."""
    folder = local_path(*open_root(checkpoint))
    path = None if folder is None else folder / FOLDER / NAME
    try:
        body = None if path is None else json.loads(path.read_text("ascii"))
        found = None if body is None else Whereabouts(**body)
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise DroverError(
            f"{path} says how to reach the run, but only its owner can read it. Ask as the one who started it."
        ) from error
    except (OSError, ValueError, TypeError):  # no run has written this
        return None
    if found is None or (found.pid, found.machine) != (who.pid, who.host):
        return None
    if found.machine != socket.gethostname():
        raise DroverError(
            f"the run on {checkpoint} works on {found.machine}, and listens to that machine alone. Ask it from there."
        )
    return found
