from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.spark.chaos.outputs import OUTPUTS, Difference, OutputReader, difference_at_end, difference_so_far
from tests.spark.chaos.plain import Files, plain_results
from tests.spark.runs import chaos_network, ordered_batches, read_output


def written(folder: Path, files: Files) -> None:
    """Write what a run writes that gets a file per batch, and closes the last windows in a batch without rows."""
    network = chaos_network()
    before = {name: plain_results([], [])[name] for name in OUTPUTS}
    for number in range(len(files) + 1):
        now = plain_results(files[: number + 1], files[:number])
        for name in OUTPUTS:
            made = (now[name] - before[name]).elements()
            (folder / "out" / name).mkdir(parents=True, exist_ok=True)
            empty = read_output(folder / "none", network, name)
            rows = pl.DataFrame(list(made), schema=empty.schema, orient="row")
            rows.write_parquet(folder / "out" / name / f"{number:012}.parquet")
        before = now


def test_what_is_right_differs_in_nothing(tmp_path: Path) -> None:
    files = ordered_batches(chaos_network(), 12, 6)
    written(tmp_path, files)
    reader = OutputReader(tmp_path)
    for batch in range(12):
        assert difference_so_far(reader.read_up_to(batch), files[: batch + 1], files[:batch]) == Difference(0, 0)
    assert difference_at_end(tmp_path, files) == Difference(0, 0)


def test_a_file_that_is_missing_or_there_twice_is_noticed(tmp_path: Path) -> None:
    files = ordered_batches(chaos_network(), 12, 6)
    written(tmp_path, files)
    path = tmp_path / "out" / "seen" / f"{5:012}.parquet"
    rows = pl.read_parquet(path).height
    assert rows > 0
    path.with_name(f"{6:012}-again.parquet").write_bytes(path.read_bytes())
    assert difference_so_far(OutputReader(tmp_path).read_up_to(7), files[:8], files[:7]) == Difference(0, rows)
    assert difference_at_end(tmp_path, files) == Difference(0, rows)
    path.unlink()
    path.with_name(f"{6:012}-again.parquet").unlink()
    assert difference_so_far(OutputReader(tmp_path).read_up_to(4), files[:5], files[:4]) == Difference(0, 0)
    assert difference_so_far(OutputReader(tmp_path).read_up_to(7), files[:8], files[:7]) == Difference(rows, 0)
    assert difference_at_end(tmp_path, files) == Difference(rows, 0)
