from __future__ import annotations

import json
from pathlib import Path

import pytest

from drover import runs
from drover.cli import main
from drover.control.settings import control_of
from drover.control.tenants import QueryLimits
from drover.errors import FileError
from drover.network.files.network_file import dumps, load
from drover.network.operators import Named
from drover.network.schema import Column
from drover.network.types import BIGINT
from drover.runs.fields import CONTROL, LIMITS, POPULARITY
from drover.runs.model import Input, Option, Output
from tests.cli.golden import GOLDEN, agrees

NETWORK = """\
drover: 1
name: calls
sources:
  calls: {columns: {ts: timestamp, number: string, seconds: int}, time: ts}
  bills: {columns: {number: string, cents: int}}
operators:
  long: {kind: filter, input: calls, where: seconds > 60}
outputs: [long, bills]
"""
SOUND = """\
run: 1
network: net.yaml
sources:
  calls: {replay: csv, path: calls.csv}
  bills: {read: json, path: bills}
"""


def write(folder: Path, text: str, network: str = NETWORK) -> Path:
    (folder / "net.yaml").write_text(network, encoding="utf-8")
    path = folder / "calls.run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_run_file_says_everything(tmp_path: Path) -> None:
    text = """\
run: 1
network: net.yaml
sources:
  calls: {replay: csv, path: calls.csv, columns: {when: bigint, number: string, seconds: int}, options: {header: true},
          select: {ts: timestamp_seconds(when), number: number, seconds: seconds}, where: seconds > 0, speed: 60}
  bills: {read: json, path: "s3://bucket/bills"}
sinks:
  long: [console, {write: parquet, path: out/long}]
dead_letters: {write: csv, path: /letters}
checkpoint: check
nodes: 2
plan: hash
trigger: 1 s
control: {mode: auto, period: 2, capacity: [1, 0.5], pins: {long: 1}}
stop_on_failure: true
"""
    run = runs.load(write(tmp_path, text))
    assert run.network == load(tmp_path / "net.yaml")
    assert run.sources["calls"] == Input(
        replay="csv",
        path=str(tmp_path / "calls.csv"),
        columns=(Column("when", BIGINT), *run.network.sources[0].columns[1:]),
        options=(Option("header", "true"),),
        select=(Named("ts", "timestamp_seconds(when)"), Named("number", "number"), Named("seconds", "seconds")),
        where="seconds > 0",
        speed=60.0,
    )
    assert run.sources["bills"].path == "s3://bucket/bills"
    assert run.sinks == {"long": (Output("console"), Output("parquet", str(tmp_path / "out/long")))}
    assert run.dead_letters == (Output("csv", "/letters"),)
    assert (run.checkpoint, run.nodes, run.plan) == (str(tmp_path / "check"), 2, "hash")
    assert (run.trigger, run.stop_on_failure) == (1_000_000, True)
    assert run.control == control_of({"mode": "auto", "period": 2, "capacity": [1, 0.5], "pins": {"long": 1}})


@pytest.mark.parametrize("text", ["auto", "{mode: auto}", "{mode: propose, capacity: measured, payback: 1.5e1}"])
def test_what_control_says_is_written_and_read_again(tmp_path: Path, text: str) -> None:
    control = runs.load(write(tmp_path, f"{SOUND}control: {text}\n")).control
    again = json.dumps(CONTROL.write(control)).replace('"', "")
    assert runs.load(write(tmp_path, f"{SOUND}control: {again}\n")).control == control


def test_queries_have_sinks_and_tenants_limits(tmp_path: Path) -> None:
    more = "queries: {write: parquet, path: answers}\nlimits: {acme: {queries: 10, busy: 0.5}, '*': {state: 1000}}\n"
    run = runs.load(write(tmp_path, f"{SOUND}{more}refine: 0.05\n"))
    assert run.refine == 0.05
    assert run.queries == (Output("parquet", str(tmp_path / "answers")),)
    assert run.limits == {"acme": QueryLimits(queries=10, busy=0.5), "*": QueryLimits(state=1000)}
    assert LIMITS.write(run.limits) == {"acme": {"queries": "10", "busy": "0.5"}, "*": {"state": "1000"}}


