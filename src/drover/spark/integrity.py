"""Whether a checkpoint has every file that a start relies on, each as it was.

State, commits, plans and queries have checksums of their own, and commits and queries are chained. This module adds
what these cannot see. Every commit names the files that the next start reads, with digests: the network, the plan and
Spark's own logs. The witness (`flow/state/witness.py`) names those that are newer than the last commit.

Rule 1: a file that starts no longer need may be missing. Spark and drover delete old files themselves.
Rule 2: an error names the file, what was expected of it and the way out.
Rule 3: to protect one more file, add it to `noted` if every commit shall name it, or else to `_newer`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.planlog import plan_path
from drover.flow.query_log.chain import MANIFEST, path_of
from drover.flow.state.commits import Checkpoint
from drover.flow.state.digests import PRESENT, Digests, digest_of, read_digest
from drover.flow.state.layout import COMMITS, commit_name
from drover.flow.state.storage import RESTORE, exists, join, make_durable, sizes
from drover.flow.state.witness import Witness, read_witness, write_witness
from drover.spark.changes import NETWORK
from drover.spark.commit_notes import notes_of
from drover.spark.needed_files import TABLES, NeededFiles
from drover.spark.spark_logs import COMMITTED, OFFSETS, REPEAT, REPLAN, SPARK, check_form, folders_above, follow
from drover.spark.trees import NAME as CLUSTER

log = logging.getLogger(__name__)
NO_FILES: Final[Digests] = MappingProxyType({})
MOST_TABLES: Final = 2**30  # bytes; a larger file is not read when a run ends, because that would take seconds


@dataclass(slots=True)
class Integrity:
    """Checks the files of one checkpoint when it is opened, and names them in commits and in the witness."""

    fs: FileSystem
    root: str
    _known: dict[str, str] = field(default_factory=dict)  # digests of files that no batch changes
    _witness: Witness = field(default_factory=Witness)
    _has_begun: bool = False  # whether this run has begun a batch
    _durable: set[str] = field(default_factory=set)  # folders of logs whose names would survive a power cut

    def verify(self, checkpoint: Checkpoint) -> None:
        """Raise StateError if a file that a start relies on is missing or is not the one that was seen before."""
        witness = read_witness(self.fs, self.root)
        # The witness names a later commit than the last one that is there, so commits are missing.
        if witness is not None and witness.after > checkpoint.batch:
            path = join(join(self.root, COMMITS), commit_name(witness.after))
            raise StateError(path, f"the commit of batch {witness.after}", "none", RESTORE)
        if witness is not None and witness.link == checkpoint.link:
            self._witness = witness
        else:  # the witness of an earlier commit says nothing new
            self._witness = Witness(checkpoint.batch, checkpoint.link)
        notes = notes_of(checkpoint)
        needed = NeededFiles(self.fs, self.root, notes.spark_batch, notes.files, self._witness)
        for name in needed.names:
            self._check(name, needed)
        self._check_newest(f"{COMMITTED}/{notes.spark_batch}", REPEAT)
        self._check_newest(f"{OFFSETS}/{notes.spark_batch + 1}", REPLAN)

    def _check_newest(self, name: str, way_out: str) -> None:
        """Refuse a file that Spark wrote after the last look at its logs, if a power cut has torn it."""
        if name not in self._known and exists(self.fs, join(self.root, name)):
            check_form(self.fs, self.root, name, way_out)

    def _check(self, name: str, needed: NeededFiles) -> None:
        path = join(self.root, name)
        accepted = needed.digests(name)
        # Such a file has a checksum of its own; only its absence would go unnoticed.
        if PRESENT in accepted and exists(self.fs, path):
            return
        found = read_digest(self.fs, self.root, name)
        if found in accepted:
            if name.startswith(f"{SPARK}/"):
                self._known[name] = found
        elif found is not None:
            expected = f"content of digest {' or '.join(sorted(accepted))}"
            raise StateError(path, expected, f"{found}: it is damaged, or of another time", needed.way_out(name))
        elif needed.is_needed(name):
            raise StateError(path, "the file that the last run relied on", "none", needed.way_out(name))

    def announce_network(self, checkpoint: Checkpoint, data: bytes) -> None:
        """Name the network that is about to be written, so that a start accepts both, whichever it finds."""
        files = {**self._witness.files, NETWORK: digest_of(data)}
        # The commit that switches networks comes after the one that the witness knows.
        self._witness = replace(self._witness, after=checkpoint.batch, link=checkpoint.link, files=files)
        write_witness(self.fs, self.root, self._witness)

    def release(self) -> None:
        """Stop vouching for files that change before the next batch begins; call this before the first one does.

        A start changes `tables.db`, and Spark writes files anew that it misses. If the run dies then, the next start
        must not mistake these for damage.
        """
        named = self._witness.files
        files = {name: digest for name, digest in named.items() if name != TABLES and self._is_there(name)}
        if files != named:
            self._witness = replace(self._witness, files=files)
            write_witness(self.fs, self.root, self._witness, durable=True)

    def _is_there(self, name: str) -> bool:
        return not name.startswith(f"{SPARK}/") or exists(self.fs, join(self.root, name))

    def begin(self, checkpoint: Checkpoint, batch: int, planned: int, spark_batch: int) -> None:
        """Name what a repetition of `batch` would read, before sinks get its rows.

        `planned` is the batch of its entry in the plan log, and `spark_batch` the last of Spark's batches that it
        includes.
        """
        plan = _inside(plan_path("", planned))
        if planned == batch:  # an attempt at the batch that failed may have changed its entry
            self._known.pop(plan, None)
        self._known = {**self._follow(spark_batch), **self._own(NETWORK, plan)}
        self._has_begun = True
        self._write(checkpoint, batch, begun=True)

    def _follow(self, spark_batch: int) -> dict[str, str]:
        """Return the digests of Spark's files, once the new ones would survive a power cut.

        Otherwise a commit could survive the files that it names, and its checkpoint could never be opened again.
        """
        logs = follow(self.fs, self.root, self._known, spark_batch)
        new = [name for name in logs if name not in self._known]
        # The name of a folder does not change, so it is made durable once; Spark makes some folders later than others.
        folders = {folder for name in new for folder in folders_above(name)[:-1]} - self._durable
        above = {folders_above(name)[0] for name in [*new, *folders]}
        make_durable(self.fs, [join(self.root, name) for name in [*new, *sorted(above)]])
        self._durable |= folders
        return logs

    def _own(self, *names: str) -> dict[str, str]:
        found = {name: self._known.get(name) or read_digest(self.fs, self.root, name) for name in names}
        return {name: digest for name, digest in found.items() if digest is not None}

    def noted(self) -> dict[str, str]:
        """Return what the commit of the batch that was begun says about files."""
        tree = {CLUSTER: PRESENT} if exists(self.fs, join(self.root, CLUSTER)) else {}
        return {**self._known, **tree}

    def end(self, checkpoint: Checkpoint) -> None:
        """Name what the next start will read, beyond the last commit."""
        begun = self._witness.begun and self._witness.link == checkpoint.link  # and not committed
        last = notes_of(checkpoint).spark_batch + 1
        try:
            # A run that began no batch has not seen whether Spark can read its newest files, so it vouches for none.
            logs = self._follow(last) if self._has_begun else {}
            self._known |= logs | self._own(NETWORK)
            self._write(checkpoint, checkpoint.batch + 1, begun=begun, more={} if begun else self._tables())
        except StateError as error:  # a witness only accuses, so the run ends as it would without
            log.warning("the next start checks less, because the witness is not written: %s", error)

    def _tables(self) -> dict[str, str]:
        found = sizes(self.fs, self.root)
        # With a write-ahead log beside it, somebody still uses the file, and SQLite may change it.
        if TABLES not in found or f"{TABLES}-wal" in found or found[TABLES] > MOST_TABLES:
            return {}
        return self._own(TABLES)

    def _write(self, checkpoint: Checkpoint, batch: int, *, begun: bool, more: Digests = NO_FILES) -> None:
        noted = notes_of(checkpoint).files
        # What the commit names needs no second witness.
        newer = {name: digest for name, digest in self._known.items() if noted.get(name) != digest}
        # Both have a checksum of their own, and the next run may write them again before it begins the batch.
        for path in (plan_path("", batch), path_of("", MANIFEST, batch)):
            newer.pop(_inside(path), None)
            if exists(self.fs, join(self.root, _inside(path))):
                newer[_inside(path)] = PRESENT
        self._witness = Witness(checkpoint.batch, checkpoint.link, begun, {**newer, **more})
        write_witness(self.fs, self.root, self._witness)


def _inside(path: str) -> str:
    """Return a path within the checkpoint."""
    return path.lstrip("/")
