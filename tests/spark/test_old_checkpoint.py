"""A checkpoint that release 0.1 wrote is read and continued by the current code, with the results of an unbroken run.

If a test here fails, a file of a checkpoint is not read as release 0.1 wrote it. Make the code read it again; the
archive is never made anew.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

import drover
from drover.cli import main
from drover.network.queries import shape_of
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark import old_checkpoint as old
from tests.spark.meters import parsed

Json = dict[str, Any]  # Any: JSON

KEPT = [one for one in old.FIRST if one["name"] not in (*old.DROPPED, *old.LEAVING, *old.PARKED)]
BRIEF = [one for one in old.FIRST if one["name"] in ("gone-1", *old.LEAVING)]  # without state, so they end at once
GROUPS = [KEPT, old.BEGUN, old.WAITING, BRIEF[:1], BRIEF[1:]]
SEEN_BY = [range(1, 9), range(5, 9), range(6, 9), range(1, 3), range(1, 6)]  # the files that a group of queries sees


def unpack(folder: Path) -> Path:
    """Unpack the archive and give Spark's list of files that it has read the paths that they have here."""
    with tarfile.open(old.ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    for path in folder.glob(old.SPARK_LOGS):
        path.write_text(path.read_text().replace(old.PLACEHOLDER, str(folder)))
    return folder


def facts_of(folder: Path) -> Json:
    """Return what release 0.1 said about its checkpoint."""
    found: Json = json.loads((folder / "facts.json").read_text())
    return found


@dataclass(frozen=True)
class Continued:
    """The run after it was continued to the last file."""

    folder: Path
    facts: Json
    parked_at_start: Mapping[str, str]
    handle: drover.Handle
    unfinished: Mapping[str, pl.DataFrame]  # rows by stream that release 0.1 wrote in the batch that it did not commit
    batches: list[int]  # by file

    def answers(self, query: str, like: pl.DataFrame) -> pl.DataFrame:
        found = old.read_answers(self.folder, query)
        return found if found.width else like.clear()


@pytest.fixture(scope="module")
def continued(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Continued:
    folder = unpack(tmp_path_factory.mktemp("upgrade").resolve())
    facts = facts_of(folder)
    died = facts["batches"][-1]
    unfinished = {path.parent.name: pl.read_parquet(path) for path in folder.glob(f"out/*/{died:012}.parquet")}
    old.write_rows(folder, range(old.DIED_IN + 1, old.FILES))
    handle = old.start(spark, folder, trigger={"availableNow": True})
    parked = handle.parked

    def resume(figures: Mapping[str, Any]) -> None:  # Any: JSON
        if figures["batch"] == died + 1:
            handle.resume("strict")

    handle.listen(resume)
    try:
        assert handle.awaitTermination(120)
    finally:
        handle.stop()
    batches = [one["batch"] for one in handle.batches if any(one["rowsIn"].values())]
    return Continued(folder, facts, parked, handle, unfinished, [*facts["batches"][:-1], *batches])


@pytest.fixture(scope="module")
def expected(spark: SparkSession, continued: Continued) -> dict[str, pl.DataFrame]:
    """What plain Spark gives for all rows: those that release 0.1 has read, and those that came after it."""
    numbered = {}
    for number, batch in enumerate(continued.batches):
        rows = old.rows_of(number)
        # A query does not see rows of before it came, but knows the watermark that they left.
        hidden = rows["orders"].with_columns(
            pl.lit(None, kind).alias(name) for name, kind in old.POLARS.items() if name != "ts"
        )
        seen = {f"orders_{group}": rows["orders"] if number in files else hidden for group, files in enumerate(SEEN_BY)}
        numbered[batch] = {**rows, **seen}
    return expected_streams(spark, old.oracle_network(GROUPS), numbered)


def test_the_batch_that_was_not_committed_is_repeated(continued: Continued) -> None:
    died = continued.facts["batches"][-1]
    assert continued.batches[old.DIED_IN] == died
    assert continued.batches[old.DIED_IN :] == list(range(died, died + old.FILES - old.DIED_IN))
    assert continued.unfinished.keys() >= {"cents", "pairs", "near", "known"}
    for stream, rows in continued.unfinished.items():
        assert_same_rows(pl.read_parquet(continued.folder / "out" / stream / f"{died:012}.parquet"), rows)


@pytest.mark.parametrize("stream", old.checked_network().outputs)
def test_results_are_those_of_an_unbroken_run(
    continued: Continued, expected: dict[str, pl.DataFrame], stream: str
) -> None:
    assert_same_rows(old.read_files(continued.folder / "out" / stream), expected[stream])
    assert expected[stream].height > 0


def test_the_table_is_read_as_it_was_left(continued: Continued) -> None:
    latest: dict[int, tuple[object, int]] = {}
    wanted = []
    for number in range(old.FILES):
        rows = [row for row in old.rows_of(number)["orders"].iter_rows(named=True) if row["ts"] is not None]
        wanted += [(row["ts"], row["key"], latest.get(row["key"], (None, None))[1]) for row in rows]
        for row in sorted(rows, key=lambda row: row["ts"]):
            if row["key"] not in latest or latest[row["key"]][0] < row["ts"]:
                latest[row["key"]] = (row["ts"], row["amount"])
    found = old.read_files(continued.folder / "out" / "known").select("ts", "key", "amount")
    assert sorted(found.rows()) == sorted(wanted)


def test_dead_letters_are_kept_and_added_to(continued: Continued) -> None:
    letters = old.read_files(continued.folder / "dead")
    assert letters["source"].to_list() == ["orders"] * len(old.NULL_TIME_IN)
    assert all("timeless" in row for row in letters["row"])


@pytest.mark.parametrize("query", [one for group in GROUPS for one in group], ids=lambda one: str(one["name"]))
def test_queries_continue(continued: Continued, expected: dict[str, pl.DataFrame], query: Json) -> None:
    wanted = expected[old.output_of(query)]
    assert_same_rows(continued.answers(query["name"], wanted), wanted)


def test_queries_are_where_they_were(continued: Continued) -> None:
    before = {one["query"]: one for one in continued.facts["queries"]["queries"]}
    after = {one["query"]: one for one in continued.handle.queries().iter_rows(named=True)}
    assert after.keys() == before.keys()
    for name, one in before.items():
        assert after[name]["family"] == one["family"]
        if one["state"] != "waiting":
            assert [after[name][key] for key in ("since", "node", "parked")] == [
                one[key] for key in ("since", "node", "parked")
            ]
    died = continued.facts["batches"][-1]
    assert {after[one["name"]]["since"] for one in old.BEGUN} == {died}
    assert {after[one["name"]]["since"] for one in old.WAITING} == {died + 1}
    assert {name for name, one in after.items() if one["state"] == "parked"} == set(old.PARKED)


def test_what_is_parked_stays_so_until_it_is_resumed(continued: Continued) -> None:
    assert continued.parked_at_start == {"strict": "ValueError: a tag is missing"}
    assert continued.handle.parked == {}
    ran_in = [*range(old.NULL_TAG_IN), *range(old.DIED_IN + 2, old.FILES)]
    amounts = pl.concat([old.rows_of(number)["orders"].drop_nulls("ts")["amount"] for number in ran_in])
    found = old.read_files(continued.folder / "out" / "strict")
    assert sorted(found["passed"]) == sorted(amounts)


def test_moves_by_hand_last_and_approved_ones_are_made(continued: Continued) -> None:
    status = continued.facts["status"]
    places = status["plan"]["node_of"]
    assert places["windows"] == places["seen"] == 0  # where they had been moved by hand
    approved = {move["unit"]: move["target"] for move in status["approved"]["moves"]}
    assert approved
    assert dict(continued.handle.plan.node_of).items() <= {**places, **approved}.items()
    assert continued.handle.plan.nodes == old.NODES


def test_the_history_is_continued(continued: Continued, capsys: pytest.CaptureFixture[str]) -> None:
    before = continued.facts["history"]["records"]
    after = said(capsys, "history", str(continued.folder / "checkpoint"), "--last", "1000")["records"]
    assert after[: len(before)] == before
    carried_out, *later = after[len(before) :]
    assert carried_out["kind"] == "moved"
    assert carried_out["proposal"]["moves"] == continued.facts["status"]["approved"]["moves"]
    assert [record["period"] for record in later] == list(range(before[-1]["period"] + 1, after[-1]["period"] + 1))
    assert later


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Json:
    """Return what a command prints for programs."""
    assert main([*words, "--json"]) == 0
    found: Json = json.loads(capsys.readouterr().out)
    return found


def test_the_stopped_run_says_what_it_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = facts_of(unpack(tmp_path))
    at = str(tmp_path / "checkpoint")
    for command in ("status", "history", "queries"):
        found = said(capsys, command, at)
        assert {field: found[field] for field in facts[command]} == facts[command]  # newer versions say more
    explained = said(capsys, "explain", "windows", "--from", at)
    assert explained.keys() == facts["explain"].keys()
    for field in ("unit", "node", "load", "state_bytes", "elsewhere"):
        assert explained[field] == facts["explain"][field]
    report = said(capsys, "report", at, "--out", str(tmp_path / "report.html"))
    assert {name: report[name] for name in facts["report"]} == facts["report"]


def test_families_have_the_ids_that_they_had(tmp_path: Path) -> None:
    """The state of a query is stored under the id of its family: under another id, it would be lost without a word."""
    network = old.whole_network()
    stored = {one["query"]: one["family"] for one in facts_of(unpack(tmp_path))["queries"]["queries"]}
    given = {one["name"]: one for one in (*old.FIRST, *old.BEGUN, *old.WAITING)}
    assert {name: shape_of(parsed(given[name]), network).shape.id for name in stored} == stored
