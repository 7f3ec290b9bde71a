"""Member tables in files: named by content, checked when they are read, and swept when they are not needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from drover.errors import StateError
from drover.flow.families.members import FOLDER, make_members, read_members, sweep_members, write_members
from drover.network.queries import shape_of
from tests.network.queries.cases import NETWORK, filtering

SHAPE = shape_of(filtering("source = 'a' AND x > 1.5"), NETWORK).shape
FS = LocalFileSystem()


def test_a_table_is_sorted_and_read_back(tmp_path: Path) -> None:
    table = make_members(SHAPE, [4, 2], ["q4", "q2"], [1, 0], [("a", 1.0), ("b", 2.0)])
    assert table.to_pydict() == {
        "member": [2, 4],
        "query": ["q2", "q4"],
        "node": [0, 1],
        "c0": ["b", "a"],
        "c1": [2.0, 1.0],
    }
    stored = write_members(FS, str(tmp_path), SHAPE, table)
    assert (stored.family, stored.nodes, stored.members) == (SHAPE.id, (0, 1), 2)
    assert read_members(FS, str(tmp_path), stored).equals(table)


def test_equal_tables_are_one_file_and_others_are_swept(tmp_path: Path) -> None:
    first = write_members(FS, str(tmp_path), SHAPE, make_members(SHAPE, [1], ["q"], [0], [("a", 1.0)]))
    again = write_members(FS, str(tmp_path), SHAPE, make_members(SHAPE, [1], ["q"], [0], [("a", 1.0)]))
    other = write_members(FS, str(tmp_path), SHAPE, make_members(SHAPE, [1], ["q"], [1], [("a", 1.0)]))
    assert first == again
    assert len(list((tmp_path / FOLDER).iterdir())) == 2
    assert sweep_members(FS, str(tmp_path), [other]) == 1
    assert read_members(FS, str(tmp_path), other).num_rows == 1


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    stored = write_members(FS, str(tmp_path), SHAPE, make_members(SHAPE, [1], ["q"], [0], [("a", 1.0)]))
    (file,) = (tmp_path / FOLDER).iterdir()
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(StateError, match="the file is damaged"):
        read_members(FS, str(tmp_path), stored)


def test_a_damaged_file_is_written_again_when_its_table_is_needed(tmp_path: Path) -> None:
    table = make_members(SHAPE, [1], ["q"], [0], [("a", 1.0)])
    stored = write_members(FS, str(tmp_path), SHAPE, table)
    (file,) = (tmp_path / FOLDER).iterdir()
    file.write_bytes(file.read_bytes()[:20])
    assert write_members(FS, str(tmp_path), SHAPE, table) == stored
    assert read_members(FS, str(tmp_path), stored).equals(table)