def test_popularity_is_read_and_written(tmp_path: Path) -> None:
    more = "[{queries: 500, reads: {calls: seconds = 60}}, {queries: 2.5, reads: {calls: all, bills: all}}]"
    run = runs.load(write(tmp_path, f"{SOUND}popularity: {more}\n"))
    assert [(one.queries, dict(one.reads)) for one in run.popularity] == [
        (500.0, {"calls": "seconds = 60"}),
        (2.5, {"calls": "all", "bills": "all"}),
    ]
    again = json.dumps(POPULARITY.write(run.popularity)).replace('"', "")
    assert runs.load(write(tmp_path, f"{SOUND}popularity: {again}\n")).popularity == run.popularity


TREE = """\
cluster:
  tree:
    city: {cpu: 1}
    west: {parent: city, cpu: 0.5, sources: calls}
    east: {parent: city, cpu: 0.5, sources: [bills]}
  marks: {upper: 0.7}
  at: {long: city}
"""


def test_a_tree_of_nodes(tmp_path: Path) -> None:
    run = runs.load(write(tmp_path, SOUND + TREE))
    assert run.cluster is not None
    assert run.cluster.nodes == ("city", "west", "east")
    assert run.cluster.capacity == ((1.0,), (0.5,), (0.5,))
    assert (run.cluster.entries, run.cluster.at) == ({"calls": 1, "bills": 2}, {"long": 0})
    assert (run.cluster.thresholds.lower, run.cluster.thresholds.upper) == (0.4, 0.7)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        pytest.param(
            "parent: city, cpu: 0.5, sources: calls",
            "parent: ctiy, cpu: 0.5, sources: calls",
            "line 9: cluster.tree.west.parent is 'ctiy', .*Did you mean city",
            id="parent",
        ),
        pytest.param("cpu: 1}", "cpus: 1}", "line 8: cluster.tree.city.cpus is unknown, .*mean cpu", id="field"),
        pytest.param("[bills]", "[bils]", "line 10: cluster.tree.east.sources is 'bils', .*mean bills", id="source"),
        pytest.param("sources: calls", "sources: []", "line 7: cluster.tree is without the source calls", id="nowhere"),
        pytest.param("upper: 0.7", "upper: 0.3", "line 11: cluster.marks is inconsistent, but lower", id="marks"),
        pytest.param("{long: city}", "{long: east}", "line 12: cluster.at.long is east, .*Name west or", id="too low"),
        pytest.param("  at:", "  att:", "line 12: cluster.att is unknown, .*Did you mean at", id="section"),
    ],
)
def test_a_fault_in_a_tree(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert old in TREE
    with pytest.raises(FileError, match=f"(?s)fault.*{fault}"):
        runs.load(write(tmp_path, SOUND + TREE.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("added", "fault"),
    [
        pytest.param("nodes: 7", "nodes is 7, but the tree of the cluster has 3", id="another number of nodes"),
        pytest.param("plan: hash", "plan is hash, but on a tree, units start as low", id="a plan"),
        pytest.param("queries: console", "queries is given, but submitted queries", id="queries"),
        pytest.param(
            "control: {mode: auto, payback: 3}", "control.payback is given, but the nodes of a tree", id="control"
        ),
    ],
)
def test_what_goes_not_with_a_tree(tmp_path: Path, added: str, fault: str) -> None:
    with pytest.raises(FileError, match=f"(?s)1 fault.*line 13: {fault}"):
        runs.load(write(tmp_path, f"{SOUND}{TREE}{added}\n"))


def test_a_short_one_is_enough_and_leaves_the_network_alone(tmp_path: Path) -> None:
    run = runs.load(write(tmp_path, SOUND))
    assert (run.nodes, run.plan, run.trigger, run.sinks, run.checkpoint) == (4, "round-robin", None, {}, None)
    assert dumps(run.network) == dumps(load(tmp_path / "net.yaml"))


def test_a_network_file_is_no_run_file(tmp_path: Path) -> None:
    write(tmp_path, SOUND)
    with pytest.raises(FileError, match=r"no run file.*Begin it with `run: 1`"):
        runs.load(tmp_path / "net.yaml")


def test_sources_that_are_read_together(tmp_path: Path) -> None:
    text = SOUND.replace("path: bills}", "path: bills, by: kind, value: bill}").replace(
        "calls: {replay: csv, path: calls.csv}", "calls: {shares: bills, value: call}"
    )
    run = runs.load(write(tmp_path, text))
    assert run.sources["calls"] == Input(shares="bills", value="call")
    assert (run.sources["bills"].by, run.sources["bills"].value) == ("kind", "bill")


CALLS = "  calls: {replay: csv, path: calls.csv}"
BILLS = "  bills: {read: json, path: bills}"
BOTH = f"{CALLS}\n{BILLS}"


def shares(more: str, whom: str = "bills", carrier: str = "") -> str:
    """An entry for `calls` that shares, and one for `bills` that carries several if `carrier` is its value."""
    mine = f"  calls: {{shares: {whom}, {more.strip('{}')}}}"
    return f"{mine}\n  bills: {{read: json, path: bills, by: k, value: {carrier}}}" if carrier else mine


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        pytest.param("run: 1", "run: 2", "line 1: run is '2', but this drover reads version 1", id="version"),
        pytest.param("network: net.yaml\n", "", "network is missing, but a run file needs it", id="no network"),
        pytest.param("net.yaml", "nte.yaml", "line 2: network is 'nte.yaml', but it is unreadable", id="wrong network"),
        pytest.param("network:", "netwrok:", "line 2: netwrok is unknown, .*Did you mean network", id="misspelt"),
        pytest.param(
            BILLS, "", "sources.bills is missing, but every source of the network needs an entry", id="forgotten"
        ),
        pytest.param("  bills:", "  bils:", "line 5: sources.bils is unknown, .*Did you mean bills", id="stranger"),
        pytest.param("replay: csv", "replay: cvs", "line 4: sources.calls.replay is 'cvs', .*mean csv", id="replayed"),
        pytest.param("read: json", "read: jsn", "line 5: sources.bills.read is 'jsn', .*mean json", id="format"),
        pytest.param("replay: csv, ", "", "sources.calls.read is missing, but a source is either", id="no verb"),
        pytest.param("replay: csv", "replay: csv, read: csv", "calls.read is given beside replay", id="two verbs"),
        pytest.param(
            ", path: bills", "", "sources.bills.path is missing, but format json is read from files", id="no path"
        ),
        pytest.param("read: json", "read: rate", "bills.path is 'bills', but format rate has no", id="no place"),
        pytest.param("bills}", "bills, by: k}", "bills.value is missing, but sources .* distinguished", id="no value"),
        pytest.param("bills}", "bills, value: v}", "bills.by is missing, but sources .* distinguished", id="no by"),
        pytest.param(CALLS, shares("value: v"), "no such source with `by`.*Add by and value", id="not shared"),
        pytest.param(
            CALLS, shares("value: v", "bils"), "calls.shares is 'bils', but there is no such", id="shares whom"
        ),
        pytest.param(BOTH, shares("{}", carrier="b"), "calls.value is missing, but a source that", id="shares as what"),
        pytest.param(
            BOTH, shares("value: v, path: x", carrier="b"), "path is given, but the entry of bills", id="two ways"
        ),
        pytest.param(
            BOTH, shares("value: b", carrier="b"), "bills.value is 'b', but calls has the same", id="one for two"
        ),
        pytest.param(
            "json, path: bills", "kafka, columns: {a: int}", "bills.columns is given, but format kafka has", id="kafka"
        ),
        pytest.param(
            "bills}", "bills, speed: 2}", "sources.bills.speed is 2.0, but it is a field of replays only", id="speed"
        ),
        pytest.param("calls.csv}", "calls.csv, speed: 0}", "calls.speed is 0.0, but it must be above", id="no speed"),
        pytest.param("calls.csv}", "calls.csv, batches: 0}", "batches is 0, but it must be at least 1", id="no batch"),
        pytest.param("calls.csv}", "calls.csv, time: tss}", "calls.time is 'tss', .*Did you mean ts", id="time"),
        pytest.param("read: json", "replay: json", "bills.time is missing, but a replay needs", id="no order"),
        pytest.param(
            "bills}", "bills, select: {numbr: a, cents: b}}", "select.numbr is unknown, .*mean number", id="selected"
        ),
        pytest.param("bills}", "bills, select: {cents: b}}", "select.number is missing, but select", id="left out"),
        pytest.param("bills}", "bills, columns: {cents: int}}", "columns.number is missing, but", id="column"),
        pytest.param("bills}", "bills, columns: {number: int, cents: int}}", "columns.number is int, but", id="type"),
        pytest.param("calls.csv}", "calls.csv, sped: 1}", "sources.calls.sped is unknown, .*mean speed", id="field"),
    ],
)
def test_a_fault_in_what_is_read(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert old in SOUND
    with pytest.raises(FileError, match=f"(?s)1 fault.*{fault}"):
        runs.load(write(tmp_path, SOUND.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("added", "fault"),
    [
        pytest.param("sinks: {lnog: console}", "sinks.lnog is unknown, .*Did you mean long", id="no such output"),
        pytest.param("sinks: {long: parkay}", "sinks.long.write is 'parkay', but it must be a kind of", id="kind"),
        pytest.param("sinks: {long: parquet}", "sinks.long.path is missing, but format parquet is", id="no path"),
        pytest.param("sinks: {long: [console, json]}", "sinks.long.1.path is missing", id="second of two"),
        pytest.param("sinks: {long: {write: console, path: x}}", "path is 'x', but console has no path", id="console"),
        pytest.param("sinks: {long: {path: x}}", "sinks.long.write is missing, but a sink needs it", id="no kind"),
        pytest.param(
            "sinks: {long: {write: csv, path: x}, bills: {write: csv, path: x/}}",
            "sinks.bills.path is 'x/', but sinks.long writes to the same folder",
            id="one folder for two",
        ),
        pytest.param(
            "sinks: {long: {write: csv, path: x}, bills: {write: csv, path: y/.././x}}",
            "sinks.bills.path is 'y/.././x', but sinks.long writes to the same folder",
            id="one folder for two, by a detour",
        ),
        pytest.param(
            "sinks: {long: {write: csv, path: 's3a://bucket/long'}}",
            r"sinks.long.path is 's3a://bucket/long', but files of sinks are written to local disks\. Name a",
            id="a folder on another machine",
        ),
        pytest.param(
            "sinks: {long: {write: csv, path: /x}, bills: {write: csv, path: 'file:///x'}}",
            "sinks.bills.path is 'file:///x', but sinks.long writes to the same folder",
            id="one folder for two, once as a URI",
        ),
        pytest.param("queries: csv", "queries.path is missing, but format csv is", id="queries without a folder"),
        pytest.param("limits: 3", "limits is '3', but it must be a mapping of tenants", id="no limits"),
        pytest.param("limits: {a: {querys: 3}}", "limits.a.querys is unknown, .*Did you mean queries", id="limit"),
        pytest.param("refine: 2", "refine is 2.0, but it must be at least 0 and at most 1", id="refine too much"),
        pytest.param(
            "popularity: 3", "popularity is '3', but it must be a list of expected queries", id="no popularity"
        ),
        pytest.param("popularity: [4]", "popularity.0 is 4, but it must be a mapping with queries", id="no entry"),
        pytest.param("popularity: [{queries: 0, reads: {calls: all}}]", "popularity.0.queries is 0, but", id="none"),
        pytest.param(
            "popularity: [{queries: 1, reads: {calls: all}, raeds: 1}]",
            "raeds is unknown.*Did you mean reads",
            id="raeds",
        ),
        pytest.param(
            "popularity: [{queries: 1}]", "popularity.0.reads is None, but it must be a mapping", id="no reads"
        ),
        pytest.param(
            "popularity: [{queries: 1, reads: {clals: all}}]",
            "reads.clals is unknown, .*Did you mean calls",
            id="stream",
        ),
        pytest.param(
            "popularity: [{queries: 1, reads: {calls: secnds = 60}}]",
            "reads.calls is .*Did you mean seconds",
            id="column",
        ),
        pytest.param(
            "popularity: [{queries: 1, reads: {calls: seconds > 60}}]",
            "reads.calls is 'seconds > 60', but it must be one condition column = constant",
            id="a condition that is no key",
        ),
        pytest.param(
            "popularity: [{queries: 1, reads: {calls: seconds = 60 AND seconds > 3}}]",
            "but it must be one condition column = constant",
            id="two conditions",
        ),
        pytest.param("nodes: 0", "nodes is 0, but a run has at least one node", id="no nodes"),
        pytest.param("nodes: many", "nodes is 'many', but it must be a whole number", id="nodes in words"),
        pytest.param("plan: hahs", "plan is 'hahs', .*Did you mean hash", id="plan"),
        pytest.param("trigger: 1 sekund", "trigger is '1 sekund', but 'sekund' is not a unit", id="trigger"),
        pytest.param("control: atuo", "control.mode is 'atuo', .*Did you mean auto", id="mode"),
        pytest.param("control: [auto]", "control is a list of 1, but it must be a mode", id="no mode"),
        pytest.param(
            "control: {window: 1}", "control.window is 1, but it must be a whole number, at least 2", id="few"
        ),
        pytest.param("control: {window: '4'}", "control.window is '4', but it must be a whole number", id="quoted"),
        pytest.param("control: {speed: 1}", "control.speed is unknown, but there is no such setting", id="no setting"),
        pytest.param("control: {pins: {lang: 1}}", "control.pins.lang is unknown.*Did you mean long", id="pin"),
        pytest.param("trigger: 0 s", "trigger is not above 0", id="no trigger"),
    ],
)
def test_a_fault_in_the_rest(tmp_path: Path, added: str, fault: str) -> None:
    with pytest.raises(FileError, match=f"(?s)1 fault.*line 6: .*{fault}"):
        runs.load(write(tmp_path, SOUND + added))


def test_a_faulty_network_is_reported_on_one_line(tmp_path: Path) -> None:
    path = write(tmp_path, SOUND, NETWORK.replace("seconds >", "sceonds >"))
    with pytest.raises(FileError, match=r"it must be a valid network file \(1 fault\). See drover check net.yaml"):
        runs.load(path)


def test_every_fault_is_reported_at_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with DROVER_UPDATE=1 to write the golden files again."""
    monkeypatch.chdir(GOLDEN)
    assert main(["check", "faults.run.yaml"]) == 1
    text = capsys.readouterr().out
    assert agrees("faults.run.check.txt", text)
    assert len(text.splitlines()) > 10


def test_the_shipped_run_is_sound(capsys: pytest.CaptureFixture[str]) -> None:
    examples = Path(__file__).parents[2] / "examples"
    assert main(["check", str(examples / "traffic.run.yaml")]) == 0
    assert "ok: a run of traffic has 2 sources" in capsys.readouterr().out
