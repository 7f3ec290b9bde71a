"""Target: query files, YAML and JSON lines, up to the admission of each query.

Rule 1: a refusal that blames drover itself is a finding: it stands for a traceback in the driver's log.
Rule 2: some accepted queries run on a few rows, because a query that was accepted must not be parked by drover.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from numpy.random import default_rng

from drover.control.tenants import limits_of
from drover.errors import FileError
from drover.network.files.network_file import loads
from drover.network.model import Network
from drover.network.queries import Shapes
from drover.network.queries.notation import entries_of
from drover.placement.plan import round_robin
from drover.spark.queries.admission import AdmissionResult, admit
from tests.flow.families.family_harness import FamilyHarness
from tests.fuzz.corpus import Corpus, corpus_of, yaml_texts
from tests.fuzz.networks import SMALL, few_rows
from tests.fuzz.target import Feed, Target, demand, demand_faults

RUN_ONE_IN: Final = 300  # accepted files: to run one takes as long as to read two hundred
KEPT: Final = 2_000  # queries until the templates are forgotten, as in a run that restarts
COMPLETE: Final = """\
- name: some
  tenant: acme
  operators:
    lost: {kind: filter, input: rows, where: "key = 4 and tag like 'a%'"}
    per_hour: {kind: aggregate, input: lost, size: 1 h, group_by: tag, compute: {n: count(*), top: max(price)}}
- name: pairs_of
  operators:
    both: {kind: join, left: rows, right: others, within: 5 s, on: key, select: {a: right.amount}}
  output: both
- name: sized
  operators:
    sized: {kind: map, input: parts.big, select: {ts: ts, double_size: amount * 2}}
- name: in_parts
  operators:
    cut: {kind: switch, input: rows, cases: {low: price < 1.5, high: price > 9.5}, rest: middle}
    kept: {kind: union, inputs: [cut.low, cut.high]}
    marked: {kind: filter, input: cut.middle, where: "tag in ('a', 'b')"}
  output: kept
"""


def _is_query_file(text: str) -> bool:
    return "operators:" in text and "sources:" not in text and "name:" in text


def _corpus() -> Corpus:
    return corpus_of([COMPLETE] * 4 + [text for text in yaml_texts() if _is_query_file(text)])


CORPUS: Final = _corpus()


def draw(chance: random.Random) -> str:
    """Return the text of a query file; half of them have one JSON object per line."""
    text = CORPUS.draw(chance)
    if chance.random() < 0.5:
        return text
    try:
        found: Any = json.loads(text)  # Any: JSON
    except ValueError:
        return text
    return "\n".join(json.dumps(one) for one in (found if isinstance(found, list) else [found]))


@contextmanager
def queries(folder: Path) -> Iterator[Feed]:
    """Feed a text as a query file."""
    network = loads(SMALL)
    limits = limits_of({"acme": {"queries": 3}})
    shapes = Shapes(network)
    count = 0

    def feed(text: str) -> bool:
        nonlocal shapes, count
        count += 1
        if count % KEPT == 0:
            shapes = Shapes(network)
        name = "x.jsonl" if text.startswith("{") else "x.yaml"
        try:
            entries = entries_of(text, name)
        except FileError as error:
            demand_faults(error.faults)
            raise
        admitted = admit(enumerate(entries), shapes, ("taken",), {"acme": 1}, limits)
        if admitted.accepted and zlib.crc32(text.encode(errors="surrogatepass")) % RUN_ONE_IN == 0:
            _run_briefly(network, admitted, folder / str(count))
        return _check(admitted)

    yield feed


def _run_briefly(network: Network, admitted: AdmissionResult, folder: Path) -> None:
    """Run three batches with the accepted queries, and demand that none is parked."""
    harness = FamilyHarness(network, folder, default_rng(0), trouble=0.0)
    for accepted in admitted.accepted:
        harness.submit(accepted.query)
    for second in (1, 2, 100_000):
        harness.run(few_rows(network, second), round_robin(network, 2))
    demand(not harness.parked, f"it was accepted and fails on a row: {harness.parked[:1]}")


def _check(admitted: AdmissionResult) -> bool:
    for refused in admitted.refused:
        demand_faults(refused.faults)
        json.dumps(refused.json())
        for fault in refused.faults:
            demand("drover failed to check it" not in fault.rule, f"drover failed: {fault.rule}")
    return bool(admitted.accepted)


QUERIES: Final = Target("queries", 8, draw, queries)
