from __future__ import annotations

import pytest

from drover.cli import main
from drover.cli import run_headroom as module

GROWTH = {"factor": 3.2, "low": 3.0, "high": 3.4, "first": "node 2", "then": "", "text": "3.2 times of these rates"}
ROOM = {
    "trigger": 1.0,
    "seconds": 0.41,
    "text": "a batch takes as long as the trigger at 3.2 times of these rates",
    "all": GROWTH,
    "sources": {"east": GROWTH},
    "proposed": GROWTH,
}


@pytest.mark.parametrize(
    ("room", "said"),
    [
        pytest.param(
            ROOM,
            [
                "n: a batch takes as long as the trigger at 3.2 times of these rates",
                "now a batch takes 0.41 s at a trigger of 1 s, by the model",
                "east alone: 3.2 times of these rates",
                "with the proposed plan: 3.2 times of these rates",
            ],
            id="with a model",
        ),
        pytest.param(
            None,
            ["n: no batch was measured, or the cores are unknown. Let it run for some batches."],
            id="without one",
        ),
    ],
)
def test_the_run_answers(
    room: object, said: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "ask", lambda _checkpoint, _what: {"network": "n", "headroom": room})
    assert main(["headroom", "--from", "here"]) == 0
    assert capsys.readouterr().out.splitlines() == said


def test_a_network_or_a_run_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["headroom"]) == 2
    assert "give --from CHECKPOINT instead" in capsys.readouterr().err
