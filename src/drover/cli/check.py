"""`drover check`: every fault of a network file or a run file, with its line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

from drover.cli.inputs import read_input
from drover.errors import Fault, FileError, visible
from drover.network.files.document import read_document
from drover.network.files.network_file import inspect_document
from drover.network.model import Network
from drover.runs import inspect_document as inspect_run
from drover.runs import is_run
from drover.wording import count


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The result of checking one file."""

    path: str
    network: Network | None
    faults: tuple[Fault, ...]
    is_run: bool = False


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def check(files: tuple[str, ...], as_json: bool) -> int:
    """Check network files and run files, and list every fault.

    FILE is a network or a run in YAML; - means standard input. Nothing is run or imported. Each fault is one line:

    \b
      traffic.yaml:12: operators.busy.where is 'byte > 9', but ... . Did you mean bytes?

    The exit code is 0 if no file has a fault, and 1 otherwise.
    """  # noqa: D301 - click wants the character itself
    checked = [check_file(path) for path in files]
    click.echo(_as_json(checked) if as_json else "\n".join(line for each in checked for line in _lines(each)))
    return 1 if any(each.network is None for each in checked) else 0


def check_file(path: str) -> CheckedFile:
    """Return the network and the faults of the file at `path`."""
    try:
        document = read_document(read_input(path))
        if not is_run(document):
            return CheckedFile(path, *inspect_document(document))
        run, faults = inspect_run(document, Path(path).parent)
        return CheckedFile(path, None if run is None else run.network, faults, is_run=True)
    except FileError as error:
        return CheckedFile(path, None, error.faults)


def _lines(checked: CheckedFile) -> list[str]:
    """Return the output for people: a line per fault, and their number."""
    path = visible(checked.path)
    if checked.network is not None:
        return [f"{path}: ok: {'a run of ' if checked.is_run else ''}{size(checked.network)}"]
    lines = [f"{path}{'' if fault.line is None else f':{fault.line}'}: {fault.text}" for fault in checked.faults]
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


def _as_json(checked: list[CheckedFile]) -> str:
    """Return the output for programs, in ASCII."""
    files = [
        {
            "file": each.path,
            "sound": each.network is not None,
            "network": None if each.network is None else _counts(each.network),
            "faults": [
                {
                    "line": fault.line,
                    "field": fault.field,
                    "path": list(fault.path),
                    "value": fault.value,
                    "rule": fault.rule,
                    "way_out": fault.way_out,
                }
                for fault in each.faults
            ],
        }
        for each in checked
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
