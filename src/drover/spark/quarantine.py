"""Quarantine: what was running when the workers of one batch died twice is parked, and the batch goes on without it.

Rule 1: one death may have any cause, so the batch simply runs again. Only what was running at two deaths of the same
batch is parked.
Rule 2: only deaths that the driver has seen count. If the whole run is killed, nothing in it is at fault.
Rule 3: a family is not parked as a whole. Trials of the batch with parts of its members find those at fault.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from drover.flow.breadcrumbs import Kind, folder_of, read_breadcrumbs, sweep_breadcrumbs
from drover.flow.families.failing_members import failing_members
from drover.spark.batch import WorkerDiedError

REASON: Final = "the worker died twice while it ran"
MOST_DEATHS: Final = 4  # of one batch without a suspect; as many as Spark allows a task
MOST_TRIALS: Final = 60  # that end in a death: enough for 3 faulty members among 100,000; more are parked together
log = logging.getLogger(__name__)


class Suspect(NamedTuple):
    """What ran on a node when its worker died."""

    kind: Kind
    name: str  # of an operator, or the id of a family
    node: int


@dataclass(slots=True)
class Quarantine:
    """The deaths of workers in the batches of one run, kept in its checkpoint."""

    root: str

    def suspects(self, batch: int, died: WorkerDiedError) -> frozenset[Suspect]:
        """Note a death; return what was running at this and an earlier death of the batch.

        If there is nothing of that kind, the batch may run again; after too many deaths, the error is raised.
        """
        running = self.running(batch, died)
        sweep_breadcrumbs(self.root, batch)
        before = self._deaths(batch)
        self._note(batch, [*before, running])
        # A death may have any cause. What ran at two of them is likely to be one (rule 1).
        found = running & frozenset(one for death in before for one in death)
        said = ", ".join(f"{one.kind} {one.name} on node {one.node}" for one in sorted(running)) or "nothing known"
        log.warning("a worker died in batch %s; it ran %s. %s", batch, said, "Parked." if found else "Trying again.")
        if not found and len(before) + 1 >= MOST_DEATHS:
            raise died
        return found

    def running(self, batch: int, died: WorkerDiedError) -> frozenset[Suspect]:
        """Return what was running when a worker died."""
        crumbs = read_breadcrumbs(self.root, batch)
        if died.node is not None:
            # Spark stops the other tasks, which leave breadcrumbs, too.
            crumbs = [one for one in crumbs if one.node == died.node] or crumbs
        # Stages of Spark run one after the other, and a resident node does one thing at a time. So the worker died in
        # the last hop that has begun.
        last = max((one.hop for one in crumbs), default=0)
        return frozenset(Suspect(one.kind, one.name, one.node) for one in crumbs if one.hop == last)

    def _path(self, batch: int) -> Path | None:
        folder = folder_of(self.root)
        return None if folder is None else folder / f"deaths-{batch:012}.json"

    def _deaths(self, batch: int) -> list[frozenset[Suspect]]:
        path = self._path(batch)
        if path is None or not path.exists():
            return []
        try:
            return [frozenset(Suspect(*one) for one in death) for death in json.loads(path.read_text("utf-8"))]
        except (OSError, ValueError, TypeError) as error:
            log.warning("%s is damaged, so earlier deaths of workers do not count: %s", path, error)
            return []

    def _note(self, batch: int, deaths: Sequence[Collection[Suspect]]) -> None:
        path = self._path(batch)
        if path is not None:
            with contextlib.suppress(OSError):  # without it, deaths before a restart do not count
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps([sorted(death) for death in deaths]), "utf-8")

    def forget(self, batch: int) -> None:
        """Forget deaths in a batch that is committed."""
        folder = folder_of(self.root)
        if folder is None or not folder.is_dir():
            return
        sweep_breadcrumbs(self.root, batch)
        for path in folder.glob("deaths-*.json"):
            path.unlink(missing_ok=True)


def faulty_members(members: Sequence[int], dies_with: Callable[[Collection[int]], bool]) -> dict[int, str]:
    """Return the members of a family at which workers die, with the reason; with all of them, they do.

    `dies_with` tries the batch with only these members of the family.
    """

    def try_members(positions: Collection[int]) -> str | None:
        chosen = [members[position] for position in positions]
        return REASON if len(chosen) == len(members) or dies_with(chosen) else None

    return {
        members[position]: reason
        for position, reason in failing_members(len(members), try_members, MOST_TRIALS).items()
    }
