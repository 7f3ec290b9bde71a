"""What a changed network would do to a checkpoint, on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import drover
from drover.cli import main
from drover.flow.state.storage import open_root
from drover.network.files.network_file import dump
from drover.network.model import Network
from drover.spark.changes import note_network
from tests.cli.checkpoints import small_checkpoint

COLUMNS = {"ts": "timestamp", "k": "bigint"}


def network(size: str = "5 s", where: str = "k > 0", *, sources: str = "a") -> Network:
    net = drover.Builder("n")
    first, *others = (net.source(name, COLUMNS, time="ts") for name in sources)
    sums = first.filter("some", where).aggregate("sums", {"n": "count(*)"}, size=size)
    sums.output()
    sums.aggregate("day", {"n": "sum(n)"}, size="1 h").output()
    for other in others:
        other.output()
    return net.build()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return small_checkpoint(tmp_path / "checkpoint", network(), ("sums", "day"))


def written(tmp_path: Path, given: Network) -> str:
    path = tmp_path / "network.yaml"
    dump(given, path)
    return str(path)


def test_changes_that_need_no_consent_are_told_and_the_exit_code_is_0(
    tmp_path: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, network(where="k > 2"))
    assert main(["check", file, "--against", str(checkpoint)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{file}: ok: n has 1 source, 3 operators and 2 outputs",
        f"{file} against {checkpoint}, after batch 0:",
        "  operators.some: changed: where is 'k > 2', was 'k > 0'",
        "  operators.sums: mixes: keeps its state; rows from now on follow the new form of some",
        "  operators.day: mixes: keeps its state; rows from now on follow the new form of some",
        "  unchanged: 1 source, 2 outputs",
        "A run continues from there.",
    ]


def test_lost_state_is_reported_with_the_command_and_the_exit_code_is_3(
    tmp_path: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, network(size="6 s"))
    assert main(["check", file, "--against", str(checkpoint)]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "  operators.sums: starts anew: size is '6 s', was '5 s' [needs --allow-changes]"
    assert lines[3].endswith("sums before it starts anew, so results miss rows [needs --allow-changes]")
    assert lines[-2] == "To continue with these changes: drover run FILE --allow-changes sums,day"


def test_json_has_every_part(tmp_path: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, network(size="6 s", sources="ab"))
    assert main(["check", "--json", file, "--against", str(checkpoint)]) == 3
    found = json.loads(capsys.readouterr().out)["files"][0]["against"]
    assert (found["batch"], found["continues"], found["begun"], found["queries"]) == (0, False, None, {})
    assert found["allow_changes"] == ["sums", "day"]
    fates = {(part["section"], part["name"]): part["fate"] for part in found["parts"]}
    assert fates["sources", "b"] == "refused"
    assert fates["operators", "sums"] == "starts anew"
    assert fates["operators", "some"] == "unchanged"


def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", written(tmp_path, network()), "--against", str(tmp_path / "nothing")]) == 1
    assert "is not the checkpoint of a run" in capsys.readouterr().err
    assert not (tmp_path / "nothing").exists()


def test_a_faulty_file_is_not_compared(tmp_path: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "faulty.yaml"
    file.write_text("drover: 1\n")
    assert main(["check", str(file), "--against", str(checkpoint)]) == 1
    assert "against" not in capsys.readouterr().out


def test_a_checkpoint_without_batches_takes_any_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    note_network(*open_root(str(tmp_path / "checkpoint")), network())
    file = written(tmp_path, network(size="6 s"))
    assert main(["check", file, "--against", str(tmp_path / "checkpoint")]) == 0
    assert "nothing is committed there yet" in capsys.readouterr().out


def test_the_answer_needs_no_spark(tmp_path: Path, checkpoint: Path) -> None:
    file = written(tmp_path, network(size="6 s"))
    code = (
        "import sys; from drover.cli import main; "
        f"main(['check', {file!r}, '--against', {str(checkpoint)!r}]); "
        "sys.exit(any(name.partition('.')[0] in ('pyspark', 'py4j', 'numba') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0
