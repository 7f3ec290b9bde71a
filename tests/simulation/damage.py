"""Bits that flip in the files of a checkpoint, and the copy from which a person restores them.

Rule 1: a run may do without a damaged file, or end with an error that names it. It may not give a wrong row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from numpy.random import Generator

from tests.simulation.calls import StorageCalls
from tests.simulation.disk import DATABASE, SimulatedDisk
from tests.simulation.spark import SparkLogError

UNCHECKED = (DATABASE, "lock")  # SQLite has no checksums, and the lock has no content that counts


@dataclass(slots=True)
class Damage:
    """The damaged files of one checkpoint."""

    disk: SimulatedDisk
    calls: StorageCalls
    checkpoint: Path
    files: dict[Path, tuple[bytes, bytes]] = field(default_factory=dict)  # as they are now, and as they were

    def flip(self, rng: Generator) -> None:
        """Flip one bit of one file."""
        with self.calls.unseen():
            files = [path for path in sorted(self.checkpoint.rglob("*")) if self._suits(path)]
            if files:
                path = files[int(rng.integers(len(files)))]
                before = path.read_bytes()
                after = bytearray(before)
                after[int(rng.integers(len(after)))] ^= 1 << int(rng.integers(8))
                self.files[path] = (bytes(after), before)
                self.disk.put(path, bytes(after))

    def _suits(self, path: Path) -> bool:
        # A file that is damaged twice has no copy of its first damage.
        return (
            path.is_file()
            and not path.name.startswith(UNCHECKED)
            and path not in self.files
            and path.stat().st_size > 0
        )

    def accept(self) -> None:
        """Note that a batch is committed: from now on, damaged files of Spark count as they are."""
        for path in [path for path in self.files if (self.checkpoint / "spark") in path.parents]:
            del self.files[path]

    def named_by(self, error: Exception) -> list[Path]:
        """Return the damaged files that an error names."""
        return [path for path in self.files if str(path) in str(error)]

    def restore(self, error: Exception) -> bool:
        """Restore the files that an error names; return whether there are any."""
        named = self.named_by(error)
        if not named and isinstance(error, SparkLogError):
            # Spark names the file that it misses, which need not be the one that sent it there.
            named = [path for path in self.files if (self.checkpoint / "spark") in path.parents]
        for path in named:
            now, before = self.files.pop(path)
            if path.exists() and path.read_bytes() == now:
                self.disk.put(path, before)
        return bool(named)
