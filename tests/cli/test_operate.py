from __future__ import annotations

import json
from typing import Any

import pytest

from drover.cli import main
from drover.cli import operate as module

ON_ONE_NODE = "j is spread 1 x 1 from the next batch on, in plan 4: 1 instance on node 2"
MOVE = {"unit": "c", "source": 1, "target": 0, "bytes": 3000.0}


@pytest.mark.parametrize(
    ("words", "asked", "answer", "said"),
    [
        pytest.param(
            ["apply", "p3"],
            ("apply", {"id": "p3"}),
            {"applied": "p3", "plan": 2, "record": {"proposal": {"moves": [MOVE]}}},
            [
                "p3 is applied as plan 2: 1 unit moved, from the next batch on",
                "c: node 1 -> node 0, 3,000 bytes",
            ],
            id="apply to a running network",
        ),
        pytest.param(
            ["apply", "p3"],
            ("apply", {"id": "p3"}),
            {"approved": "p3", "proposal": {"moves": [MOVE, MOVE]}},
            [
                "p3 is approved: 2 units will move when the run starts",
                "c: node 1 -> node 0, 3,000 bytes",
                "c: node 1 -> node 0, 3,000 bytes",
            ],
            id="apply to a stopped run",
        ),
        pytest.param(
            ["drain", "1"],
            ("drain", {"node": 1, "empty": True}),
            {"node": 1, "empty": True, "units": ["a", "b"], "running": False, "mode": "propose"},
            [
                "2 units will leave node 1: a, b",
                "the run is stopped; they move when it starts again",
                "in mode propose they move when you apply the proposal: drover plan --from here",
            ],
            id="drain a node of a stopped run",
        ),
        pytest.param(
            ["drain", "1"],
            ("drain", {"node": 1, "empty": True}),
            {"node": 1, "empty": True, "units": [], "running": True, "mode": "auto"},
            ["node 1 is empty and stays empty"],
            id="drain an empty node",
        ),
        pytest.param(
            ["drain", "1", "--undo"],
            ("drain", {"node": 1, "empty": False}),
            {"node": 1, "empty": False, "units": [], "running": True, "mode": "auto"},
            ["node 1 may be used again"],
            id="use a node again",
        ),
        pytest.param(
            ["mode", "auto"],
            ("mode", {"mode": "auto"}),
            {"mode": "auto", "before": "observe"},
            ["mode auto, from the next period on; it was observe"],
            id="mode",
        ),
        pytest.param(
            ["move", "c", "0"],
            ("move", {"unit": "c", "node": 0}),
            {"unit": "c", "node": 0, "plan": 2},
            ["c is on node 0 from the next batch on, in plan 2"],
            id="move a unit",
        ),
        pytest.param(
            ["move", "q", "0"],
            ("move", {"unit": "q", "node": 0}),
            {"query": "q", "node": 0},
            ["query q is on node 0 from the next batch on"],
            id="move a query",
        ),
        pytest.param(
            ["resume", "scored"],
            ("resume", {"operator": "scored"}),
            {"operator": "scored", "holds": True, "rows": 7, "running": True},
            ["scored runs again with the next batch: it works off 7 rows that it holds"],
            id="resume an operator that holds rows",
        ),
        pytest.param(
            ["resume", "scored"],
            ("resume", {"operator": "scored"}),
            {"operator": "scored", "holds": False, "rows": 0, "running": False},
            ["scored runs again when the run starts"],
            id="resume an operator of a stopped run",
        ),
        pytest.param(
            ["spread", "j", "2", "x", "3"],
            ("spread", {"join": "j", "spread": "2 x 3"}),
            {"join": "j", "grid": [2, 3], "nodes": [1, 0, 1], "plan": 4, "spread": [2, 3]},
            ["j is spread 2 x 3 from the next batch on, in plan 4: 6 instances on nodes 0, 1"],
            id="spread over a grid",
        ),
        pytest.param(
            ["spread", "j", "auto"],
            ("spread", {"join": "j", "spread": "auto"}),
            {"join": "j", "grid": [1, 1], "nodes": [2], "plan": 4, "spread": "auto"},
            [f"{ON_ONE_NODE}; the control loop decides on its shape"],
            id="leave it to the loop",
        ),
    ],
)
def test_commands(
    words: list[str],
    asked: tuple[str, dict[str, Any]],
    answer: dict[str, Any],
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls = []

    def ask(checkpoint: str, what: str, **fields: object) -> object:
        calls.append((checkpoint, what, fields))
        return answer

    monkeypatch.setattr(module, "ask", ask)
    assert main([*words, "--from", "here"]) == 0
    assert calls == [("here", *asked)]
    assert capsys.readouterr().out.splitlines() == said
    assert main([*words, "--from", "here", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == answer
