"""`drover check`: every fault of a network file or a run file, with its line."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from drover.cli.inputs import read_input
from drover.errors import Fault, FileError, visible
from drover.network.files.document import read_document
from drover.network.files.network_file import inspect_document
from drover.network.model import Network
from drover.runs import inspect_document as inspect_run
from drover.runs import is_run, mark_faults
from drover.wording import count

if TYPE_CHECKING:
    from drover.cli.against import CheckpointComparison

REFUSED: Final = 3  # exit code: a run on the checkpoint would be refused as things are


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The result of checking one file."""

    path: str
    network: Network | None
    faults: tuple[Fault, ...]
    is_run: bool = False
    against: CheckpointComparison | None = None


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--against", metavar="CHECKPOINT", help="Say what a run of each file would do to this checkpoint.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def check(files: tuple[str, ...], against: str | None, as_json: bool) -> int:
    """Check network files and run files, and list every fault.

    FILE is a network or a run in YAML; - means standard input. Nothing is run or imported. Each fault is one line:

    \b
      traffic.yaml:12: operators.busy.where is 'byte > 9', but ... . Did you mean bytes?

    With --against, the command shows for every source, table, operator and output whether it keeps its state in a
    checkpoint, starts anew, mixes rows from before and after the change, is new or gone. It starts and writes nothing.

    The exit code is 0 if no file has a fault, and 1 otherwise. With --against, it is 3 if a run would be refused.
    """  # noqa: D301 - click wants the character itself
    checked = [check_file(path) for path in files]
    if against is not None:
        checked = [each if each.network is None else _compared(each, each.network, against) for each in checked]
    click.echo(_as_json(checked) if as_json else "\n".join(line for each in checked for line in _lines(each)))
    if any(each.network is None for each in checked):
        return 1
    return REFUSED if any(each.against is not None and each.against.is_refused for each in checked) else 0


def _compared(checked: CheckedFile, network: Network, checkpoint: str) -> CheckedFile:
    from drover.cli.against import compare_with  # noqa: PLC0415 - it reads checkpoints; a plain check does not

    return replace(checked, against=compare_with(checkpoint, network))


def check_file(path: str) -> CheckedFile:
    """Return the network and the faults of the file at `path`."""
    try:
        document = read_document(read_input(path))
        if faults := mark_faults(document):
            return CheckedFile(path, None, faults, is_run=True)
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
        lines = [f"{path}: ok: {'a run of ' if checked.is_run else ''}{size(checked.network)}"]
        if checked.against is not None:
            from drover.cli.against import comparison_lines  # noqa: PLC0415 - as above

            first, *others = comparison_lines(checked.against, checked.path if checked.is_run else "FILE")
            lines += [f"{path} {first}", *others]
        return lines
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

    def against(each: CheckedFile) -> dict[str, object]:
        if each.against is None:
            return {}
        from drover.cli.against import comparison_json  # noqa: PLC0415 - as above

        return {"against": comparison_json(each.against)}

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
            **against(each),
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
