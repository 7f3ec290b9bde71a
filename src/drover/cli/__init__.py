"""The command line: `drover COMMAND`.

Rule 1: results go to standard output, errors to standard error, without a traceback.
Rule 2: text from a file reaches the terminal only through `visible`.
Exit codes: 0 success, 1 an error or a closed output pipe, 2 a wrong command line, 3 a run with `--once` that has ended
with parked operators or a checkpoint that a run would not continue (`drover check --against`), 130 interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

import click

from drover.cli.agent import agent
from drover.cli.check import check
from drover.cli.dead_letters import dead_letters
from drover.cli.demo import demo
from drover.cli.experiment import experiment
from drover.cli.headroom import headroom
from drover.cli.inspect import explain, history, status
from drover.cli.operate import apply, drain, mode, move, resume, spread
from drover.cli.plan import plan
from drover.cli.queries import drop, queries, submit
from drover.cli.report import report
from drover.cli.run import run
from drover.cli.show import show
from drover.cli.simulate import simulate
from drover.errors import DroverError, FaultsError, visible

RUNNING: Final = (
    status,
    history,
    explain,
    apply,
    drain,
    mode,
    move,
    resume,
    spread,
    submit,
    drop,
    queries,
    dead_letters,
    report,
)
COMMANDS: Final = (demo, run, check, show, plan, headroom, simulate, experiment, agent, *RUNNING)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="drover", message="%(prog)s %(version)s")
def drover() -> None:
    """Run a network of continuous queries inside one Spark application."""


for command in COMMANDS:
    drover.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # the terminal's encoding may lack a character
    try:
        # In standalone mode, click prints "Aborted!" and hides the exit code of a broken pipe.
        result = drover.main(args=arguments, prog_name="drover", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SystemExit:  # click raises it for a broken pipe
        return 1
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader has closed the pipe. Without this, the interpreter complains when it flushes on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except DroverError as error:
        _print_error(error)
        return 1
    return result if isinstance(result, int) else 0


def _print_error(error: DroverError) -> None:
    if isinstance(error, FaultsError):
        lines = [f"drover: {fault}" for fault in error.faults]
    else:
        lines = [f"drover: {visible(line)}" for line in str(error).splitlines()]
    for line in lines:
        click.echo(line, err=True)
