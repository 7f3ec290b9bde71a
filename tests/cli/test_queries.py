"""`drover submit`, `drop`, `queries` and `move`, on a run without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drover.cli import main
from drover.errors import DroverError
from drover.flow.families.assignment import MemberCounts
from drover.spark.caller import ask
from drover.spark.queries.metrics import QueryMetrics
from tests.spark.queries.catalogs import ServedRun, served
from tests.spark.queries.test_routes import GOOD

FILE = """
- name: good
  tenant: acme
  operators:
    f: {kind: filter, input: events, where: key = 7}
- name: bad
  operators:
    f:
      kind: filter
      input: events
      where: keys = 7
"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[ServedRun]:
    with served(tmp_path / "checkpoint") as made:
        yield made


def test_submit_names_the_lines_of_faults_in_a_file(
    run: ServedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(FILE, encoding="utf-8")
    assert main(["submit", str(path), "--to", run.path, "--atomic"]) == 1
    assert "0 of 2 queries accepted" in capsys.readouterr().out
    assert main(["submit", str(path), "--to", run.path]) == 1
    said = capsys.readouterr()
    assert said.out == "1 of 2 queries accepted, to run from the next batch on\n"
    assert f"drover: {path}, line 11: query bad: operators.f.where is 'keys = 7', but there is no column" in said.err
    assert main(["queries", run.path]) == 0
    listed = capsys.readouterr().out
    assert "running: 1 query: 1 waiting" in listed
    assert listed.splitlines()[-1].split()[:3] == ["good", "acme", "waiting"]
    assert main(["queries", run.path, "--json", "--tenant", "unknown"]) == 0
    assert json.loads(capsys.readouterr().out)["queries"] == []
    assert main(["drop", "good", "--from", run.path]) == 0
    assert capsys.readouterr().out == "1 query dropped, to be gone with the next batch\n"
    assert main(["drop", "good", "--from", run.path]) == 1
    assert "there is no query 'good'" in capsys.readouterr().err
    for neither_or_both in ([], ["good", "--all"]):
        assert main(["drop", *neither_or_both, "--from", run.path]) == 2


def test_refusals_are_available_as_json(run: ServedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{{\n{json.dumps(GOOD)}\n", encoding="utf-8")
    assert main(["submit", str(path), "--to", run.path, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["accepted"], answer["refused"]) == (1, 2)
    assert [(one["line"], one["name"]) for one in answer["refusals"]] == [(2, None), (3, "good")]


def test_with_atomic_unreadable_lines_are_reported_like_other_refusals(
    run: ServedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "some.jsonl"
    bad = {**GOOD, "name": "bad", "operators": {"f": {"kind": "filtre"}}}
    path.write_text(f"{json.dumps(GOOD)}\n{{\n{json.dumps(bad)}\n", encoding="utf-8")
    assert main(["submit", str(path), "--to", run.path, "--atomic", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["accepted"], answer["refused"]) == (0, 3)
    found = {one["line"]: (one["name"], one["faults"][0]["text"]) for one in answer["refusals"]}
    assert found[1][0] == "good"
    assert "with atomic all queries are accepted or none, and 2 of 3 are refused" in found[1][1]
    assert "a line of JSON is one query" in found[2][1]
    assert "Did you mean filter?" in found[3][1]
    assert ask(run.path, "queries")["queries"] == []


@pytest.mark.parametrize(("name", "most"), [("AT_ONCE", 3), ("MOST_SENT", 400)])
def test_a_long_file_is_sent_in_parts_and_a_failure_says_what_was_accepted_before(
    run: ServedRun,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    most: int,
) -> None:
    path = tmp_path / "some.jsonl"
    parts = []

    def counted(checkpoint: str, request: str, **fields: Any) -> dict[str, Any]:
        parts.append(len(fields["queries"]))
        if any(one["name"] == "last" for one in fields["queries"]):
            raise DroverError("it does not answer.")
        return ask(checkpoint, request, **fields)

    module = import_module("drover.cli.queries")  # by its name from the package, it is the command
    monkeypatch.setattr(module, name, most)
    monkeypatch.setattr(module, "ask", counted)
    given = [{**GOOD, "name": f"q{number}"} for number in range(7)]
    path.write_text("\n".join(map(json.dumps, given)), encoding="utf-8")
    assert main(["submit", str(path), "--to", run.path]) == 0
    assert "7 of 7 queries accepted" in capsys.readouterr().out
    assert parts == [3, 3, 1]
    more = [{**GOOD, "name": one} for one in ("r0", "r1", "r2", "last")]
    path.write_text("\n".join(map(json.dumps, more)), encoding="utf-8")
    assert main(["submit", str(path), "--to", run.path]) == 1
    assert "it does not answer. Before that, 3 queries were accepted." in capsys.readouterr().err


def test_the_listing_shows_costs_and_parked_queries_first(
    run: ServedRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run.catalog.submit([{**GOOD, "name": f"q{number}"} for number in range(30)])
    (family,) = run.catalog.begin(0, 2, again=False).families.by_id
    rows = {"member": range(30), "rows_in": [20] * 30, "rows_out": [10] * 30, "state_rows": [0] * 30}
    table = pl.DataFrame({**rows, "state_bytes": [4096] * 30, "busy": [0.001 * n for n in range(30)]}).to_arrow()
    metrics = QueryMetrics()
    metrics.record(2.0, 0.25, [MemberCounts(family, 0, 600, 300, 0, 0.4, table)])
    monkeypatch.setattr(run.service, "_metrics", metrics)
    run.catalog.park({3: "it divides"})
    run.catalog.begin(1, 2, again=False)
    assert main(["queries", run.path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "running: 30 queries: 29 live, 1 parked; results are at most 0.25 s behind"
    assert lines[3].split() == ["q3", "acme", "parked", "0", "-", "-", "-", "-", "it", "divides"]
    assert lines[4].split() == ["q29", "acme", "live", "1", "10.0", "5.00", "14.500", "4,096"]
    assert lines[-1] == "... and 10 more; --json has them all"


def test_a_move_names_a_unit_or_else_a_query(run: ServedRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["move", "good", "1", "--from", run.path]) == 1
    assert "there is no unit 'good'" in capsys.readouterr().err  # there are no queries
    assert len(run.service.submit([GOOD, {**GOOD, "name": "c"}]).accepted) == 2
    for node in (1, 0):
        assert main(["move", "good", str(node), "--from", run.path]) == 0
        assert capsys.readouterr().out == f"query good is on node {node} from the next batch on\n"
    assert ask(run.path, "move", unit="c", node=0)["unit"] == "c"
    assert run.run.places["c"] == 0
    assert main(["move", "goods", "1", "--from", run.path]) == 1
    assert "there is no unit and no query 'goods'. Did you mean good?" in capsys.readouterr().err
    assert main(["move", "good", "2", "--from", run.path]) == 1
    assert "the nodes are 0 to 1" in capsys.readouterr().err
    query_log = run.catalog.begin(0, 2, again=False).query_log
    assert dict(query_log.members.select("name", "node").iter_rows())["good"] == 0
