"""A comparison: sides take turns, batch by batch, so that a busy machine slows all of them equally."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from pyspark.sql import SparkSession

from benchmarks.processor import cpu_seconds
from benchmarks.sides import Side, Totals, say


@dataclass
class Outcome:
    """The result of a benchmark. `ratios` are above 1 where drover is better; a target is the least ratio we want."""

    name: str
    ratios: dict[str, float] = field(default_factory=dict)
    targets: dict[str, float] = field(default_factory=dict)
    figures: dict[str, object] = field(default_factory=dict)

    def json(self) -> str:
        return json.dumps(asdict(self))

    def table(self) -> str:
        lines = [f"{what:44} {_cell(value)}" for what, value in self.figures.items()]
        lines.append("")
        for what, ratio in self.ratios.items():
            target = self.targets.get(what)
            verdict = "" if target is None else f"   target {target:g}: {'met' if ratio >= target else 'MISSED'}"
            lines.append(f"{what:44} {ratio:10.2f} x{verdict}")
        return "\n".join(lines)


def take_turns(
    spark: SparkSession, sides: Sequence[Side], batches: range, warm_up: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Run the batches on all sides; return the median seconds and processor seconds of each, without the warm-up."""
    for side in sides:
        side.start(spark)
    seconds: dict[str, list[float]] = {side.name: [] for side in sides}
    busy: dict[str, list[float]] = {side.name: [] for side in sides}
    for batch in batches:
        for side in sides:
            before = cpu_seconds()
            seconds[side.name].append(side.step(batch))
            busy[side.name].append(cpu_seconds() - before)
        shown = (f"{name} {took[-1]:.2f} s (processor {busy[name][-1]:.2f})" for name, took in seconds.items())
        say(f"batch {batch}: {', '.join(shown)}")
    return medians(seconds, warm_up), medians(busy, warm_up)


def same_totals(sides: Sequence[Side]) -> Totals:
    """Return the results of every side; raise an error if one differs from the first."""
    first = sides[0].totals()
    for side in sides[1:]:
        found = side.totals()
        for name in first:
            if not math.isclose(first[name], found.get(name, math.nan), rel_tol=1e-9):
                raise RuntimeError(f"{name} is {first[name]} by {sides[0].name}, but {found.get(name)} by {side.name}")
    return first


def medians(seconds: Mapping[str, Sequence[float]], warm_up: int) -> dict[str, float]:
    return {name: statistics.median(took[warm_up:]) for name, took in seconds.items()}


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:10.3f}"
    return f"{value:>10}" if isinstance(value, int) else str(value)
