from __future__ import annotations

import json
from pathlib import Path

import pytest

from drover.cli import main
from tests.cli.golden import agrees

EXAMPLES = Path(__file__).parents[2] / "examples"
TRAFFIC = str(EXAMPLES / "traffic.yaml")
STATISTICS = """\
statistics: 1
rates: {east: 2000, west: 1000}
operators:
  counts: {cost: 5e-6, selectivity: 0.1}
  sizes: {cost: 5e-6, selectivity: 0.1}
  busy: {cost: 1e-6, selectivity: 0.01, varies: true}
  suspects: {cost: 4e-6, selectivity: 0.25}
"""
PLAN = '{"nodes": 2, "node_of": {"requests": 0, "counts": 0, "sizes": 1, "busy": 0, "small": 1, "suspects": 1}}'


@pytest.mark.parametrize("example", ["meters", "trades", "traffic"])
@pytest.mark.parametrize(("options", "suffix"), [([], "txt"), (["--json"], "json")])
def test_the_examples(example: str, options: list[str], suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run with DROVER_UPDATE=1 to write the golden files again."""
    assert main(["headroom", str(EXAMPLES / f"{example}.yaml"), *options]) == 0
    found = capsys.readouterr().out
    if suffix == "json":
        assert json.loads(found)["network"] == example
        return  # the last digits of numbers are not the same on every machine
    assert agrees(f"{example}.headroom.txt", found)


def answer(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, object]:
    assert main(["headroom", *options, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_statistics_and_a_plan_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.yaml").write_text(STATISTICS, encoding="utf-8")
    (tmp_path / "p.json").write_text(PLAN, encoding="utf-8")
    found = answer(capsys, TRAFFIC, "--statistics", str(tmp_path / "s.yaml"), "--plan", str(tmp_path / "p.json"))
    nodes = found["nodes"]
    assert isinstance(nodes, list)
    # requests 3000 x 1 us, counts 3000 x 5 us, busy 300 x 1 us; sizes, small, suspects (3 + 300) x 4 us
    assert [node["load"] for node in nodes] == pytest.approx([0.0183, 0.015 + 0.0003 + 303 * 4e-6])
    assert found["first_node"] == 1  # the lighter one, but the join is there, and grows with the product of its rates
    assert found["known"] == {
        "rates": {"given": 2},
        "costs": {"given": 4, "assumed": 2},
        "selectivities": {"given": 4, "assumed": 2},
    }


def test_rates_on_the_command_line_win_and_joins_follow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.yaml").write_text(STATISTICS, encoding="utf-8")
    options = (TRAFFIC, "--statistics", str(tmp_path / "s.yaml"), "--nodes", "6")
    before = answer(capsys, *options)
    after = answer(capsys, *options, "-r", "east=4000", "-r", "west=2000")
    loads = [[node["load"] for node in found["nodes"]] for found in (before, after)]  # type: ignore[attr-defined] # JSON
    assert loads[1][1] == pytest.approx(2 * loads[0][1])
    assert loads[1][5] == pytest.approx(4 * loads[0][5])  # suspects: twice the rows on both sides


def test_capacities_of_all_nodes_and_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, TRAFFIC, "--capacity", "1=0.25", "--capacity", "0.5", "--nodes", "3")
    nodes = found["nodes"]
    assert isinstance(nodes, list)
    assert [node["capacity"] for node in nodes] == [0.5, 0.25, 0.5]


def test_a_node_that_is_overloaded_already(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["headroom", TRAFFIC, "--capacity", "0=0.001"]) == 0
    assert "node 0 is overloaded; all rates must shrink to 0.25 of what they are" in capsys.readouterr().out
    assert main(["headroom", TRAFFIC, "--capacity", "0.003"]) == 0
    assert "nodes 0, 1 are overloaded; all rates must shrink to" in capsys.readouterr().out


def test_without_rates_there_is_no_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["headroom", TRAFFIC, "-r", "east=0", "-r", "west=0"]) == 0
    assert "nothing limits the rates" in capsys.readouterr().out
    assert answer(capsys, TRAFFIC, "-r", "east=0", "-r", "west=0")["factor"] is None


def test_a_run_file_stands_for_its_network(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, str(EXAMPLES / "traffic.run.yaml")) == answer(capsys, TRAFFIC)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        pytest.param(["-r", "est=5"], 2, "'est' is not a source of the network. Did you mean west?", id="a source"),
        pytest.param(
            ["-r", "east"], 2, "'east' is not of the form SOURCE=RATE. Write for example east=1000.", id="no rate"
        ),
        pytest.param(["-r", "east=x"], 2, "'x' is not a number", id="no number"),
        pytest.param(["-r", "east=nan"], 2, "'east=nan' must be finite and at least 0", id="not a number"),
        pytest.param(["-r", "east=-1"], 2, "'east=-1' must be finite and at least 0", id="a negative rate"),
        pytest.param(["--capacity", "0"], 2, "'0' must be finite and above 0", id="no capacity"),
        pytest.param(["--capacity", "4=1"], 2, "'4=1' names no node: the nodes are 0 to 3", id="no such node"),
        pytest.param(["--capacity", "-1=1"], 2, "names no node", id="a negative node"),
        pytest.param(["--plan", "round_robin"], 1, "Did you mean round-robin?", id="a plan that is nearly known"),
        pytest.param(["--plan", "nowhere.json"], 1, "No such file", id="a plan that is not there"),
        pytest.param(["--plan", TRAFFIC], 1, "file is no plan", id="another file for a plan"),
        pytest.param(["--statistics", TRAFFIC], 1, "file is no statistics file", id="another file for statistics"),
        pytest.param(["--nodes", "0"], 2, "0 is not in the range", id="no nodes"),
    ],
)
def test_bad_input_is_reported(options: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["headroom", TRAFFIC, *options]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param('{"node_of": {"requests": 0, "count": 0}}', "node_of.count is unknown", id="a unit"),
        pytest.param(
            '{"node_of": {"requests": 0}}', "every unit needs a node, and counts has none", id="a unit missing"
        ),
        pytest.param('{"node_of": [1]}', "node_of is a mapping", id="a list"),
        pytest.param(PLAN.replace('"sizes": 1', '"sizes": x'), "must be a whole number", id="a word for a node"),
        pytest.param(PLAN.replace('"sizes": 1', '"sizes": 7'), "the nodes are 0 to 1", id="a node too far"),
        pytest.param("{", "not YAML here", id="no notation"),
    ],
)
def test_faults_of_a_plan_file(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text, encoding="utf-8")
    assert main(["headroom", TRAFFIC, "--plan", str(path)]) == 1
    assert said in capsys.readouterr().err


def test_nodes_must_be_those_of_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.json").write_text(PLAN, encoding="utf-8")
    assert main(["headroom", TRAFFIC, "--plan", str(tmp_path / "p.json"), "--nodes", "3"]) == 1
    assert "the plan is for 2 nodes, but --nodes says 3" in capsys.readouterr().err
