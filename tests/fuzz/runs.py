"""Target: run files beside the network that they name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from drover.errors import FileError
from drover.network.files.document import read_document
from drover.runs import inspect_document, is_run
from tests.fuzz.corpus import ROOT, Corpus, corpus_of, yaml_texts
from tests.fuzz.networks import SMALL
from tests.fuzz.target import Feed, Target, demand_faults

NETWORK: Final = "small.yaml"
COMPLETE: Final = f"""\
run: 1
network: {NETWORK}
sources:
  rows: {{read: json, path: in/rows, options: {{maxFilesPerTrigger: 1}}, where: key > 0}}
  others:
    replay: csv
    path: others.csv
    columns: {{at: bigint, key: int, amount: bigint}}
    options: {{header: true}}
    select: {{ts: timestamp_seconds(at), key: key, amount: amount}}
    speed: 60
sinks:
  sums: {{write: parquet, path: out/sums}}
  pairs: [console, {{write: json, path: out/pairs}}]
dead_letters: {{write: json, path: out/dead}}
late: {{write: csv, path: out/late}}
queries: {{write: json, path: out/queries}}
limits: {{acme: {{queries: 1000, busy: 0.5}}, "*": {{state: 1000000}}}}
checkpoint: checkpoint
nodes: 3
plan: hash
trigger: 1 s
control: {{mode: auto, window: 10, capacity: [1, 0.5, 1], pins: {{some: 0}}}}
engine: auto
on_failure: hold
hold_bytes: 1000000
"""
TREE: Final = f"""\
run: 1
network: {NETWORK}
sources:
  rows: {{read: kafka, options: {{subscribe: rows}}, by: topic, value: rows}}
  others: {{shares: rows, value: others}}
sinks: {{sums: console}}
cluster:
  tree:
    city: {{memory: 2e6}}
    east: {{parent: city, memory: 1e6, sources: [rows]}}
    west: {{parent: city, memory: 1e6, sources: [others]}}
  marks: {{lower: 0.3, upper: 0.7}}
  at: {{some: east}}
"""


def _corpus() -> Corpus:
    shown = [text for text in yaml_texts() if (found := read_document(text)).root is not None and is_run(found)]
    return corpus_of([*(COMPLETE,) * 4, *(TREE,) * 2, *shown])


@contextmanager
def runs(folder: Path) -> Iterator[Feed]:
    """Feed a text as a run file."""
    (folder / NETWORK).write_text(SMALL, encoding="utf-8")
    for example in (ROOT / "examples").glob("*.yaml"):
        shutil.copy(example, folder)

    def feed(text: str) -> bool:
        document = read_document(text)
        if document.root is not None and not is_run(document):
            return False
        run, faults = inspect_document(document, folder)
        if run is None:
            demand_faults(faults)
            raise FileError(faults)
        return True

    yield feed


RUNS: Final = Target("runs", 8, _corpus().draw, runs)
