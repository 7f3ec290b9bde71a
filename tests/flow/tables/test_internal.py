"""The tables in the checkpoint: a file that is gone, empty, foreign, old or damaged is noticed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import drover
from drover.errors import StateError, TableError
from drover.flow.tables import TablesMark, addresses, mark_written, prepare_tables
from drover.flow.tables.internal import mark_from

LAST = 7  # the last batch that is committed


def a_network(*, reads: bool = False) -> drover.Network:
    net = drover.Builder("n")
    source = net.source("s", {"ts": "timestamp", "k": "int"}, time="ts")
    source.write_table("w", net.table("kept", {"k": "int", "ts": "timestamp"}, key="k"))
    if reads:
        names = net.table("names", {"k": "int", "name": "string"}, key="k")
        source.read_table("r", names, on="k", columns="name").output()
    return net.build()


def prepared(folder: Path, noted: TablesMark | None = None, new_id: str = "one") -> TablesMark:
    found = prepare_tables(a_network(), addresses(a_network(), {}, str(folder)), noted, LAST, new_id=new_id)
    assert found is not None
    return found


def written(folder: Path, mark: TablesMark, batch: int) -> TablesMark:
    found = mark_written(mark, a_network(), addresses(a_network(), {}, str(folder)), batch, {"w"})
    assert found is not None
    return found


def test_the_mark_stays_and_follows_the_batches_that_write(tmp_path: Path) -> None:
    made = prepared(tmp_path)
    assert made.batch == -1
    assert prepared(tmp_path, made) == made
    tables = addresses(a_network(), {}, str(tmp_path))
    assert mark_written(made, a_network(), tables, 3, {"other"}) == made
    after = written(tmp_path, made, 3)
    assert after == TablesMark(made.id, 3)
    assert mark_from(after.to_json()) == after
    assert prepared(tmp_path, after) == after
    assert mark_from(None) is None


def test_the_file_may_be_ahead_by_the_batch_that_was_not_committed(tmp_path: Path) -> None:
    made = written(tmp_path, prepared(tmp_path), LAST)
    written(tmp_path, made, LAST + 1)
    assert prepared(tmp_path, made) == made
    written(tmp_path, made, LAST + 2)
    with pytest.raises(StateError, match=r"expected the tables kept as of batch 7, but found a database of batch 9"):
        prepared(tmp_path, made)


def test_a_database_that_is_lost_while_it_runs_is_named(tmp_path: Path) -> None:
    made = prepared(tmp_path)
    (tmp_path / "tables.db").write_bytes(b"")
    with pytest.raises(TableError, match=r"tables\.db cannot be marked: .*no such table.* the batch will be repeated"):
        written(tmp_path, made, LAST)


def test_without_tables_in_the_checkpoint_the_mark_is_kept(tmp_path: Path) -> None:
    made = TablesMark("a", 3)
    elsewhere = addresses(a_network(), {"kept": f"sqlite://{tmp_path}/other.db"}, str(tmp_path))
    assert prepare_tables(a_network(), elsewhere, made, LAST) == made
    assert mark_written(made, a_network(), elsewhere, 4, {"w"}) == made
    assert not (tmp_path / "tables.db").exists()


def test_a_copy_of_another_checkpoint_is_a_new_database_to_the_first_run(tmp_path: Path) -> None:
    made = written(tmp_path, prepared(tmp_path), LAST)
    assert prepared(tmp_path, new_id="two") == TablesMark("two")
    assert prepared(tmp_path, TablesMark("two")) == TablesMark("two")
    assert made.id == "one"


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        pytest.param("delete", "no such file", id="deleted"),
        pytest.param("empty", "an empty or foreign database", id="emptied"),
        pytest.param("truncate", r"a damaged database \(.*\)", id="truncated"),
        pytest.param("foreign", "the database of another run", id="of another run"),
        pytest.param("older", "a database of batch 2", id="an older copy"),
    ],
)
def test_a_file_that_is_not_the_right_one_is_named_with_the_way_out(tmp_path: Path, harm: str, found: str) -> None:
    file = tmp_path / "tables.db"
    old = written(tmp_path, prepared(tmp_path), 2)
    shutil.copy(file, tmp_path / "old.db")
    made = written(tmp_path, old, 5)
    (tmp_path / "other").mkdir()
    written(tmp_path / "other", prepared(tmp_path / "other", new_id="two"), 5)
    match harm:
        case "delete":
            file.unlink()
        case "empty":
            file.write_bytes(b"")
        case "truncate":
            file.write_bytes(file.read_bytes()[:5000])
        case "foreign":
            shutil.copy(tmp_path / "other" / "tables.db", file)
        case _:
            shutil.copy(tmp_path / "old.db", file)
    before = file.read_bytes() if file.exists() else None
    with pytest.raises(
        StateError, match=rf"\A{file}: expected the tables kept as of batch 5, but found {found}\. "
    ) as said:
        prepared(tmp_path, made)
    assert str(said.value).endswith(
        "Restore it from the copy of the checkpoint that has the same commits, or continue with tables in another "
        "database: tables: {kept: sqlite:///path/to/file.db}."
    )
    assert (file.read_bytes() if file.exists() else None) == before


def test_a_run_that_lacks_a_table_creates_none(tmp_path: Path) -> None:
    network = a_network(reads=True)
    with pytest.raises(TableError, match="table 'names' has no address"):
        prepare_tables(network, addresses(network, {}, str(tmp_path)))
    assert list(tmp_path.iterdir()) == []
