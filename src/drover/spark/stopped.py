"""Requests to a stopped run, answered from the files of its checkpoint.

Rule 1: only the control loop's state, the query log and requests to resume operators are written, and only while no run
can start. A batch that was begun is replayed as it was.
Rule 2: the next run applies an approved proposal before its first new batch, if plan and nodes are still the same.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from drover.control import history
from drover.control.settings import control_of
from drover.control.tree import hierarchy_of
from drover.errors import DroverError
from drover.flow.instances import explicit
from drover.flow.state.commits import latest
from drover.flow.state.lock import Holder, hold
from drover.flow.state.storage import local_path, open_root
from drover.network.model import Network
from drover.placement.plan import round_robin
from drover.spark.changes import demand_checkpoint
from drover.spark.controller import Controller
from drover.spark.offsets import read_progress, spark_batch
from drover.spark.planner import Planner
from drover.spark.queries import stopped as queries
from drover.spark.queries.listing import to_json
from drover.spark.queries.routes import QUERY_ROUTES
from drover.spark.routes import REQUESTS, Answer, Fields, Request
from drover.spark.trees import noted_cluster


def _network_of(checkpoint: str) -> Network:
    return demand_checkpoint(*open_root(checkpoint), checkpoint)


def controller_of(checkpoint: str, *, begun: bool = False) -> Controller:
    """Return the controller of a run as the run left it; it must not be started.

    `begun` says that Spark has begun a batch that is not committed.
    """
    fs, path = open_root(checkpoint)
    network = _network_of(checkpoint)
    cluster = noted_cluster(fs, path)
    # A placeholder: `adopt` replaces it by the plan of the run.
    wanted = explicit(round_robin(network, 1), network)
    planner = Planner(checkpoint, wanted, None if cluster is None else hierarchy_of(network, cluster))
    done = latest(fs, path)
    entry = planner.recover(done)
    if entry is None:
        raise DroverError(f"the run on {checkpoint} has not begun a batch, so it has no plan yet. Run it first.")
    planner.adopt(entry, done.batch + 1, begun=begun)
    controller = Controller(network, planner, control_of(history.load_state(fs, path).settings or None))
    controller.recover()
    return controller


def answer(checkpoint: str, name: str, given: Mapping[str, object]) -> Answer:
    """Answer a request; DroverError if a stopped run cannot, with what to do first."""
    request: Request[Any] = REQUESTS[name] if name in REQUESTS else QUERY_ROUTES[name]
    fields = request.read(given)
    found = _change(checkpoint, name, fields) if request.changes else _inspect(checkpoint, name, fields)
    plain: Answer = json.loads(json.dumps(found))  # the same types as from an endpoint
    return plain


def _inspect(checkpoint: str, name: str, fields: Fields) -> Answer:
    if name in REQUESTS:
        return REQUESTS[name].answer(controller_of(checkpoint), fields)
    _network_of(checkpoint)
    return to_json(queries.table(checkpoint, fields.get("tenant")))


def _change(checkpoint: str, name: str, fields: Fields) -> Answer:
    # Refuse a folder that is not a checkpoint before creating a lock in it.
    _network_of(checkpoint) if name in QUERY_ROUTES else controller_of(checkpoint)
    if name not in CHANGES:
        raise DroverError(WHEN_RUNNING[name])
    fs, path = open_root(checkpoint)
    if local_path(fs, path) is None:
        raise DroverError(
            f"{checkpoint} is not on a local disk, so it is unknown whether a run is using it. "
            "Use the handle of the run."
        )
    # While this holds the lock, no run can start from the current files and overwrite the change.
    with hold(fs, path, Holder(os.getpid(), socket.gethostname(), time.strftime("%Y-%m-%d %H:%M:%S"))):
        return CHANGES[name](checkpoint, fields)


def _apply(checkpoint: str, fields: Fields) -> Answer:
    """Approve the waiting proposal, or the one that follows again from the same files."""
    controller = controller_of(checkpoint)
    # A proposal that was worked out on request is not saved. The same files give the same one, under the same id.
    controller.proposal()
    approved = controller.defer(fields["id"])
    return {"approved": approved.id, "plan": approved.base, "proposal": asdict(approved)}


def _drain(checkpoint: str, fields: Fields) -> Answer:
    return REQUESTS["drain"].answer(controller_of(checkpoint), fields)


def _resume(checkpoint: str, fields: Fields) -> Answer:
    """Resume an operator with the first batch that the next run begins anew."""
    fs, path = open_root(checkpoint)
    done = latest(fs, path)
    controller = controller_of(checkpoint, begun=read_progress(fs, path, done).begun > spark_batch(done))
    found = REQUESTS["resume"].answer(controller, fields)
    controller.note_resumes(done.batch + 1)
    return found


def _drop(checkpoint: str, fields: Fields) -> Answer:
    """Drop queries; the run starts without them."""
    names = [str(name) for name in fields.get("names", [])]
    return {"dropped": queries.drop(checkpoint, names, fields.get("tenant"), every=fields.get("all", False))}


WHEN_RUNNING: Final[Mapping[str, str]] = {
    "mode": "the run is stopped. Set its mode when you start it: drover.run(..., control=MODE).",
    "submit": "the run is stopped, and only a running network can check and place queries. Start it first.",
    "move": "the run is stopped, so nothing moves. Start it first, or approve a proposal: drover apply.",
    "spread": "the run is stopped, and a join changes its shape between two batches. Start it first.",
}
CHANGES: Final[Mapping[str, Callable[[str, Fields], Answer]]] = {
    "apply": _apply,
    "drain": _drain,
    "drop": _drop,
    "resume": _resume,
}
