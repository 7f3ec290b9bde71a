"""Which named files a start needs: the rules one by one; `test_integrity.py` has them together."""

from __future__ import annotations

from pathlib import Path

import pytest

from drover.flow.state.storage import RESTORE, open_root
from drover.flow.state.witness import Witness
from drover.spark.needed_files import NeededFiles
from tests.spark.spark_files import write_logs

NOTED = {"network.yaml": "a", "plans/000000000001.json": "b", "spark/offsets/4": "c", "spark/sources/0/4": "d"}


def needed(root: Path, *files: str, begun: bool = False) -> NeededFiles:
    seen = {"network.yaml": "n", **dict.fromkeys(files, "")}
    return NeededFiles(*open_root(root), 4, NOTED, Witness(4, "", begun, seen))


def test_a_file_may_have_the_digest_of_the_commit_or_of_the_witness(tmp_path: Path) -> None:
    found = needed(tmp_path)
    assert found.digests("network.yaml") == {"a", "n"}
    assert found.digests("spark/offsets/4") == {"c"}
    assert found.names == sorted(NOTED)


def test_an_entry_of_the_plan_log_holds_until_the_next(tmp_path: Path) -> None:
    assert needed(tmp_path).is_needed("plans/000000000001.json")
    assert not needed(tmp_path, "plans/000000000005.json").is_needed("plans/000000000001.json")


@pytest.mark.parametrize("begun", [False, True])
def test_offsets_of_a_batch_that_drover_did_not_begin_are_planned_again(tmp_path: Path, begun: bool) -> None:
    assert needed(tmp_path, begun=begun).is_needed("spark/offsets/5") == begun


def test_a_source_needs_what_follows_its_newest_compacted_file(tmp_path: Path) -> None:
    write_logs(tmp_path, begun=4, done=4)
    assert needed(tmp_path).is_needed("spark/sources/0/4")
    (tmp_path / "spark" / "sources" / "0" / "5.compact").write_text("v1\n{}")
    assert not needed(tmp_path).is_needed("spark/sources/0/4")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("spark/offsets/4", RESTORE),
        ("spark/offsets/5", "delete it, spark/offsets/5 and witness.json"),
        ("plans/000000000005.json", "delete witness.json: the batch starts anew"),
        ("tables.db", "if you have changed this file yourself"),
    ],
)
def test_there_is_a_way_out(tmp_path: Path, name: str, says: str) -> None:
    assert says in needed(tmp_path).way_out(name)
