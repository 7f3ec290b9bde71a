"""The plan log: which plan each batch uses, written before that batch.

Rule 1: a repeated batch finds the plan of its first run, and everything else that was decided before it.
Rule 2: an entry is one file, complete or absent, with a checksum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyarrow.fs import FileSystem

from drover.errors import DroverError, StateError
from drover.flow.parking import ParkedOperator, details_to_json, parked_from_json
from drover.flow.state.documents import FORMAT, seal, unseal
from drover.flow.state.storage import RESTORE, delete, join, read_whole, sizes, write_whole
from drover.network.grid import Epoch, Grid, parse_spread
from drover.placement.plan import Instances, Plan

PLANS: Final = "plans"
NAME: Final = re.compile(r"(\d{12})\.json")


@dataclass(frozen=True, slots=True)
class PlanLogEntry:
    """A plan that batches use from `batch` on; the other fields hold for `batch` alone.

    What a batch parks stays parked: its commit says so to the batches after it.
    """

    batch: int
    plan: Plan
    closing: bool = False  # whether the batch has no rows and only closes windows
    resumed: tuple[str, ...] = ()  # parked operators that run again
    parked: Mapping[str, ParkedOperator] = field(default_factory=dict)  # operators that do not run from now on
    without: Mapping[int, str] = field(default_factory=dict)  # reasons by number of the query: these do not run, either


def plan_path(root: str, batch: int) -> str:
    """Return the path of the entry for a batch."""
    return join(join(root, PLANS), f"{batch:012}.json")


def write_plan(fs: FileSystem, root: str, entry: PlanLogEntry) -> None:
    """Write an entry to the log."""
    plan = entry.plan
    body = {
        "number": plan.number,
        "nodes": plan.nodes,
        "node_of": dict(plan.node_of),
        "closing": entry.closing,
        "resumed": list(entry.resumed),
        "parked": {name: one.reason for name, one in entry.parked.items()},
        "parking": details_to_json(entry.parked),
        "without": {str(number): reason for number, reason in entry.without.items()},
        "instances": {join: _written(one) for join, one in plan.instances.items()},
    }
    data, _ = seal({"format": FORMAT, "batch": entry.batch, **body})
    write_whole(fs, plan_path(root, entry.batch), [data])


def read_plan(fs: FileSystem, root: str, batch: int) -> PlanLogEntry | None:
    """Return the entry that holds for `batch`: the last one written for it or for an earlier batch."""
    # A plan is written only when it changes, so the entry of an earlier batch may hold.
    written = max((number for number in _batches(fs, root) if number <= batch), default=None)
    if written is None:
        return None
    path = plan_path(root, written)
    body, _ = unseal(path, read_whole(fs, path), written)
    try:
        instances = {join: _read(one) for join, one in body.get("instances", {}).items()}
        plan = Plan(body["number"], body["nodes"], body["node_of"], instances)
        parked = parked_from_json(body.get("parked", {}), body.get("parking", {}))
        without = {int(number): reason for number, reason in body.get("without", {}).items()}
        return PlanLogEntry(written, plan, body["closing"], tuple(body.get("resumed", ())), parked, without)
    except (KeyError, TypeError, ValueError, DroverError) as error:
        raise StateError(path, "a plan", str(error), RESTORE) from error


def _written(spread: Instances) -> dict[str, Any]:  # Any: JSON
    # Epochs of older versions have three fields. A fourth one says that each row of the grid has columns of its own.
    epochs = [[epoch.number, *epoch.grid, *([1] if epoch.by_row else [])] for epoch in spread.epochs]
    asked = None if spread.asked is None else str(spread.asked)
    weights = [list(one) for one in spread.weights]
    return {"epochs": epochs, "others": list(spread.others), "weights": weights, "asked": asked}


def _read(body: dict[str, Any]) -> Instances:  # Any: JSON
    epochs = tuple(
        Epoch(number, Grid(rows, columns), bool(by_row)) for number, rows, columns, *by_row in body["epochs"]
    )
    rows, columns = (tuple(float(value) for value in one) for one in body["weights"])
    asked = body.get("asked")
    return Instances(epochs, tuple(body["others"]), (rows, columns), None if asked is None else parse_spread(asked))


def sweep_plans(fs: FileSystem, root: str, oldest: int) -> None:
    """Delete the plans that no batch from `oldest` on uses."""
    written = sorted(number for number in _batches(fs, root) if number <= oldest)
    # The last of these still holds for `oldest`, if no batch after it has an entry of its own.
    for batch in written[:-1]:
        delete(fs, plan_path(root, batch))


def _batches(fs: FileSystem, root: str) -> Iterator[int]:
    found = (NAME.fullmatch(name) for name in sizes(fs, join(root, PLANS)))
    return (int(match[1]) for match in found if match)
