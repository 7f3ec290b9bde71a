"""Queries handed in, taken out and listed by command and by HTTP; a run that is made up, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drover.cli import main
from drover.control.tenants import limits_of
from drover.errors import DroverError
from drover.flow.families.herded import Tally
from drover.flow.state.commits import Checkpoint
from drover.spark.caller import ask
from drover.spark.queries.clerk import Clerk
from drover.spark.queries.office import Office
from drover.spark.sinks import Memory
from tests.spark.pens import Pen, four_filters
from tests.spark.test_endpoint import send

GOOD = {"name": "good", "tenant": "acme", "operators": {"f": {"kind": "filter", "input": "events", "where": "key = 7"}}}
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
def pen(tmp_path: Path) -> Iterator[Pen]:
    folder = tmp_path / "checkpoint"
    clerk = Clerk(four_filters(), str(folder), limits_of({"small": {"queries": 1}}))
    with Pen(folder, office=Office(clerk, sink=Memory())) as made:
        clerk.open(Checkpoint(), 2)
        yield made


def handed_in(pen: Pen, *given: object, **fields: object) -> tuple[int, dict[str, Any]]:
    return send(pen, "POST", "/submit", json.dumps({"queries": list(given), **fields}).encode())


def test_a_file_is_handed_in_and_the_lines_of_its_faults_are_told(
    pen: Pen, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(FILE, encoding="utf-8")
    assert main(["submit", str(path), "--to", pen.path, "--atomic"]) == 1
    assert "0 of 2 queries accepted" in capsys.readouterr().out
    assert main(["submit", str(path), "--to", pen.path]) == 1
    said = capsys.readouterr()
    assert said.out == "1 of 2 queries accepted, to run from the next batch on\n"
    assert f"drover: {path}, line 11: query bad: operators.f.where is 'keys = 7', but there is no column" in said.err
    assert main(["queries", pen.path]) == 0
    listed = capsys.readouterr().out
    assert "running: 1 query: 1 waiting" in listed
    assert listed.splitlines()[-1].split()[:3] == ["good", "acme", "waiting"]
    assert main(["queries", pen.path, "--json", "--tenant", "nobody"]) == 0
    assert json.loads(capsys.readouterr().out)["queries"] == []
    assert main(["drop", "good", "--from", pen.path]) == 0
    assert capsys.readouterr().out == "1 query dropped, to be gone with the next batch\n"
    assert main(["drop", "good", "--from", pen.path]) == 1
    assert "there is no query 'good'" in capsys.readouterr().err
    for neither_or_both in ([], ["good", "--all"]):
        assert main(["drop", *neither_or_both, "--from", pen.path]) == 2


def test_who_is_refused_is_told_to_programs(pen: Pen, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{{\n{json.dumps(GOOD)}\n", encoding="utf-8")
    assert main(["submit", str(path), "--to", pen.path, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["accepted"], answer["refused"]) == (1, 2)
    assert [(one["line"], one["name"]) for one in answer["refusals"]] == [(2, None), (3, "good")]


def test_all_or_none_tells_of_lines_that_are_no_queries_as_of_others(
    pen: Pen, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, bad = tmp_path / "some.jsonl", {**GOOD, "name": "bad", "operators": {"f": {"kind": "filtre"}}}
    path.write_text(f"{json.dumps(GOOD)}\n{{\n{json.dumps(bad)}\n", encoding="utf-8")
    assert main(["submit", str(path), "--to", pen.path, "--atomic", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["accepted"], answer["refused"]) == (0, 3)
    told = {one["line"]: (one["name"], one["faults"][0]["text"]) for one in answer["refusals"]}
    assert told[1][0] == "good"
    assert "all were to be taken or none, and 2 of 3 cannot be" in told[1][1]
    assert "a line of JSON is one query" in told[2][1]
    assert "Did you mean filter?" in told[3][1]
    assert ask(pen.path, "queries")["queries"] == []


@pytest.mark.parametrize(("name", "most"), [("AT_ONCE", 3), ("MOST_SENT", 400)])
def test_many_are_sent_in_parts_and_what_was_accepted_before_a_failure_is_told(
    pen: Pen, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    path, parts = tmp_path / "some.jsonl", []

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
    assert main(["submit", str(path), "--to", pen.path]) == 0
    assert "7 of 7 queries accepted" in capsys.readouterr().out
    assert parts == [3, 3, 1]
    more = [{**GOOD, "name": one} for one in ("r0", "r1", "r2", "last")]
    path.write_text("\n".join(map(json.dumps, more)), encoding="utf-8")
    assert main(["submit", str(path), "--to", pen.path]) == 1
    assert "it does not answer. Of those sent before, 3 queries were accepted." in capsys.readouterr().err


@pytest.mark.parametrize("given", [1, None, [], {}, {"name": ["a"]}, {"name": "a", "operators": {"f": 3}}, "name: a"])
def test_whatever_is_handed_in_is_refused_by_itself(pen: Pen, given: object) -> None:
    status, answer = handed_in(pen, given, GOOD)
    assert (status, answer["accepted"], answer["refused"]) == (200, 1, 1)
    assert answer["refusals"][0]["index"] == 0
    assert answer["refusals"][0]["faults"]


def test_much_may_be_sent_by_those_who_have_the_token(pen: Pen) -> None:
    many = [{**GOOD, "name": f"q{number}"} for number in range(2_000)]
    body = json.dumps({"queries": many}).encode()
    assert len(body) > 200_000
    status, answer = send(pen, "POST", "/submit", body, Authorization="Bearer x")
    assert (status, "may have 65536" in answer["error"]) == (413, True)
    assert send(pen, "POST", "/submit", body)[1]["accepted"] == 2_000
    assert len(ask(pen.path, "queries")["queries"]) == 2_000
    assert ask(pen.path, "drop", all=True)["dropped"] == 2_000


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        pytest.param("/submit", b"{}", "queries is missing", id="nothing"),
        pytest.param("/submit", b'{"queries": "all"}', "must be a list", id="no list"),
        pytest.param("/drop", b'{"names": "all"}', "must be a list", id="no names"),
        pytest.param("/drop", b'{"names": [["a"]]}', "there is no query", id="odd names"),
    ],
)
def test_a_bad_request_is_refused_in_words(pen: Pen, path: str, body: bytes, says: str) -> None:
    status, answer = send(pen, "POST", path, body)
    assert status in (400, 409)
    assert says in answer["error"]


def test_a_run_without_a_sink_for_queries_takes_none(tmp_path: Path) -> None:
    clerk = Clerk(four_filters(), str(tmp_path / "checkpoint"), {})
    with Pen(tmp_path / "checkpoint", office=Office(clerk)) as made:
        status, answer = handed_in(made, GOOD)
    assert status == 409
    assert "has no sink for results of queries" in answer["error"]


def test_what_queries_take_is_listed_parked_ones_first(pen: Pen, capsys: pytest.CaptureFixture[str]) -> None:
    assert pen.office is not None
    office, names = pen.office, [f"q{number}" for number in range(30)]
    office.submit([{**GOOD, "name": name} for name in names])
    (family,) = office.clerk.begin(0, 2, again=False).families.by_id
    rows = {"member": range(30), "rows_in": [20] * 30, "rows_out": [10] * 30, "state_rows": [0] * 30}
    table = pl.DataFrame({**rows, "state_bytes": [4096] * 30, "busy": [0.001 * n for n in range(30)]}).to_arrow()
    office.standing.take(2.0, 0.25, [Tally(family, 0, 600, 300, 0, 0.4, table)])
    office.clerk.park({3: "it divides"})
    office.clerk.begin(1, 2, again=False)
    assert main(["queries", pen.path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "running: 30 queries: 29 live, 1 parked; results are at most 0.25 s behind"
    assert lines[3].split() == ["q3", "acme", "parked", "0", "-", "-", "-", "-", "it", "divides"]
    assert lines[4].split() == ["q29", "acme", "live", "1", "10.0", "5.00", "14.500", "4,096"]
    assert lines[-1] == "... and 10 more; --json has them all"


def test_a_move_is_of_a_unit_or_else_of_a_query(pen: Pen, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["move", "good", "1", "--from", pen.path]) == 1
    assert "there is no unit 'good'" in capsys.readouterr().err  # there are no queries
    assert pen.office is not None
    assert handed_in(pen, GOOD, {**GOOD, "name": "c"})[1]["accepted"] == 2
    for node in (1, 0):
        assert main(["move", "good", str(node), "--from", pen.path]) == 0
        assert capsys.readouterr().out == f"query good is on node {node} from the next batch on\n"
    assert ask(pen.path, "move", unit="c", node=0)["unit"] == "c"
    assert pen.places["c"] == 0
    assert main(["move", "goods", "1", "--from", pen.path]) == 1
    assert "there is no unit and no query 'goods'. Did you mean good?" in capsys.readouterr().err
    assert main(["move", "good", "2", "--from", pen.path]) == 1
    assert "the nodes are 0 to 1" in capsys.readouterr().err
    book = pen.office.clerk.begin(0, 2, again=False).book
    assert dict(book.members.select("name", "node").iter_rows())["good"] == 0
