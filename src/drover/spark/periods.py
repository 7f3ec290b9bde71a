"""From batches to periods: what all batches of a period did together, as the control loop takes it in.

Rule 1: a period ends with a batch, and lasts from commit to commit, so that rates count waiting, too. So the first
batch of a run belongs to none: how long its rows have waited is not known, and it pays for starting Spark.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Final

from drover.control.state import State
from drover.load.sample import Sample, Totals, own_name, samples_of
from drover.network.model import Network

Figures = Mapping[str, Any]  # Any: JSON, as in `recentProgress`
USUAL: Final = 20  # batches that tell how long nodes usually take
TELLING: Final = 0.05  # seconds of tasks in a period; of less, the share of the processor that they had tells nothing

Facts = tuple[float, dict[str, float], tuple[Sample, ...]]  # seconds, rows by source, samples


@dataclass(frozen=True, slots=True)
class Collected:
    """One period."""

    period: Facts
    figures: Mapping[str, float]
    moved: tuple[tuple[float, float], ...] = ()  # seconds that moves took beyond what is usual, and their bytes
    speeds: tuple[float, ...] = ()  # (n,) CPU seconds of a node's tasks per second of theirs; 0: unknown
    herd: tuple[float, ...] = ()  # (n,) busy seconds per second of submitted queries

    def after(self, state: State) -> State:
        """Return what the loop remembers once it has seen this period, too."""
        state = replace(state, window=state.window.push(state.period + 1, *self.period))
        state = state.clock(self.speeds, self.herd)
        for seconds, size in self.moved:
            state = state.learn(seconds, size)
        return state


@dataclass(slots=True)
class Ledger:
    """The batches of the period that is running."""

    network: Network
    last: float | None = None  # when the last period ended; None before the first batch
    _batches: list[Figures] = field(default_factory=list)
    _usual: deque[float] = field(default_factory=lambda: deque(maxlen=USUAL))  # seconds of the nodes, lately
    _expected: dict[int, float] = field(default_factory=dict)  # bytes that plan of that number moves
    _moved: list[tuple[float, float]] = field(default_factory=list)

    def expect(self, plan: int, size: float) -> None:
        """Note that the first batch with a plan moves so many bytes."""
        self._expected[plan] = size

    def take(self, now: float, figures: Figures, period: float) -> Collected | None:
        """Take in a batch that was committed now; return the period that ends with it, if one does."""
        nodes = float(figures["seconds"]["nodes"])
        due = [plan for plan in self._expected if plan <= figures["plan"]]  # a plan may come and go between batches
        size = sum(self._expected.pop(plan) for plan in due)
        if size > 0 and self._usual:
            self._moved.append((nodes - median(self._usual), size))
        self._usual.append(nodes)
        if self.last is None:
            self.last = now
            return None
        self._batches.append(figures)
        seconds = now - self.last
        if seconds < period or seconds <= 0:
            return None
        batches, self._batches = self._batches, []
        moved, self._moved = tuple(self._moved), []
        self.last = now
        told = facts(self.network, batches, seconds), summary(batches, seconds)
        return Collected(*told, moved, speeds_of(batches), herd_of(batches, seconds))


def facts(network: Network, batches: list[Figures], seconds: float) -> Facts:
    """Return what batches did in a period of so many seconds."""
    names = [source.name for source in network.sources]
    rows = {name: float(sum(figures["rowsIn"].get(name, 0) for figures in batches)) for name in names}
    totals = [total for figures in batches for total in totals_of(figures)]
    return seconds, rows, (*samples_of(network, rows, totals), *_instances(batches))


def totals_of(figures: Figures) -> list[Totals]:
    """Return what operators did in a batch; one with several instances did what all of them did."""
    found: dict[str, Totals] = {}
    for one in figures["samples"]:
        name, before = one["operator"], found.get(one["operator"], Totals(one["operator"], 0, 0, 0.0))
        found[name] = Totals(
            name, before.rows_in + one["rows_in"], before.rows_out + one["rows_out"], before.busy + one["busy"],
            before.state_bytes + one["state_bytes"], name in found,
        )  # fmt: skip
    return list(found.values())


def _instances(batches: list[Figures]) -> Iterator[Sample]:
    """Yield what instances did, of operators that had several in all batches of a period."""
    told = [{(one["operator"], one.get("instance", 0)): one for one in figures["samples"]} for figures in batches]
    for name in sorted({name for name, number in told[-1] if number}):
        numbers = [sorted(number for each, number in one if each == name) for one in told]
        if all(each == numbers[-1] for each in numbers):
            for number in numbers[-1]:
                each = [one[name, number] for one in told]
                busy = sum(float(one["busy"]) for one in each)
                yield Sample(own_name(name, number), {}, {}, busy, each[-1]["state_bytes"])


def speeds_of(batches: list[Figures]) -> tuple[float, ...]:
    """Return the share of a processor that each node of the last batch had while it worked, (n,); 0 if unknown."""
    alike = [figures for figures in batches if figures["nodes"] == batches[-1]["nodes"]]
    found = []
    for node in range(int(batches[-1]["nodes"])):
        busy, wall = (sum(float(figures[what][node]) for figures in alike) for what in ("busy", "wall"))
        found.append(round(min(busy / wall, 1.0), 4) if wall >= TELLING else 0.0)
    return tuple(found)


def herd_of(batches: list[Figures], seconds: float) -> tuple[float, ...]:
    """Return what submitted queries took of each node of the last batch, (n,), in busy seconds per second."""
    nodes = int(batches[-1]["nodes"])
    alike = [figures for figures in batches if figures["nodes"] == nodes and "queries" in figures]
    return tuple(
        round(sum(figures["queries"]["busy"][node] for figures in alike) / seconds, 4) for node in range(nodes)
    )


def summary(batches: list[Figures], seconds: float) -> dict[str, float]:
    """Return what people want to see of a period."""
    times = [sum(figures["seconds"][part] for part in ("compute", "sinks", "commit")) for figures in batches]
    rows = sum(sum(figures["rowsIn"].values()) for figures in batches)
    sent = {(one["stream"], one["node"]) for figures in batches for one in figures["routed"]}
    streams = {stream for stream, _node in sent}
    return {
        "seconds": round(seconds, 4),
        "batches": float(len(batches)),
        "batch_seconds": round(sum(times) / len(times), 4),
        "slowest_batch": round(max(times), 4),
        "slowest_node": round(max(figures["seconds"]["nodes"] for figures in batches), 4),
        "rows": float(rows),
        "routed_bytes": float(sum(one["bytes"] for figures in batches for one in figures["routed"])),
        "replication": round(len(sent) / len(streams), 4)
        if streams
        else 0.0,  # nodes that a source goes to, on average
    }
