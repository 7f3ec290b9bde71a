"""The plan log: which plan is for which batch, written before the batch that uses it.

Rule 1: a batch that is run again finds the plan of its first run, and all else that was decided before it.
Rule 2: an entry is one file, complete or absent, and can tell that it is whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pyarrow.fs import FileSystem

from drover.errors import DroverError, StateError
from drover.flow.state.documents import FORMAT, seal, unseal
from drover.flow.state.storage import RESTORE, delete, join, read_whole, sizes, write_whole
from drover.network.grid import Epoch, Grid, parse_spread
from drover.placement.plan import Instances, Plan

PLANS: Final = "plans"
NAME: Final = re.compile(r"(\d{12})\.json")


@dataclass(frozen=True, slots=True)
class Entry:
    """A plan that is used from `batch` on.

    Of `batch` itself it says besides whether it has no rows and only closes windows, and which operators, parked until
    then, run again.
    """

    batch: int
    plan: Plan
    closing: bool = False
    resumed: tuple[str, ...] = ()


def plan_path(root: str, batch: int) -> str:
    """Return the path of the entry for a batch."""
    return join(join(root, PLANS), f"{batch:012}.json")


def write_plan(fs: FileSystem, root: str, entry: Entry) -> None:
    """Make the entry's plan the one that is used from its batch on."""
    plan = entry.plan
    body = {
        "number": plan.number, "nodes": plan.nodes, "node_of": dict(plan.node_of), "closing": entry.closing,
        "resumed": list(entry.resumed), "instances": {join: _written(one) for join, one in plan.instances.items()},
    }  # fmt: skip
    data, _ = seal({"format": FORMAT, "batch": entry.batch, **body})
    write_whole(fs, plan_path(root, entry.batch), [data])


def read_plan(fs: FileSystem, root: str, batch: int) -> Entry | None:
    """Return the plan that is used in `batch`: the last one written for it or for a batch before it."""
    written = max((number for number in _batches(fs, root) if number <= batch), default=None)
    if written is None:
        return None
    path = plan_path(root, written)
    body, _ = unseal(path, read_whole(fs, path), written)
    try:
        instances = {join: _read(one) for join, one in body.get("instances", {}).items()}
        plan = Plan(body["number"], body["nodes"], body["node_of"], instances)
        return Entry(written, plan, body["closing"], tuple(body.get("resumed", ())))
    except (KeyError, TypeError, ValueError, DroverError) as error:
        raise StateError(path, "a plan", str(error), RESTORE) from error


def _written(spread: Instances) -> dict[str, Any]:  # Any: JSON
    epochs = [[epoch.number, *epoch.grid] for epoch in spread.epochs]
    asked = None if spread.asked is None else str(spread.asked)
    weights = [list(one) for one in spread.weights]
    return {"epochs": epochs, "others": list(spread.others), "weights": weights, "asked": asked}


def _read(body: dict[str, Any]) -> Instances:  # Any: JSON
    epochs = tuple(Epoch(number, Grid(rows, columns)) for number, rows, columns in body["epochs"])
    rows, columns = (tuple(float(value) for value in one) for one in body["weights"])
    asked = body.get("asked")
    return Instances(epochs, tuple(body["others"]), (rows, columns), None if asked is None else parse_spread(asked))


def sweep_plans(fs: FileSystem, root: str, oldest: int) -> None:
    """Delete the plans that no batch from `oldest` on uses."""
    written = sorted(number for number in _batches(fs, root) if number <= oldest)
    for batch in written[:-1]:
        delete(fs, plan_path(root, batch))


def _batches(fs: FileSystem, root: str) -> Iterator[int]:
    found = (NAME.fullmatch(name) for name in sizes(fs, join(root, PLANS)))
    return (int(match[1]) for match in found if match)
