"""Target: statistics files of a small network.

Rule 1: an accepted file is written and read again, and must be the same.
Rule 2: for some accepted files the headroom is computed, as `drover headroom` does.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from drover.cli.headroom import as_data, lines, make_report
from drover.errors import FileError
from drover.load.files import dumps, inspect_document, loads
from drover.load.profile import Origin, make_profile
from drover.network.files.document import read_document
from drover.network.files.network_file import loads as load_network
from drover.placement.plan import round_robin
from tests.fuzz.corpus import corpus_with
from tests.fuzz.networks import SMALL
from tests.fuzz.target import Feed, Target, demand, demand_faults

REPORT_ONE_IN: Final = 10  # accepted files: a report takes as long as to read ten
COMPLETE: Final = """\
statistics: 1
rates: {rows: 1000, others: 200.5}
operators:
  some: {cost: 1e-5, selectivity: 0.5}
  sums: {cost: 0.0001, selectivity: 0.1, varies: true}
  pairs: {selectivity: 2}
  parts: {cost: 0.00001, selectivity: {big: 0.2, odd: 0.3, other: 0.5}}
series: {rows: [900, 1000, 1100], others: [200, 201, 0]}
"""


@contextmanager
def statistics(_folder: Path) -> Iterator[Feed]:
    """Feed a text as a statistics file."""
    network = load_network(SMALL)
    plan = round_robin(network, 2)

    def feed(text: str) -> bool:
        found, faults = inspect_document(read_document(text), network)
        if found is None:
            demand_faults(faults)
            raise FileError(faults)
        demand(loads(dumps(found, network), network) == found, "written and read again, it says something else")
        if zlib.crc32(text.encode(errors="surrogatepass")) % REPORT_ONE_IN == 0:
            answer = make_report(make_profile(network, [(Origin.GIVEN, found)]), plan, ())
            json.dumps(as_data(answer), allow_nan=False)
            list(lines(answer))
        return True

    yield feed


STATISTICS: Final = Target("statistics", 10, corpus_with("statistics", (COMPLETE,) * 12).draw, statistics)
