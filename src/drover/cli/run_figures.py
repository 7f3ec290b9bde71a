"""The figures of a run, added up from the figures of its batches.

Rule 1: this module only counts. Time is an argument, and `live` draws.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from drover.spark.row_totals import totals_from
from drover.wording import count

RECENT: Final = 6.0  # seconds over which rates are averaged; with fewer, they jump from batch to batch

Entry = Mapping[str, Any]  # Any: JSON; the figures of a batch, as under `drover` in `lastProgress`


class HotOperator(NamedTuple):
    """An operator and its recent figures."""

    operator: str
    node: int
    rows: float  # per second
    busy: float  # seconds per second
    state_bytes: int


@dataclass(slots=True)
class RunFigures:
    """The figures of a run; `add` new batches, then read."""

    sources: tuple[str, ...]
    outputs: tuple[str, ...]
    began: float
    now: float = 0.0
    batches: int = 0
    seconds: float = 0.0  # in batches
    first: float = 0.0  # seconds of the first batch
    rows_in: Counter[str] = field(default_factory=Counter)
    rows_out: Counter[str] = field(default_factory=Counter)
    dead: Counter[str] = field(default_factory=Counter)  # dead letters, by source
    late: Counter[str] = field(default_factory=Counter)  # rows that came too late, by operator
    last: Entry = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    health: str = ""  # whether the run keeps up, in one sentence
    capacity: tuple[float, ...] = ()  # (n,) busy seconds per second that a node can spend; 1 where unknown
    _recent: deque[tuple[float, float, Entry]] = field(default_factory=deque)  # from, to, what

    def add(self, entries: Iterable[Entry], now: float) -> None:
        """Add the batches that ended since the last call."""
        for entry in entries:
            before = self._recent[-1][1] if self._recent else now - seconds_of(entry)
            self._recent.append((before, now, entry))
            self.batches += 1
            self.first = self.first or seconds_of(entry)
            self.seconds += seconds_of(entry)
            self.rows_in.update(entry["rowsIn"])
            self.rows_out.update(entry["rows"])
            self.dead.update(entry.get("deadLetters", {}))
            self.late.update(entry.get("lateRows", {}))
            self.last = entry
        self.now = now
        while len(self._recent) > 1 and self._recent[0][1] < now - RECENT:
            self._recent.popleft()

    @property
    def per_batch(self) -> float:
        """Mean seconds per batch, without the first batch, in which workers start."""
        return (self.seconds - self.first) / (self.batches - 1) if self.batches > 1 else self.seconds

    @property
    def span(self) -> float:
        """Seconds from the start of the recent batches until now."""
        return max(self.now - self._recent[0][0], 1e-3) if self._recent else 1.0

    def rate(self, source: str) -> float:
        """Return the rows per second of a source."""
        rows: int = sum(entry["rowsIn"].get(source, 0) for _, _, entry in self._recent)
        return rows / self.span

    def loads(self) -> list[float]:
        """Return the busy seconds per second of each present node."""
        busy = [0.0] * self.last.get("nodes", 0)
        for _, _, entry in self._recent:
            for node, seconds in enumerate(entry["busy"][: len(busy)]):
                busy[node] += seconds
        return [seconds / self.span for seconds in busy]

    def shares(self) -> list[float]:
        """Return the load of each present node over its capacity."""
        loads = self.loads()
        known = [*self.capacity[: len(loads)], *[1.0] * (len(loads) - len(self.capacity))]
        return [load / capacity for load, capacity in zip(loads, known, strict=True)]

    def operators_by_node(self) -> dict[int, list[str]]:
        """Return the operators of each node."""
        found: dict[int, list[str]] = {}
        for sample in self.last.get("samples", ()):
            found.setdefault(sample["node"], []).append(sample["operator"])
        return found

    def hottest(self) -> list[HotOperator]:
        """Return the operators, busiest first."""
        rows: Counter[str] = Counter()
        busy: Counter[str] = Counter()
        for _, _, entry in self._recent:
            for sample in entry["samples"]:
                rows[sample["operator"]] += sample["rows_in"]
                busy[sample["operator"]] += sample["busy"]
        found = [
            HotOperator(name, sample["node"], rows[name] / self.span, busy[name] / self.span, sample["state_bytes"])
            for sample in self.last.get("samples", ())
            for name in [sample["operator"]]
        ]
        return sorted(found, key=lambda hot: (-hot.busy, hot.operator))

    def unused(self) -> list[str]:
        """Return what became of the rows that were not used since the start, one sentence each."""
        totals = totals_from(self.last.get("totals", {}))
        said = []
        for source, rows in sorted(self.dead.items()):
            reason = totals.dead[source].reason if source in totals.dead else ""
            said.append(f"{count(rows, 'row')} of {source} did not fit: {reason}")
        said += (f"{count(rows, 'row')} came too late for {operator}" for operator, rows in sorted(self.late.items()))
        return said

    @property
    def event_time(self) -> datetime | None:
        """The event time that all sources have reached."""
        reached = self.last.get("watermarks", {}).values()
        return datetime.fromtimestamp(min(reached) / 1e6, UTC) if reached else None


def seconds_of(entry: Entry) -> float:
    """Return the seconds that a batch took."""
    return float(sum(entry["seconds"][part] for part in ("compute", "sinks", "commit")))


def line_of(entry: Entry) -> str:
    """Return the figures of a batch in one line."""
    took = ", ".join(f"{rows:,} from {source}" for source, rows in entry["rowsIn"].items()) or "no rows"
    gave = ", ".join(f"{rows:,} {stream}" for stream, rows in entry["rows"].items()) or "nothing"
    nodes = " ".join(f"{1000 * busy:.0f}" for busy in entry["busy"])
    parked = f"; parked: {', '.join(entry['parked'])}" if entry.get("parked") else ""
    lost = "".join(
        f"; {sum(rows.values()):,} {what}"
        for what, rows in (("did not fit", entry.get("deadLetters", {})), ("too late", entry.get("lateRows", {})))
        if rows
    )
    return (
        f"batch {entry['batch']}: {took}; gave {gave}{lost}; {seconds_of(entry):.2f} s, nodes busy {nodes} ms{parked}"
    )
