"""Run files: where the rows of a network come from and where its results go, in YAML.

Rule 1: all faults of a file are reported at once, each with its line, as for a network file.
Rule 2: reading a run file opens its network file and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from drover.control.allowance import RULE, WAY_OUT, is_fraction
from drover.control.popularity import unfit
from drover.control.settings import unknown_pins
from drover.control.tree import conflicts
from drover.control.tree import faults as tree_faults
from drover.errors import Fault, FaultsError, FileError, shorten
from drover.network.files.codecs import fault_at
from drover.network.files.disk import read_text
from drover.network.files.document import Document, Fields, Node, Scalar, file_fault, read_document
from drover.network.files.gather import Gatherer
from drover.network.files.lines import by_line, placed
from drover.network.files.network_file import load as load_network
from drover.network.model import Network
from drover.placement.plan import units_of
from drover.placement.starting_plans import AUTO_NODES
from drover.runs.check import input_faults, network_faults, output_faults, shares_faults, sharing_faults
from drover.runs.fields import SECTIONS, SETTINGS, SINKS, SOURCE, VERSION
from drover.runs.model import Input, Output, Run
from drover.runs.tables import absolute_addresses, table_faults
from drover.wording import count

MARK: Final = "run"
URI: Final = "://"
NO_RUN: Final = file_fault(
    "no run file",
    "a run file names the sources and sinks of a network",
    f"Begin it with `{MARK}: {VERSION}`, and name the network file in `network`.",
)
OTHER_SINKS: Final = ("dead_letters", "late", "queries")  # settings that are sinks


def is_run(document: Document) -> bool:
    """Return whether a document is a run file."""
    keys = _keys(document)
    return MARK in keys and "drover" not in keys


def mark_faults(document: Document) -> tuple[Fault, ...]:
    """Return a fault if a document has the fields of a run file, but not the one that makes it one."""
    keys = _keys(document)
    return (NO_RUN,) if keys.isdisjoint({MARK, "drover"}) and {"network", "sources"} <= keys else ()


def _keys(document: Document) -> set[str]:
    return {key.text for key, _ in document.root.entries} if document.root is not None else set()


def load(path: str | os.PathLike[str]) -> Run:
    """Return the run in a file; FileError lists every fault with its line."""
    document = read_document(read_text(path))
    if document.root is not None and not is_run(document):
        raise FileError([NO_RUN])
    run, faults = inspect_document(document, Path(path).parent)
    if run is None:
        raise FileError(faults)
    return run


def inspect_document(document: Document, folder: Path) -> tuple[Run | None, tuple[Fault, ...]]:
    """Return the run that a document in a folder describes, or None and every fault by line."""
    if document.root is None:
        return None, by_line(document.faults)
    root = document.root
    nodes = {key.text: value for key, value in root.entries}
    if foreign := _foreign(nodes[MARK]):
        return None, (foreign,)
    reader = _RunFileReader(root, nodes)
    values = reader.settings()
    sources = reader.sources()
    sinks = reader.sinks()
    network, missing = _network(folder, values["network"]) if ("network",) not in reader.spoiled else (None, ())
    faults = [*document.faults, *reader.faults, *placed(missing, root)]
    sense = list(_senses(network, sources, sinks, values, root))
    # A field that could not be read has its fault already; a rule about its placeholder would only repeat it.
    faults += (fault for fault in placed(sense, root) if not _is_echo(fault, reader.spoiled))
    if faults or network is None:
        return None, by_line(faults)
    return _absolute(Run(**values | {"network": network, "sources": sources, "sinks": sinks}), folder), ()


def _foreign(node: Node) -> Fault | None:
    if isinstance(node, Scalar) and node.text == VERSION:
        return None
    way_out = f"Write {MARK}: {VERSION}, or install a drover that knows this version."
    return fault_at(node, f"this drover reads version {VERSION} of run files", way_out, (MARK,))


class _RunFileReader(Gatherer):
    """Reads a run file section by section."""

    def __init__(self, root: Fields, nodes: Mapping[str, Node]) -> None:
        super().__init__()
        self.root = root
        self.nodes = nodes

    def settings(self) -> dict[str, Any]:  # Any: by field
        """Return the fields at the top."""
        if "sources" not in self.nodes:
            self.missing(("sources",), self.root.line, "a run file must have it", SECTIONS["sources"], said=False)
        values, _ = self.fields((), Scalar("", self.root.line), self.root, SETTINGS, "a run file", tuple(SECTIONS))
        return values

    def sources(self) -> dict[str, Input | None]:
        """Return the entries of `sources`, None for those that could not be read."""
        found: dict[str, Input | None] = {}
        for key, content in self.entries("sources", self.nodes.get("sources")):
            before = len(self.faults)
            values, _ = self.fields(("sources", key.text), key, content, SOURCE, "a source")
            found[key.text] = Input(**values) if len(self.faults) == before else None
        return found

    def sinks(self) -> dict[str, tuple[Output, ...]]:
        """Return the sinks of each output."""
        return {
            key.text: self.value(("sinks", key.text), SINKS.read(content))
            for key, content in self.entries("sinks", self.nodes.get("sinks"))
        }


def _network(folder: Path, path: str) -> tuple[Network | None, tuple[Fault, ...]]:
    try:
        return load_network(_resolved(folder, path)), ()
    except FaultsError as error:
        shown = count(len(error.faults), "fault")
        first = error.faults[0]
        rule = f"it must be a valid network file ({shown})" if first.path != ("file",) else f"it is {first.value}"
        return None, (Fault(("network",), shorten(path), rule, f"See drover check {path}."),)


def _senses(
    network: Network | None,
    sources: Mapping[str, Input | None],
    sinks: Mapping[str, tuple[Output, ...]],
    values: Mapping[str, Any],  # Any: by field
    root: Fields,
) -> Iterator[Fault]:
    for name, given in sources.items():
        if given is not None:
            yield from (fault.under("sources", name) for fault in input_faults(given))
    yield from shares_faults(sources)
    every = dict(
        _numbered(
            {("sinks", name): each for name, each in sinks.items()} | {(name,): values[name] for name in OTHER_SINKS}
        )
    )
    for path, sink in every.items():
        yield from (fault.under(*path) for fault in output_faults(sink))
    yield from sharing_faults(every)
    if values["nodes"] != AUTO_NODES and values["nodes"] < 1:
        yield Fault(("nodes",), str(values["nodes"]), "a run has at least one node", "Write 1 or more.")
    if not is_fraction(values["refine"]):
        yield Fault(("refine",), str(values["refine"]), RULE, WAY_OUT)
    if values["trigger"] is not None and values["trigger"] <= 0:
        yield Fault(
            ("trigger",),
            "not above 0",
            "the time between batches is above 0",
            "Write for example 1 s, or leave it out.",
        )
    tree = values["cluster"]
    if tree is not None:
        yield from conflicts(tree, values["control"], values["nodes"], values["plan"], bool(values["queries"]))
    if network is not None:
        if tree is not None:
            yield from (fault.under("cluster") for fault in tree_faults(network, tree))
        yield from network_faults(network, sources, sinks, root.line)
        yield from table_faults(network, values["tables"])
        yield from (fault.under("popularity") for fault in unfit(network, values["popularity"]))
        yield from (fault.under("control") for fault in unknown_pins(values["control"], units_of(network)))


def _numbered(
    sinks: Mapping[tuple[str, ...], tuple[Output, ...]],
) -> Iterator[tuple[tuple[str | int, ...], Output]]:
    """Yield every sink with its path in the file; a single one has no number."""
    for path, several in sinks.items():
        for index, sink in enumerate(several):
            yield (path if len(several) == 1 else (*path, index)), sink


def _is_echo(fault: Fault, spoiled: Iterable[tuple[str | int, ...]]) -> bool:
    """Return whether a fault is about something that could not be read."""
    return any(fault.path[: len(path)] == path for path in spoiled)


def _resolved(folder: Path, path: str) -> str:
    return path if URI in path else str((folder / path).absolute())


def _absolute(run: Run, folder: Path) -> Run:
    """Return the run with absolute paths."""

    def moved(part: Any) -> Any:  # Any: Input or Output
        return part if part.path is None else replace(part, path=_resolved(folder, part.path))

    return replace(
        run,
        sources={name: moved(given) for name, given in run.sources.items()},
        sinks={name: tuple(map(moved, each)) for name, each in run.sinks.items()},
        tables=absolute_addresses(run.tables, folder),
        dead_letters=tuple(map(moved, run.dead_letters)),
        late=tuple(map(moved, run.late)),
        queries=tuple(map(moved, run.queries)),
        checkpoint=None if run.checkpoint is None else _resolved(folder, run.checkpoint),
    )
