"""The rows that an interrupted run has finished, in a file, so that the next run continues after them.

Rule 1: a row counts if its parameters and the version of drover are the same; changes of code are not noticed.
Rule 2: a row is written as soon as it is measured. A line that was cut off by a crash does not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from drover_lab.run import Runner
from drover_lab.table import Measure, Row, version


def resuming(path: Path, runner: Runner) -> Runner:
    """Return a runner that takes finished rows from a file, and adds those that it computes."""

    def rows(measure: Measure, given: Sequence[Row]) -> Iterator[Row]:
        known = _read(path)
        computed = iter(runner(measure, [row for row in given if _key(row) not in known]))
        for row in given:
            found = known.get(_key(row))
            if found is None:
                found = next(computed)
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([version(), dict(row), dict(found)]) + "\n")
            yield found

    return rows


def _read(path: Path) -> Mapping[str, Row]:
    """Return the rows in a file, by their parameters."""
    known: dict[str, Row] = {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for line in lines:
        with suppress(ValueError, TypeError):  # a line that was cut off
            made_by, row, found = json.loads(line)
            if made_by == version():
                known[_key(row)] = found
    return known


def _key(row: Row) -> str:
    return json.dumps(dict(row), sort_keys=True)
