"""The command line, as the script `drover` and as `python -m drover`."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Run the command line and return the exit code."""
    try:
        from drover.cli import main as run  # noqa: PLC0415 - takes a second, in which somebody may press Ctrl-C
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return run()


if __name__ == "__main__":
    sys.exit(main())
