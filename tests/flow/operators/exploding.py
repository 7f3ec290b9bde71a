"""A join of windows whose pairs would not fit into memory, run by itself; prints how many pairs it found, and the
most memory that it took, in MiB.

python -m tests.flow.operators.exploding KIND
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import Final, Self

import numpy as np
import polars as pl

import drover
from drover.flow.frames import DRIVER, pack, stream_port, unpack
from drover.flow.spill import SPILL_BYTES, fetch, spill
from drover.placement.plan import round_robin
from drover.spark.sinks import write_parquet
from tests.flow.harness import Harness
from tests.flow.pairs import COLUMNS, SCHEMA, SELECT, START

# By kind: keys, a predicate that next to no pair fits, and rows of either side.
KINDS: Final[dict[str, tuple[tuple[str, ...], str, tuple[int, int]]]] = {
    "one key": (("k",), "left.n = right.n", (5_000, 5_000)),
    "a band": ((), "abs(left.x - right.x) <= 1 AND left.n = right.n", (5_000, 5_000)),
    "any predicate": ((), "left.n = right.n", (5_000, 5_000)),
    "keys that come in turn": (("x",), "left.n = right.n", (6_000, 160_000)),
}


def rows(kind: str, count: int) -> pl.DataFrame:
    """Return rows of one moment; of `keys that come in turn`, the short side has but one of them."""
    numbers = np.arange(count)
    turning = numbers % 16 if count > 10_000 else np.full(count, 5)
    return pl.DataFrame(
        {
            "ts": START + numbers,
            "k": np.zeros(count),
            "x": turning if kind == "keys that come in turn" else np.zeros(count),
            "y": np.zeros(count),
            "n": numbers,
        }
    ).select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())


class Peak:
    """The most memory of its own that this process has had while it was watched, in MiB; not what lies in files."""

    def __init__(self) -> None:
        self.most = self.least = self._now()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @staticmethod
    def _now() -> int:
        (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
        return int(line.split()[1]) // 1024

    def _watch(self) -> None:
        while not self._over.wait(0.005):
            self.most = max(self.most, self._now())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def main(kind: str, spread: str) -> None:
    """Run both sides in one batch, and take the pairs on the way that results go: by files to a sink."""
    on, where, sizes = KINDS[kind]
    net = drover.Builder("n")
    left, right = (net.source(name, COLUMNS, time="ts") for name in "ab")
    left.join("j", right, within="10 s", on=on, where=where, select=SELECT, spread=spread).output()
    network = net.build()
    batch = {name: rows(kind, count) for name, count in zip("ab", sizes, strict=True)}
    harness = Harness(network)
    with tempfile.TemporaryDirectory() as folder, Peak() as peak:
        harness.run(batch, round_robin(network, 2))
        made = [
            frame
            for node, each in enumerate(harness.results["j"])
            for frame in spill(
                pack(each, stream_port("j"), [(DRIVER, node)], node, SPILL_BYTES), folder, f"rows-{node}"
            )
        ]
        found = unpack(fetch(made, folder)[0], rechunk=False)[stream_port("j")]
        with (Path(folder) / "0.parquet").open("wb") as file:
            write_parquet(found, file)
    sys.stdout.write(f"{found.height} {peak.most - peak.least}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
