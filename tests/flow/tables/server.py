"""A PostgreSQL server for the tests, on a socket in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

USER = "drover"


def binaries() -> Path | None:
    """Return the folder with `initdb` and `postgres`, or None; of several versions the newest."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name.split(".")[0]))
    found = shutil.which("initdb")
    folders = [*([Path(found).resolve().parent] if found else []), *folders]
    return next((folder for folder in reversed(folders) if (folder / "postgres").exists()), None)


def owner() -> str | None:
    """Return the user that must run the server instead of root; None if this user can."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@contextmanager
def running() -> Iterator[str]:
    """Start a server and yield the URI of its database; stop it in the end."""
    folder = binaries()
    assert folder is not None
    user = owner()
    # Not pytest's folder: its path may be longer than a socket's may be, and only its owner may enter.
    with tempfile.TemporaryDirectory(prefix="drover-pg-") as root:
        if user is not None:
            shutil.chown(root, user)
        data = f"{root}/data"
        options: dict[str, Any] = {"user": user, "extra_groups": []} if user is not None else {}
        subprocess.run(
            [folder / "initdb", "-D", data, "-A", "trust", "-U", USER, "-E", "UTF8", "--no-sync"],
            check=True,
            capture_output=True,
            cwd=root,
            **options,
        )
        server = subprocess.Popen(
            [folder / "postgres", "-D", data, "-k", root, "-c", "listen_addresses=", "-c", "fsync=off"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=root,
            **options,
        )
        try:
            _wait(Path(data) / "postmaster.pid", server)
            yield f"postgresql://{USER}@/postgres?host={root}"
        finally:
            server.send_signal(signal.SIGINT)  # SIGTERM would wait for everybody to hang up
            server.wait(30)


def _wait(note: Path, server: subprocess.Popen[bytes]) -> None:
    """Wait until the server says in its file that it is ready."""
    for _ in range(300):
        assert server.poll() is None, "the server did not start"
        lines = note.read_text().splitlines() if note.exists() else []
        if len(lines) >= 8 and lines[7].strip() == "ready":
            return
        time.sleep(0.1)
    raise TimeoutError("the server is not ready after 30 s")
