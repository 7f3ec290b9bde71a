"""The report on mutation testing; `make mutants` itself takes too long for a test."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from scripts.mutants import (
    ACCEPTED,
    MUTATED,
    ROOT,
    Survivor,
    function_of,
    modules_of,
    select_tests,
    survivor_of,
    unexplained,
)

DIFF = """--- src/drover/control/moves.py
+++ src/drover/control/moves.py
@@ -1,3 +1,3 @@
 def _gain(
-    return before - after
+    return before + after
"""
GAIN = Survivor("drover.control.moves._gain", "return before - after", "return before + after")


def test_a_survivor_is_named_by_its_function_and_its_change() -> None:
    assert survivor_of("drover.control.moves.x__gain__mutmut_12", DIFF) == GAIN


@pytest.mark.parametrize(
    ("name", "function"),
    [
        pytest.param("a.b.x_f__mutmut_1", "a.b.f", id="a function"),
        pytest.param("a.b.x__f__mutmut_1", "a.b._f", id="a private function"),
        pytest.param("a.b.xǁCǁf__mutmut_10", "a.b.C.f", id="a method"),
    ],
)
def test_names_of_functions(name: str, function: str) -> None:
    assert function_of(name) == function


def test_an_explained_survivor_is_accepted_and_another_is_not() -> None:
    row = {"function": GAIN.function, "before": GAIN.before, "after": GAIN.after, "why": "because"}
    assert unexplained([GAIN], [row]) == []
    assert unexplained([GAIN], [row | {"after": "return before * after"}]) == [GAIN]


def test_modules_and_their_tests() -> None:
    assert modules_of(["control/moves"]) == [Path("control/moves.py")]
    assert Path("control/moves.py") in modules_of(["control"])
    assert select_tests([Path("control/moves.py")], {}) == ["tests/control/test_moves.py"]
    with pytest.raises(SystemExit, match="there is no module 'contrl'"):
        modules_of(["contrl"])
    with pytest.raises(SystemExit, match=r"no test file for control/nothing\.py"):
        select_tests([Path("control/nothing.py")], {})


def test_every_explanation_is_complete_and_still_has_its_code() -> None:
    table = tomllib.loads(ACCEPTED.read_text(encoding="utf-8"))
    for row in table["accepted"]:
        assert row["why"]
        module = next(
            path
            for path in [ROOT / "src" / Path(*row["function"].split(".")[:k]) for k in range(2, 6)]
            if path.with_suffix(".py").is_file()
        )
        # A change of several lines is one text in the table.
        lines = module.with_suffix(".py").read_text(encoding="utf-8").splitlines()
        assert row["before"] in " ".join(line.strip() for line in lines)
    for module, files in table["tests"].items():
        assert modules_of([module])
        assert all((ROOT / file).is_file() for file in files)
    assert select_tests(modules_of(MUTATED[:1]), table["tests"])
