"""A run that is meant to be killed; started by test_kill.py with a folder that has the files of the sources.

It drains `in/`, writes `out/` and exits. VICTIM_DIES="<point of crashes.py>:<call>" kills it there by itself;
with VICTIM_TREE it runs on a tree whose nodes negotiate. VICTIM_ENGINE computes its batches, on VICTIM_MASTER with
VICTIM_NODES nodes, under the settings in VICTIM_CONFIG. At its end, `batches.json` has the figures of its batches, and
`engine.txt` says which engine it took.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from drover.spark.run import run
from drover.spark.session import session
from drover.spark.sinks import Files
from tests.conftest import SLOTS
from tests.spark.crashes import POINTS, dying, often_tidying
from tests.spark.runs import chaos_network, sources_of
from tests.spark.trees import CONTROL, TREE, in_step, tree_network


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(folder: Path) -> None:
    config = {"spark.driver.memory": "1g", **json.loads(os.environ.get("VICTIM_CONFIG", "{}"))}
    spark = session("victim", os.environ.get("VICTIM_MASTER", f"local[{SLOTS}]"), config)
    on_a_tree = bool(os.environ.get("VICTIM_TREE"))
    network = tree_network() if on_a_tree else chaos_network()
    options: dict[str, Any] = {"cluster": TREE, "control": CONTROL} if on_a_tree else {}
    options |= {"nodes": int(os.environ.get("VICTIM_NODES", "3")), "engine": os.environ["VICTIM_ENGINE"]}
    sinks = {stream: Files(str(folder / "out" / stream)) for stream in network.outputs}
    point, _, call = os.environ.get("VICTIM_DIES", "").partition(":")
    with ExitStack() as stack:
        stack.enter_context(often_tidying())
        if point:
            stack.enter_context(dying(POINTS[point], [int(call)], die))
        handle = run(
            network,
            sources_of(spark, network, folder),
            sinks,
            checkpoint=str(folder / "checkpoint"),
            trigger={"availableNow": True},
            **options,
        )
        if on_a_tree:
            in_step(handle)
        handle.awaitTermination()
    (folder / "batches.json").write_text(json.dumps(handle.batches), encoding="utf-8")
    (folder / "engine.txt").write_text(str(handle.engine), encoding="utf-8")
    sys.stdout.write("done\n")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
