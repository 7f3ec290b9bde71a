"""Network files: reading and writing them as YAML.

Rule 1: all faults of a file are reported at once, each with its line. Faults that only follow from another are left
out.
Rule 2: reading imports and runs nothing that the file names.
Rule 3: `loads(dumps(network)) == network`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from drover.errors import Fault, FileError, NetworkError
from drover.network.check import examine
from drover.network.files.codecs import Plain
from drover.network.files.disk import read_text, write_text
from drover.network.files.document import Document, read_document
from drover.network.files.emit import emit
from drover.network.files.field import Field
from drover.network.files.fields import KIND, KINDS, SOURCE, TABLE, VERSION
from drover.network.files.lines import by_line, placed
from drover.network.files.read import NetworkDraft, read_draft
from drover.network.model import Network
from drover.network.operators import Operator, Table
from drover.network.parts import Source

FIELD_DEPTH: Final = 3  # steps of a path such as operators.busy.where


def load(path: str | os.PathLike[str]) -> Network:
    """Return the network in a file; FileError or NetworkError lists every fault with its line."""
    return loads(read_text(path))


def loads(text: str) -> Network:
    """Return the network that a YAML text describes; FileError or NetworkError lists every fault with its line."""
    document = read_document(text)
    draft = _draft(document)
    network, faults = _inspect(document, draft)
    if network is not None:
        return network
    raise (FileError if draft is None or draft.faults or document.faults else NetworkError)(faults)


def inspect(text: str) -> tuple[Network | None, tuple[Fault, ...]]:
    """Return the network that a YAML text describes, or None and every fault by line."""
    return inspect_document(read_document(text))


def inspect_document(document: Document) -> tuple[Network | None, tuple[Fault, ...]]:
    """Return the network that a document describes, or None and every fault by line."""
    return _inspect(document, _draft(document))


def _draft(document: Document) -> NetworkDraft | None:
    return None if document.root is None else read_draft(document.root, repeats=bool(document.faults))


def _inspect(document: Document, draft: NetworkDraft | None) -> tuple[Network | None, tuple[Fault, ...]]:
    if document.root is None or draft is None:
        return None, by_line(document.faults)
    structural = (*document.faults, *draft.faults)
    if draft.parts is None:
        return None, by_line(structural)
    if structural:
        # Check what could be read even if parts could not: a user wants to see all faults at once.
        faults = _without_echoes(examine(draft.parts, draft.unclear).faults, draft.spoiled)
        return None, by_line((*structural, *placed(faults, document.root)))
    parts = draft.parts
    try:
        return Network(parts.name, parts.sources, parts.operators, parts.outputs, parts.tables), ()
    except NetworkError as error:
        return None, by_line(placed(error.faults, document.root))


def _without_echoes(faults: Iterable[Fault], spoiled: Iterable[tuple[str | int, ...]]) -> list[Fault]:
    """Drop faults of fields that could not be read: those below a spoiled path, and those of a partly spoiled field."""
    spoiled = set(spoiled)
    partly = {path[:length] for path in spoiled for length in range(FIELD_DEPTH, len(path))}

    def is_echo(path: tuple[str | int, ...]) -> bool:
        return path in partly or any(path[:length] in spoiled for length in range(1, len(path) + 1))

    return [fault for fault in faults if not is_echo(fault.path)]


def dump(network: Network, path: str | os.PathLike[str]) -> None:
    """Write a network to a file, atomically."""
    write_text(path, dumps(network))


def dumps(network: Network) -> str:
    """Return a network as the text of a file."""
    data: dict[str, Plain] = {"drover": VERSION, "name": network.name}
    data["sources"] = {source.name: plain_fields(source, SOURCE) for source in network.sources}
    if network.tables:
        data["tables"] = {table.name: plain_fields(table, TABLE) for table in network.tables}
    data["operators"] = {
        operator.name: {KIND: operator.kind, **plain_fields(operator, KINDS[operator.kind])}
        for operator in network.operators
    }
    data["outputs"] = list(network.outputs)
    return emit(data)


def plain_fields(part: Source | Table | Operator, fields: Iterable[Field]) -> dict[str, Plain]:
    """Return the fields of a part that differ from their defaults, as a file holds them."""
    plain: dict[str, Plain] = {}
    for field in fields:
        value = attrgetter(*field.targets)(part)
        if field.default is not None:
            default = field.default.value if field.default.same_as is None else getattr(part, field.default.same_as)
            if value == default:
                continue
        plain[field.name] = field.codec.write(value)
    return plain
