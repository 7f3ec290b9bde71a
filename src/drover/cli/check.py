"""`drover check`: every fault of a network file or a run file, with its line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

from drover.cli.inputs import text_of
from drover.errors import Fault, FileError, visible
from drover.network.drawing.summary import count
from drover.network.files import inspect_document
from drover.network.files.document import read_document
from drover.network.model import Network
from drover.runs import inspect_document as inspect_run
from drover.runs import is_run


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said of one file."""

    path: str
    network: Network | None
    faults: tuple[Fault, ...]
    is_run: bool = False


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def check(files: tuple[str, ...], as_json: bool) -> int:
    """Check network files and run files, and list all their faults.

    FILE is a network or a run in YAML; - is standard input. Nothing is run or imported. Each fault is one line:

    \b
      traffic.yaml:12: operators.busy.where is 'byte > 9', but ... . Did you mean bytes?

    The exit code is 0 if every file is sound, and 1 if any has a fault.
    """  # noqa: D301 - click wants the character itself
    verdicts = [judge(path) for path in files]
    click.echo(_as_json(verdicts) if as_json else "\n".join(line for verdict in verdicts for line in _lines(verdict)))
    return 1 if any(verdict.network is None for verdict in verdicts) else 0


def judge(path: str) -> Verdict:
    """Return what is to be said of the file at `path`."""
    try:
        document = read_document(text_of(path))
        if not is_run(document):
            return Verdict(path, *inspect_document(document))
        run, faults = inspect_run(document, Path(path).parent)
        return Verdict(path, None if run is None else run.network, faults, is_run=True)
    except FileError as error:
        return Verdict(path, None, error.faults)


def _lines(verdict: Verdict) -> list[str]:
    """Return what a person reads: a line per fault and one to sum up."""
    path = visible(verdict.path)
    if verdict.network is not None:
        return [f"{path}: ok: {'a run of ' if verdict.is_run else ''}{size(verdict.network)}"]
    lines = [f"{path}{'' if fault.line is None else f':{fault.line}'}: {fault.text}" for fault in verdict.faults]
    return [*lines, f"{path}: {count(len(lines), 'fault')}"]


def size(network: Network) -> str:
    """Return name and size of a network in one line."""
    parts = [
        count(len(network.sources), "source"),
        *([count(len(network.tables), "table")] if network.tables else []),
        count(len(network.operators), "operator"),
        count(len(network.outputs), "output"),
    ]
    return f"{network.name} has {', '.join(parts[:-1])} and {parts[-1]}"


def _as_json(verdicts: list[Verdict]) -> str:
    """Return what a program reads; text that is not ASCII is escaped."""
    files = [
        {
            "file": verdict.path,
            "sound": verdict.network is not None,
            "network": None if verdict.network is None else _counts(verdict.network),
            "faults": [
                {
                    "line": fault.line,
                    "field": fault.field,
                    "path": list(fault.path),
                    "value": fault.value,
                    "rule": fault.rule,
                    "way_out": fault.way_out,
                }
                for fault in verdict.faults
            ],
        }
        for verdict in verdicts
    ]
    return json.dumps({"sound": all(file["sound"] for file in files), "files": files}, indent=2)


def _counts(network: Network) -> dict[str, str | int]:
    return {
        "name": network.name,
        "sources": len(network.sources),
        "tables": len(network.tables),
        "operators": len(network.operators),
        "outputs": len(network.outputs),
    }
