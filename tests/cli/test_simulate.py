from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drover.cli import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "simulate.md"
BLOCK = re.compile(r"^```console\n\$ drover (simulate [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TRAFFIC = str(ROOT / "examples" / "traffic.yaml")
EXAMPLES = {"meters": ("readings", "3"), "trades": ("quotes", "3"), "traffic": ("east", "4")}
PLAN = '{"nodes": 2, "node_of": {"requests": 0, "counts": 0, "sizes": 1, "busy": 0, "small": 1, "suspects": 1}}'


def question(example: str) -> list[str]:
    """A doubled source and a killed node."""
    source, nodes = EXAMPLES[example]
    known = ["--statistics", str(ROOT / "examples" / f"{example}.statistics.yaml"), "--nodes", nodes]
    return [str(ROOT / "examples" / f"{example}.yaml"), *known, "--scale", f"{source}=2@20", "--kill", "1@40"]


def answer(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["simulate", *options, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
def test_the_page_shows_what_the_examples_give(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run with DROVER_UPDATE=1 to write the page again, and read the difference before you commit it."""
    monkeypatch.chdir(ROOT)

    def run(block: re.Match[str]) -> str:
        assert main(shlex.split(block[1])) == 0
        return f"```console\n$ drover {block[1]}\n{capsys.readouterr().out}```"

    text = PAGE.read_text(encoding="utf-8")
    found = BLOCK.sub(run, text)
    assert all(f"simulate examples/{example}.yaml" in found for example in EXAMPLES)
    if os.environ.get("DROVER_UPDATE"):
        PAGE.write_text(found, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == found


@pytest.mark.parametrize("example", EXAMPLES)
def test_data_of_the_examples(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, *question(example), "--compare", "stay,cor-bal")
    source = EXAMPLES[example][0]
    assert found["network"] == example
    assert found["events"] == [{"event": "kill", "node": 1, "at": 40.0}]
    assert found["changes"] == [f"{source} is 2 times as fast from 20 s on", "node 1 is killed at 40 s"]
    assert [each["variant"] for each in found["variants"]] == ["stay", "cor-bal"]
    for each in found["variants"]:
        assert 0 < each["latency_mean"] <= each["latency_p99"] * 65 / 64 <= each["latency_max"] * 65 / 64
        assert 1 not in each["node_of"].values()
        assert all(0 <= share <= 1 for share in each["utilisation"])
        assert sum(output["tuples"] for output in each["outputs"]) == each["tuples_out"] > 0
    stay, loop = found["variants"]
    assert stay["tuples_in"] == loop["tuples_in"]  # the same arrivals
    assert found["answer"].startswith("With stay, ")


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize(("suffix", "begin"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_figures_of_the_examples(
    example: str, suffix: str, begin: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"figure{suffix}"
    assert main(["simulate", *question(example), "--compare", "stay,cor-bal", "--plot", str(path)]) == 0
    assert capsys.readouterr().err == f"drawing written to {path}\n"
    assert path.read_bytes().startswith(begin)
    if suffix == ".svg":
        text = path.read_text(encoding="utf-8")
        shown = ("stay", "cor-bal", "node 0", "utilisation", "kill 1", f"{EXAMPLES[example][0]} x 2")
        assert all(f"{word}<" in text for word in shown)


@pytest.mark.parametrize("example", EXAMPLES)
def test_rates_alone(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = [*question(example), "--compare", "stay,cor-bal"]
    found = answer(capsys, *options, "--mode", "fluid")
    exact = answer(capsys, *options)
    for fluid, event in zip(found["variants"], exact["variants"], strict=True):
        assert fluid["tuples_in"] == pytest.approx(event["tuples_in"], rel=0.01)
        assert fluid["utilisation"] == pytest.approx(event["utilisation"], abs=0.1)
        assert all(fluid[name] is not None for name in ("latency_mean", "latency_p99", "queued", "moved_load"))


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_equal_questions_have_equal_figures(suffix: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}{suffix}" for name in ("one", "other")]
    for path in paths:
        assert main(["simulate", TRAFFIC, "--seconds", "5", "--plot", str(path)]) == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_figure_without_results_and_with_many_nodes(tmp_path: Path) -> None:
    path = str(tmp_path / "none.svg")
    still = ["-r", "east=0", "-r", "west=0", "--seconds", "5", "--nodes", "12"]
    assert main(["simulate", TRAFFIC, *still, "--plot", path]) == 0


def test_a_factor_counts_from_its_time_on(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, TRAFFIC, "--seconds", "20", "--scale", "east=3@10", "--scale", "east=0.5", "-r", "west=10")
    assert found["rates"] == pytest.approx({"east": (500 + 1500) / 2, "west": 10})
    assert found["variants"][0]["seconds"] == 15  # a quarter is warm-up


def test_a_trace_in_place_of_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("time,east,west\n0,100,0\n4,300,50\n", encoding="utf-8")
    found = answer(capsys, TRAFFIC, "--trace", str(tmp_path / "t.csv"), "-r", "west=7")
    assert (found["seconds"], found["rates"]) == (8.0, {"east": 200.0, "west": 7.0})
    assert found["known"]["rates"] == {"given": 2}
    longer = answer(capsys, TRAFFIC, "--trace", str(tmp_path / "t.csv"), "--seconds", "12")
    assert longer["rates"] == pytest.approx({"east": 500 / 3, "west": 50 / 3})  # it begins again


def test_series_of_statistics_in_place_of_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "statistics: 1\nrates: {east: 10}\nseries: {east: [100, 300, 200]}\n"
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    found = answer(capsys, TRAFFIC, "--statistics", str(tmp_path / "s.yaml"), "--step", "2", "--seconds", "4")
    assert found["rates"]["east"] == pytest.approx(200)


def test_nodes_are_added_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    change = ["--add", "4@10", "--drain", "0@12", "--kill", "3@14", "--capacity", "4=2"]
    found = answer(capsys, TRAFFIC, *change, "--seconds", "30", "--policy", "largest-first", "--period", "3")
    assert [(each["event"], each["node"]) for each in found["events"]] == [("add", 4), ("drain", 0), ("kill", 3)]
    (only,) = found["variants"]
    assert set(only["node_of"].values()) <= {1, 2, 4}
    assert 4 in only["node_of"].values()
    assert len(only["utilisation"]) == 5


def test_a_plan_from_a_file_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.json").write_text(PLAN, encoding="utf-8")
    found = answer(capsys, TRAFFIC, "--plan", str(tmp_path / "p.json"), "--seconds", "5")
    assert found["variants"][0]["node_of"] == found["plan"] == json.loads(PLAN)["node_of"]


def test_a_policy_that_plans_once(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, TRAFFIC, "--compare", "stay,once:largest-first", "--seconds", "20", "--warmup", "6")
    assert {move["time"] for move in found["variants"][1]["moved"]} == {6.0}


def test_moves_take_the_given_time(capsys: pytest.CaptureFixture[str]) -> None:
    cost = ["--migration", "0.5", "--migration", "per_byte=1e-6", "--state", "counts=1e6"]
    found = answer(capsys, TRAFFIC, "--drain", "1@5", "--seconds", "10", *cost)
    moved = {move["unit"]: move for move in found["variants"][0]["moved"]}
    assert moved["counts"]["suspended"] == pytest.approx(1.5, abs=1e-3)
    assert moved["counts"]["bytes"] == 1e6


def test_lost_or_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    full = ["-r", "east=4000", "-r", "west=4000", "--capacity", "0.004", "--kill", "0@5", "--seconds", "10"]
    lost = answer(capsys, TRAFFIC, *full)
    kept = answer(capsys, TRAFFIC, *full, "--replay")
    assert lost["variants"][0]["tuples_lost"] > 1000
    assert kept["variants"][0]["tuples_lost"] == 0


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_tables_are_written(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a" / "b"
    variants = ["--compare", "stay,once:hash", "--seconds", "5"]
    assert main(["simulate", TRAFFIC, *variants, "--out", str(folder), "--format", form]) == 0
    assert capsys.readouterr().err == f"written to {folder}\n"
    read: dict[str, Callable[[Path], pl.DataFrame]]
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "json": pl.read_json}
    assert read[form](folder / f"variants.{form}")["variant"].to_list() == ["stay", "once:hash"]
    assert len(read[form](folder / "once-hash" / f"nodes.{form}")) == 5 * 4


def test_equal_seeds_give_equal_output_and_others_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    options = [TRAFFIC, "--seconds", "5", "--policy", "cor-bal", "--schedule", "round-robin", "--delay", "0.01"]
    first, again, other = (answer(capsys, *options, "--seed", seed) for seed in ("3", "3", "4"))
    assert first == again
    assert first["variants"] != other["variants"]


def test_long_runs_are_announced(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("drover.cli.whatif.scenario.LONG", 1.0)
    assert main(["simulate", TRAFFIC, "--seconds", "2"]) == 0
    assert "in each variant; --mode fluid is faster\nsimulating stay, 1 of 1 ...\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(["-r", "est=5"], "'est' is not a source of the network. Did you mean west?", id="a source"),
        pytest.param(
            ["--scale", "est=2"], "'est' is not a source of the network. Did you mean west?", id="a scaled one"
        ),
        pytest.param(
            ["--scale", "east"], "'east' is not of the form SOURCE=FACTOR[@SECONDS]. Write for", id="no factor"
        ),
        pytest.param(["--scale", "east=x"], "'x' is not a number", id="a word for a factor"),
        pytest.param(["--scale", "east=-1"], "'east=-1' must be finite and at least 0", id="a negative factor"),
        pytest.param(["--scale", "east=2@"], "'' is not a number", id="no time"),
        pytest.param(["--scale", "east=1e9"], "but mode event simulates at most 2e+07", id="too many tuples"),
        pytest.param(
            ["--kill", "1"], "'1' is not of the form NODE@SECONDS. Write for example 2@30", id="no time of a loss"
        ),
        pytest.param(["--kill", "x@1"], "'x@1' is not of the form NODE@SECONDS", id="a word for a node"),
        pytest.param(["--kill", "7@5"], "names node 7, but the nodes at that time are 0, 1, 2, 3", id="no such node"),
        pytest.param(["--kill", "1@5", "--drain", "1@6"], "the nodes at that time are 0, 2, 3", id="gone already"),
        pytest.param(["--kill", "1@60"], "'1@60' is after the end of the run at 60 s. Raise --seconds", id="too late"),
        pytest.param(["--kill", "1@0.5"], "before the first sample at 1 s", id="too early"),
        pytest.param(["--kill", "0@5", "--nodes", "1"], "removes the last node. Keep one", id="the last node"),
        pytest.param(["--add", "7@5"], "adds node 7, but the next free number is 4. Write 4@5", id="a number too far"),
        pytest.param(["--capacity", "4=1"], "'4=1' names no node: the nodes are 0 to 3", id="a capacity for nobody"),
        pytest.param(["--capacity", "2=1e-20"], "the capacity of node 2 is 1e-20, but must be from", id="no capacity"),
        pytest.param(["--nodes", "999", "--seconds", "9999"], "need more than 5e+06 figures. Lower", id="too much"),
        pytest.param(["--period", "0.01"], "0.01 is not in the range", id="decisions all the time"),
        pytest.param(["--policy", "corelation"], "is not a policy. Did you mean correlation?", id="a policy"),
        pytest.param(["--compare", "stay,sty"], "'sty' is not a policy. Did you mean stay?", id="a variant"),
        pytest.param(["--compare", "stay,stay"], "--compare has 'stay' twice", id="one variant twice"),
        pytest.param(["--compare", "a", "--policy", "hash"], "Write --compare stay,hash", id="two ways to say it"),
        pytest.param(["--migration", "per_bite=1"], "names no part of a move. Did you mean per_byte?", id="a part"),
        pytest.param(
            ["--state", "counts"],
            "'counts' is not of the form UNIT=BYTES. Write for example requests=1e6",
            id="no bytes",
        ),
        pytest.param(["--state", "count=1"], "'count' is not a unit of the network. Did you mean counts?", id="a unit"),
        pytest.param(["--seconds", "nan"], "nan is not finite", id="no length"),
        pytest.param(["--seconds", "0"], "0.0 is not in the range", id="no time at all"),
        pytest.param(
            ["--warmup", "60"], "--warmup is 60 s, but the run lasts 60 s. Lower it", id="nothing but warm-up"
        ),
        pytest.param(["--plan", "round_robin"], "Did you mean round-robin?", id="a plan"),
        pytest.param(["--statistics", TRAFFIC], "file is no statistics file", id="another file for statistics"),
        pytest.param(["--trace", "nowhere.csv"], "the trace 'nowhere.csv' is not a file", id="no trace"),
        pytest.param(["--mode", "events"], "'events' is not one of", id="a mode"),
        pytest.param(["--plot", "a.gif"], "a figure is a .png or a .svg file", id="a figure of another kind"),
        pytest.param(["--plot", "no/where.png"], "there is no such folder", id="a figure nowhere"),
    ],
)
def test_bad_input_is_reported(options: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", TRAFFIC, *options]) in {1, 2}
    out, err = capsys.readouterr()
    assert out == ""
    assert says in " ".join(err.split())
    assert "Traceback" not in err


def test_nothing_to_simulate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "drover: 1\nname: idle\nsources: {a: {columns: {x: int}}}\noutputs: a\n"
    (tmp_path / "n.yaml").write_text(text, encoding="utf-8")
    assert main(["simulate", str(tmp_path / "n.yaml")]) == 1
    assert (
        capsys.readouterr().err == "drover: network idle has no operators, so there is nothing to simulate. Add one.\n"
    )


def test_rates_that_change_too_often(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("time,east\n0,1\n1e-9,2\n", encoding="utf-8")
    assert main(["simulate", TRAFFIC, "--trace", str(tmp_path / "t.csv"), "--seconds", "9"]) == 2
    assert "the rate of east changes more than 1e+07 times in 9 s" in capsys.readouterr().err


def test_a_trace_that_is_too_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("time,east\n0,1\n1e9,2\n", encoding="utf-8")
    assert main(["simulate", TRAFFIC, "--trace", str(tmp_path / "t.csv")]) == 2
    assert "the trace is 2e+09 s long, more than 200000. Set --seconds" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("option", [["--out"], ["--plot"]])
def test_a_file_that_cannot_be_written_is_reported(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken.png"
    taken.mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    target = str(tmp_path / "file" / "x") if option == ["--out"] else str(taken)
    assert main(["simulate", TRAFFIC, "--seconds", "2", *option, target]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "must be writable" in err
