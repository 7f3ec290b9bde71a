"""Statistics files: rates of sources, costs and selectivities of operators, in YAML.

Rule 1: all faults of a file are reported at once, each with its line, as for a network file.
Rule 2: `loads(dumps(statistics, network), network)` equals `statistics`, except for `found_at`: in a file, the numbers
of a join hold at the rates of the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from drover.errors import Fault, FileError, nearest
from drover.load.fields import MARK, OPERATOR, RATES, SECTIONS, SERIES, VERSION, Selectivity
from drover.load.statistics import MOST, NUMBER_RULE, Behaviour, Statistics
from drover.network.files.codecs import Plain, fault_at, is_blank
from drover.network.files.disk import read_text
from drover.network.files.document import Document, Node, Scalar, file_fault, read_document
from drover.network.files.emit import emit
from drover.network.files.gather import Gatherer
from drover.network.files.lines import by_line, placed
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.schema import known


def load(path: str | os.PathLike[str], network: Network) -> Statistics:
    """Return the statistics of a network from a file; FileError lists every fault with its line."""
    return loads(read_text(path), network)


def loads(text: str, network: Network) -> Statistics:
    """Return the statistics of a network from a YAML text; FileError lists every fault with its line."""
    statistics, faults = inspect_document(read_document(text), network)
    if statistics is None:
        raise FileError(faults)
    return statistics


def dumps(statistics: Statistics, network: Network) -> str:
    """Return statistics as the text of a file."""
    operators: dict[str, Plain] = {}
    for name, behaviour in statistics.operators.items():
        values = {
            "cost": behaviour.cost,
            "selectivity": _selectivity_value(network.operator(name), behaviour.selectivity),
            "varies": behaviour.varies or None,
        }
        operators[name] = {row.name: row.codec.write(v) for row in OPERATOR if (v := values[row.name]) is not None}
    data: dict[str, Plain] = {MARK: VERSION, "rates": RATES.write(tuple(statistics.rates.items()))}
    data |= {"operators": operators, "series": SERIES.write(tuple(statistics.series.items()))}
    return emit({name: plain for name, plain in data.items() if plain != {}})


def _selectivity_value(operator: Operator, selectivity: Mapping[str, float]) -> Selectivity | None:
    if not selectivity:
        return None
    if operator.branches:
        return tuple((stream.removeprefix(f"{operator.name}."), value) for stream, value in selectivity.items())
    return selectivity[operator.name]


def inspect_document(document: Document, network: Network) -> tuple[Statistics | None, tuple[Fault, ...]]:
    """Return the statistics in a document, or None and every fault by line."""
    root = document.root
    if root is None:
        return None, by_line(document.faults)
    nodes = {key.text: value for key, value in root.entries}
    if foreign := _version_fault(nodes.get(MARK)):
        return None, (foreign,)
    gatherer = Gatherer()
    gatherer.refuse_unknown(root, (), SECTIONS, "a statistics file")
    rate_entries = gatherer.value(("rates",), RATES.read(nodes["rates"])) if _has(nodes, "rates") else ()
    series_entries = gatherer.value(("series",), SERIES.read(nodes["series"])) if _has(nodes, "series") else ()
    rates = dict(rate_entries)
    series = dict(series_entries)
    operators = {
        key.text: gatherer.fields(("operators", key.text), key, content, OPERATOR, "an operator")[0]
        for key, content in gatherer.entries("operators", nodes.get("operators"))
    }
    sense = [
        *_source_faults("rates", {name: (rate,) for name, rate in rates.items()}, network),
        *_source_faults("series", series, network),
        *_length_faults(series),
        *_operator_faults(operators, network),
    ]
    faults = (*document.faults, *gatherer.faults, *placed(_without_spoiled(sense, gatherer.spoiled), root))
    if faults:
        return None, by_line(faults)
    found = {name: _behaviour(network.operator(name), values) for name, values in operators.items()}
    return Statistics(rates, found, series), ()


def _version_fault(node: Node | None) -> Fault | None:
    if node is None:
        way_out = f"Begin it with `{MARK}: {VERSION}`."
        return file_fault("no statistics file", f"a statistics file starts with `{MARK}`", way_out)
    if isinstance(node, Scalar) and node.text == VERSION:
        return None
    way_out = f"Write {MARK}: {VERSION}, or install a drover that knows this version."
    return fault_at(node, f"this drover reads version {VERSION} of statistics files", way_out, (MARK,))


def _has(nodes: Mapping[str, Node], section: str) -> bool:
    return section in nodes and not is_blank(nodes[section])


def _without_spoiled(faults: Iterable[Fault], spoiled: Iterable[tuple[str | int, ...]]) -> Iterator[Fault]:
    """Yield the faults without those below a path that could not be read."""
    lost = set(spoiled)
    return (f for f in faults if not any(f.path[:length] in lost for length in range(1, len(f.path) + 1)))


def _unknown(path: tuple[str, ...], what: str, names: Sequence[str]) -> Fault:
    way_out = f"{nearest(path[-1], names)}Known: {known(names)}."
    return Fault(path, "unknown", f"the network has no such {what}", way_out)


def _number_fault(path: tuple[str | int, ...], value: float) -> Iterator[Fault]:
    if not 0 <= value <= MOST:
        yield Fault(path, f"{value:g}", f"it {NUMBER_RULE}", "Correct the number.")


def _source_faults(section: str, rates: Mapping[str, Sequence[float]], network: Network) -> Iterator[Fault]:
    names = [source.name for source in network.sources]
    for name, values in rates.items():
        if name not in names:
            yield _unknown((section, name), "source", names)
        for index, value in enumerate(values):
            yield from _number_fault((section, name, *((index,) if section == "series" else ())), value)


def _length_faults(series: Mapping[str, Sequence[float]]) -> Iterator[Fault]:
    first = next(iter(series), None)
    for name, values in series.items():
        if first is not None and len(values) != len(series[first]):
            rule = f"all series must have the same length, and {first} has {len(series[first])} periods"
            yield Fault(("series", name), f"{len(values)} periods", rule, "Cut the longer one.")


def _operator_faults(operators: Mapping[str, Mapping[str, Any]], network: Network) -> Iterator[Fault]:  # Any: by field
    by_name = {operator.name: operator for operator in network.operators}
    for name, values in operators.items():
        if name not in by_name:
            yield _unknown(("operators", name), "operator", list(by_name))
            continue
        path = ("operators", name)
        if values["cost"] is not None:
            yield from _number_fault((*path, "cost"), values["cost"])
        if values["selectivity"] is not None:
            yield from _selectivity_faults((*path, "selectivity"), by_name[name], values["selectivity"])


def _selectivity_faults(path: tuple[str, ...], operator: Operator, found: Selectivity) -> Iterator[Fault]:
    if not operator.outputs:
        yield Fault(path, "given", f"an operator of kind {operator.kind} has no output", "Leave it out.")
    elif isinstance(found, tuple) and not operator.branches:
        way_out = "Write a number, for example 0.5."
        yield Fault(path, "a mapping", f"an operator of kind {operator.kind} has one output", way_out)
    elif isinstance(found, tuple):
        for case, value in found:
            if case not in operator.branches:
                way_out = f"{nearest(case, operator.branches)}Known: {known(operator.branches)}."
                yield Fault((*path, case), "unknown", "the switch has no such case", way_out)
            yield from _number_fault((*path, case), value)
    elif operator.branches:
        way_out = f"Write {{{', '.join(f'{branch}: ...' for branch in operator.branches)}}}."
        yield Fault(path, str(found), "a switch needs a selectivity for each case", way_out)
    else:
        yield from _number_fault(path, found)


def _behaviour(operator: Operator, values: Mapping[str, Any]) -> Behaviour:  # Any: by field
    found: Selectivity | None = values["selectivity"]
    if found is None:
        selectivity: dict[str, float] = {}
    elif isinstance(found, tuple):
        selectivity = {f"{operator.name}.{case}": value for case, value in found}
    else:
        selectivity = {operator.name: found}
    return Behaviour(values["cost"], selectivity, values["varies"])
