from __future__ import annotations

import json
from pathlib import Path

import pytest

from drover.cli import main
from drover.placement.policy import POLICIES
from tests.cli.golden import agrees

EXAMPLES = Path(__file__).parents[2] / "examples"
TRAFFIC = str(EXAMPLES / "traffic.yaml")
STATISTICS = """\
statistics: 1
series: {east: [2000, 500, 2000, 500], west: [500, 2000, 500, 2000]}
operators:
  counts: {cost: 5e-6, selectivity: 0.1}
  sizes: {cost: 5e-6, selectivity: 0.1}
"""


def answer(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, object]:
    assert main(["plan", *options, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("example", ["meters", "trades", "traffic"])
def test_the_examples(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run with DROVER_UPDATE=1 to write the golden files again."""
    assert main(["plan", str(EXAMPLES / f"{example}.yaml"), "--nodes", "3", "--policy", "resilient"]) == 0
    assert agrees(f"{example}.plan.txt", capsys.readouterr().out)


def test_moves_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", TRAFFIC, "--nodes", "2", "--from", "hash", "--policy", "largest-first"]) == 0
    assert agrees("traffic.moves.txt", capsys.readouterr().out)


def test_the_data_is_a_plan_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = answer(capsys, TRAFFIC, "--nodes", "3")
    (tmp_path / "p.json").write_text(json.dumps(first), encoding="utf-8")
    second = answer(capsys, TRAFFIC, "--from", str(tmp_path / "p.json"))
    assert (second["node_of"], second["moves"]) == (first["node_of"], [])
    assert (second["accepted"], second["reason"]) == (False, "it changes nothing")
    assert main(["headroom", TRAFFIC, "--plan", str(tmp_path / "p.json")]) == 0


def test_the_plan_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "p.json")
    assert main(["plan", TRAFFIC, "--out", out, "--policy", "hash"]) == 0
    assert capsys.readouterr().err == f"written to {out}\n"
    assert main(["headroom", TRAFFIC, "--plan", out]) == 0


def test_a_tree_of_nodes_is_ignored_with_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = "{east: {read: parquet, path: east}, west: {read: parquet, path: west}}"
    tree = "{tree: {only: {memory: 1e6, sources: [east, west]}}}"
    run = tmp_path / "t.run.yaml"
    run.write_text(f"run: 1\nnetwork: {TRAFFIC}\nsources: {sources}\ncluster: {tree}\n", encoding="utf-8")
    assert main(["plan", str(run), "--nodes", "2", "--policy", "hash"]) == 0
    assert "has a cluster, which is ignored here" in capsys.readouterr().err


def test_rules_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    rules = ("--pin", "counts=2", "--apart", "busy,small,sizes", "--together", "requests,suspects")
    node_of = answer(capsys, TRAFFIC, "--nodes", "3", *rules)["node_of"]
    assert isinstance(node_of, dict)
    assert node_of["counts"] == 2
    assert len({node_of[unit] for unit in ("busy", "small", "sizes")}) == 3
    assert node_of["requests"] == node_of["suspects"]


def test_series_make_deviations_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.yaml").write_text(STATISTICS, encoding="utf-8")
    found = answer(capsys, TRAFFIC, "--nodes", "2", "--statistics", str(tmp_path / "s.yaml"), "--policy", "steady")
    after = found["after"]
    assert isinstance(after, dict)
    assert found["known"]["rates"] == {"given": 2}  # type: ignore[index]  # JSON
    assert after["imbalance"] < 0.5


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(["--policy", "resilent"], "Did you mean resilient?", id="an unknown policy"),
        pytest.param(["--policy", "correlation"], "series is empty", id="a policy without its statistics"),
        pytest.param(
            ["--pin", "count=0"], "'count' is not a unit of the network. Did you mean counts?", id="a wrong pin"
        ),
        pytest.param(["--pin", "counts=9"], "the nodes are 0 to 3", id="a pin to nowhere"),
        pytest.param(
            ["--apart", "busy,small,sizes", "--nodes", "2"], "no plan for 2 nodes", id="rules nobody can keep"
        ),
        pytest.param(["--from", "roundrobin"], "Did you mean round-robin?", id="an unknown plan"),
    ],
)
def test_bad_input_is_reported_without_a_traceback(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", TRAFFIC, *options]) in {1, 2}
    out, err = capsys.readouterr()
    assert out == ""
    assert says in " ".join(err.split())
    assert "Traceback" not in err


def test_policies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--policies"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(POLICIES)
