"""The plan log: which plan is for which batch, written before the batch that uses it.

Rule 1: a batch that is run again finds the plan of its first run. Rule 2: a plan is one file, complete or absent.
"""

from __future__ import annotations

import json
import re
from typing import Final

from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.state.storage import RESTORE, join, read_whole, sizes, write_whole
from drover.placement.plan import Plan

PLANS: Final = "plans"
NAME: Final = re.compile(r"(\d{12})\.json")


def write_plan(fs: FileSystem, root: str, batch: int, plan: Plan) -> None:
    """Make `plan` the one that is used from `batch` on."""
    body = {"number": plan.number, "nodes": plan.nodes, "node_of": dict(plan.node_of)}
    write_whole(fs, join(join(root, PLANS), f"{batch:012}.json"), [json.dumps(body, sort_keys=True).encode()])


def read_plan(fs: FileSystem, root: str, batch: int) -> Plan | None:
    """Return the plan that is used in `batch`: the last one written for it or for a batch before it."""
    found = (NAME.fullmatch(name) for name in sizes(fs, join(root, PLANS)))
    batches = [number for match in found if match and (number := int(match[1])) <= batch]
    if not batches:
        return None
    path = join(join(root, PLANS), f"{max(batches):012}.json")
    try:
        body = json.loads(read_whole(fs, path))
        return Plan(body["number"], body["nodes"], body["node_of"])
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(path, "a plan", str(error), RESTORE) from error
