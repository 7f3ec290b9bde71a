"""`drover check --against`: what a run with this network would do to a checkpoint, without starting Spark."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Final

from drover.errors import DroverError, visible
from drover.flow.state.commits import latest
from drover.flow.state.storage import open_root
from drover.network.compare import Fate, PartComparison
from drover.network.model import Network
from drover.spark.changes import NetworkChange, change_of, network_of_state, refusal
from drover.spark.queries.recovery import misfits
from drover.wording import plural

SINGULAR: Final = {"sources": "source", "tables": "table", "operators": "operator", "outputs": "output"}


@dataclass(frozen=True, slots=True)
class CheckpointComparison:
    """What a network does to a checkpoint; without a `change`, nothing has been committed there yet."""

    checkpoint: str
    batch: int  # the last committed one
    change: NetworkChange | None
    queries: dict[str, str]  # submitted queries that would be parked, with the reason

    @property
    def undecided(self) -> tuple[PartComparison, ...]:
        """The parts that a run would need consent for."""
        return () if self.change is None else self.change.comparison.undecided(allowed=False)

    @property
    def is_refused(self) -> bool:
        """Whether a run without further options would be refused."""
        if self.change is None:
            return False
        return bool(self.undecided or self.change.comparison.refused or self.change.begun is not None)


def compare_with(checkpoint: str, network: Network) -> CheckpointComparison:
    """Compare a network with a checkpoint; DroverError if there is no checkpoint."""
    fs, path = open_root(checkpoint)
    done = latest(fs, path)
    if network_of_state(fs, path, done) is None:
        raise DroverError(
            f"{visible(checkpoint)} is not the checkpoint of a run: there is no network in it. "
            "Name the folder that the run file, or drover.run, calls checkpoint."
        )
    return CheckpointComparison(
        checkpoint, done.batch, change_of(fs, path, done, network), misfits(checkpoint, done, network)
    )


def comparison_lines(found: CheckpointComparison, file: str) -> list[str]:
    """Return the comparison for people."""
    where = f"against {visible(found.checkpoint)}"
    if found.change is None:
        return [f"{where}: nothing is committed there yet, so any network may start"]
    parts = found.change.comparison.parts
    lines = [f"{where}, after batch {found.batch}:"]
    marks = {True: " [needs --allow-changes]", False: ""}
    lines += [f"  {visible(part.text)}{marks[part.needs_consent]}" for part in found.change.comparison.changes]
    lines += [f"  {_kept(parts)}"] if _kept(parts) else []
    lines += [f"  query {visible(name)}: parked: {visible(reason)}" for name, reason in found.queries.items()]
    if found.is_refused:
        # Its first lines repeat what is above.
        advice = refusal(found.checkpoint, found.change, found.undecided, f"drover run {visible(file)}")
        return [*lines, *(line for line in advice[1:] if not line.startswith("  "))]
    return [*lines, "A run continues from there."]


def _kept(parts: tuple[PartComparison, ...]) -> str:
    """Return how many parts stay as they are, in words."""
    counts = Counter(part.section for part in parts if part.fate is Fate.KEEPS)
    words = [
        f"{counts[section]} {plural(counts[section], one)}" for section, one in SINGULAR.items() if counts[section]
    ]
    return f"unchanged: {', '.join(words)}" if words else ""


def comparison_json(found: CheckpointComparison) -> dict[str, Any]:  # Any: JSON
    """Return the comparison for programs."""
    parts = () if found.change is None else found.change.comparison.parts
    return {
        "checkpoint": found.checkpoint,
        "batch": found.batch,
        "continues": not found.is_refused,
        "begun": None if found.change is None else found.change.begun,
        "allow_changes": [part.name for part in found.undecided],
        "parts": [{**asdict(part), "fate": str(part.fate)} for part in parts],
        "queries": found.queries,
    }
