"""A checkpoint made without a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from drover.flow.planlog import PlanLogEntry, write_plan
from drover.flow.state.commits import Checkpoint, commit
from drover.flow.state.documents import Commit
from drover.flow.state.layout import state_name
from drover.flow.state.segments import Delta, write_deltas
from drover.flow.state.storage import open_root
from drover.network.model import Network
from drover.placement.plan import round_robin
from drover.spark.changes import note_network


def small_checkpoint(folder: Path, network: Network, units: Iterable[str]) -> Path:
    """Make a checkpoint with one committed batch, in which these units have rows."""
    fs, path = open_root(str(folder))
    note_network(fs, path, network)
    write_plan(fs, path, PlanLogEntry(0, round_robin(network, 1)))
    deltas = [Delta(unit, "panes", pa.table({"at": [1]}), newest=1) for unit in units]
    segments = write_deltas(fs, f"{path}/state", state_name(0, 0, "a"), deltas)
    commit(fs, path, Checkpoint(), Commit(0, segments, {}, (), {"spark_batch": 0, "plan": 1, "planned": 0}))
    for name in ("offsets", "commits"):
        (folder / "spark" / name).mkdir(parents=True)
        (folder / "spark" / name / "0").write_text("v1")
    (folder / "spark" / "metadata").write_text("{}")
    return folder
