"""A headless browser, driven by the WebDriver protocol (W3C) with the standard library alone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

# Without these, Chromium looks for updates and calls its maker's servers.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
DIRECT = build_opener(ProxyHandler({}))  # the driver is on this machine, whatever proxy the environment names


def programs() -> tuple[str, str] | None:
    """Return the driver and the browser, or None if this machine lacks one."""
    driver = shutil.which("chromedriver")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    return (driver, browser) if driver and browser else None


@dataclass(frozen=True, slots=True)
class Browser:
    """One session."""

    session: str  # its address

    def open(self, page: Path) -> None:
        _send(f"{self.session}/url", {"url": page.as_uri()})

    def ask(self, script: str) -> Any:  # Any: JSON
        """Return the result of a script, which begins with `return`."""
        return _send(f"{self.session}/execute/sync", {"script": script, "args": []})

    def send_command(self, command: str, **parameters: Any) -> Any:  # Any: JSON
        """Send a command of the browser's own protocol."""
        return _send(f"{self.session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def complaints(self) -> list[str]:
        """Return the messages on the console since the last call."""
        return [entry["message"] for entry in _send(f"{self.session}/se/log", {"type": "browser"})]


def _send(address: str, body: dict[str, Any] | None, method: str = "POST") -> Any:  # Any: JSON
    data = None if body is None else json.dumps(body).encode()
    request = Request(address, data, {"Content-Type": "application/json"}, method=method)
    with DIRECT.open(request, timeout=120) as answer:
        return json.load(answer)["value"]


@contextmanager
def running(driver: str, browser: str, folder: Path) -> Iterator[Browser]:
    """Run a browser that keeps its files in a folder."""
    with subprocess.Popen(
        [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            found = (re.search(r"started successfully on port (\d+)", line) for line in process.stdout)
            port = next(match[1] for match in found if match)
            options = {"binary": browser, "args": [*FLAGS, f"--user-data-dir={folder}"]}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            root = f"http://127.0.0.1:{port}/session"
            session = f"{root}/{_send(root, {'capabilities': {'alwaysMatch': wanted}})['sessionId']}"
            try:
                yield Browser(session)
            finally:
                _send(session, None, "DELETE")
        finally:
            process.terminate()
