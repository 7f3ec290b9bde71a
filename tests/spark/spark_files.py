"""Files as Spark writes them into its checkpoint, for tests without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Final

COMPACT_EVERY: Final = 3


def write_logs(root: Path, begun: int, done: int, *, sources: int = 1) -> None:
    """Write what Spark has after it began and finished these batches, each with rows of every source."""
    spark = root / "spark"
    for folder, last in (("offsets", begun), ("commits", done)):
        (spark / folder).mkdir(parents=True, exist_ok=True)
        for batch in range(last + 1):
            _once(spark / folder / str(batch), f'v1\n{{"batch":{batch},"of":"{folder}"}}')
    for source in range(sources):
        (spark / "sources" / str(source)).mkdir(parents=True, exist_ok=True)
        for batch in range(begun + 1):
            name = f"{batch}.compact" if (batch + 1) % COMPACT_EVERY == 0 else str(batch)
            _once(spark / "sources" / str(source) / name, f'v1\n{{"path":"file:///in/{source}/{batch}.parquet"}}')
    _once(spark / "metadata", '{"id":"5cb092ae"}')


def _once(path: Path, text: str) -> None:
    if not path.exists():
        path.write_text(text)
