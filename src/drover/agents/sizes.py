"""Operator sizes from a JSON file that another program keeps up to date: {operator: {resource: number}}.

Rule 1: an invalid entry changes nothing and is reported; all other entries count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from drover import strict_json
from drover.errors import FaultsError, nearest, shorten
from drover.hierarchy.layout import MOST, TreeFile
from drover.hierarchy.thresholds import Size
from drover.network.files.disk import read_text
from drover.strict_json import JsonError


def read_sizes(path: str, layout: TreeFile) -> tuple[Mapping[int, Size], list[str]]:
    """Return the sizes by operator, and the faults of the file."""
    try:
        found = strict_json.loads(read_text(path))
    except FaultsError as error:
        return {}, [f"--sizes is ignored: {shorten(path)}: {fault.text}" for fault in error.faults]
    except JsonError as error:
        return {}, [f"--sizes is ignored: {shorten(path)} must be JSON ({error}). Write {{operator: {{memory: 3}}}}."]
    if not isinstance(found, dict):
        return {}, [f"--sizes is ignored: {shorten(path)} must be an object. Write {{operator: {{memory: 3}}}}."]
    number = {name: j for j, name in enumerate(layout.operators)}
    faults: list[str] = []
    sizes: dict[int, Size] = {}
    for name, given in found.items():
        wrong = list(_faults(name, given, layout))
        if not wrong:
            sizes[number[name]] = tuple(float(given.get(each, 0.0)) for each in layout.resources)
        faults += wrong
    return sizes, faults


def _faults(name: str, given: Any, layout: TreeFile) -> Iterator[str]:  # Any: any JSON value
    where = f"--sizes is ignored for {shorten(name)}:"
    if name not in layout.operators:
        yield f"{where} the tree has no operator of that name. {nearest(name, layout.operators)}".rstrip()
        return
    if not isinstance(given, dict):
        yield f"{where} it is {shorten(given)}, but must be an object. Write {{{layout.resources[0]}: 3}}."
        return
    if not given.keys() & set(layout.resources):
        yield f"{where} it has no {' or '.join(layout.resources)}, but needs one. Add {layout.resources[0]}: 3."
    for each in layout.resources:
        if each in given and not _is_amount(given[each]):
            yield f"{where} {each} is {shorten(given[each])}, but must be a number from 0 to {MOST:g}. Correct it."


def _is_amount(value: object) -> bool:
    """Return whether a value is a finite number that can be added up."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST
