"""A reader finds the tests of a module by its name: src/drover/a/b.py is tested in tests/a/test_b.py.

Rule 1: a module without functions needs no test file; it has nothing that could go wrong by itself.
Rule 2: COVERED_ELSEWHERE lists every other exception, the file that tests the module instead, and why.
Rule 3: an exception that is no longer one must be removed, and so must one whose test file is gone.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = {"drover": ROOT / "tests", "drover_lab": ROOT / "tests" / "drover_lab"}

# module -> (test file, why it is tested there)
COVERED_ELSEWHERE: Final[Mapping[str, tuple[str, str]]] = {
    # agents
    # cli
    "drover/cli/plans.py": ("tests/cli/test_plan.py", "plans are given as an option of commands"),
    # control
    # diffusion
    # drover_lab
    "drover_lab/diffused/kernels.py": (
        "tests/drover_lab/diffused/test_run.py",
        "a run compares exactly the pairs that exist, whatever the kernels do",
    ),
    "drover_lab/diffused/world.py": (
        "tests/drover_lab/diffused/test_run.py",
        "the arrays are observed through a run",
    ),
    "drover_lab/generate/clauses.py": (
        "tests/drover_lab/generate/test_dags.py",
        "clauses are parts of random graphs",
    ),
    "drover_lab/herding/bulk.py": (
        "tests/drover_lab/herding/test_twins.py",
        "equal to the general code, one by one",
    ),
    "drover_lab/herding/bulk_kernels.py": (
        "tests/drover_lab/herding/test_twins.py",
        "as bulk",
    ),
    "drover_lab/herding/offline.py": (
        "tests/drover_lab/herding/test_policy.py",
        "one suite checks every policy; test_theorems.py has its bounds",
    ),
    "drover_lab/xing05/rounds.py": (
        "tests/drover_lab/xing05/test_comparison.py",
        "its claims compare one policy with others, as those of plans do",
    ),
    "drover_lab/xing05/unpredictable.py": (
        "tests/drover_lab/xing05/test_comparison.py",
        "as rounds; test_chains.py checks its workload",
    ),
    "drover_lab/xing06/clusters.py": (
        "tests/drover_lab/xing06/test_links.py",
        "its claims are judged on rows of the experiments with links",
    ),
    "drover_lab/xing06/trees.py": (
        "tests/drover_lab/xing06/test_sizes.py",
        "its comparison of lines is judged on sizes of feasible sets",
    ),
    # flow
    # herding
    # hierarchy
    # load
    # network
    "drover/network/files/read.py": (
        "tests/network/files/test_network_file.py",
        "a draft is only reached through `loads` and `inspect`",
    ),
    "drover/network/drawing/ordering.py": (
        "tests/network/drawing/test_layout.py",
        "crossings are counted on whole layouts",
    ),
    "drover/network/operators/kind.py": ("tests/test_kinds.py", "a record is complete or not, kind by kind"),
    # placement
    # runs
    "drover/runs/__init__.py": (
        "tests/runs/test_runs.py",
        "it is the package's own file, and its tests are with the others of the package",
    ),
    "drover/runs/check.py": (
        "tests/runs/test_runs.py",
        "faults are found by loading files, which also gives them their lines",
    ),
    "drover/runs/control.py": ("tests/runs/test_runs.py", "the two fields are read as part of a file"),
    # sim
    "drover/sim/arrivals.py": (
        "tests/sim/test_workload.py",
        "a workload is observed through its arrivals",
    ),
    "drover/sim/calendar_kernels.py": (
        "tests/sim/test_engine.py",
        "each event of the core equals that of the plain twin, so every kernel it calls is checked there",
    ),
    "drover/sim/cluster.py": (
        "tests/sim/test_run.py",
        "its refusals are among the faulty inputs of a run, its events in test_control.py",
    ),
    "drover/sim/event_kernels.py": (
        "tests/sim/test_engine.py",
        "each event of the core equals that of the plain twin, so every kernel it calls is checked there",
    ),
    "drover/sim/join_kernels.py": (
        "tests/sim/test_engine.py",
        "each event of the core equals that of the plain twin, so every kernel it calls is checked there",
    ),
    "drover/sim/loop.py": (
        "tests/sim/test_control.py",
        "the loop is what the control tests run",
    ),
    "drover/sim/model.py": (
        "tests/sim/test_run.py",
        "a model is observed through a run: costs, selectivities, pairs of joins",
    ),
    "drover/sim/move_kernels.py": (
        "tests/sim/test_engine.py",
        "each event of the core equals that of the plain twin, so every kernel it calls is checked there",
    ),
    "drover/sim/outcome.py": (
        "tests/sim/test_run.py",
        "tables are written and read for a real run",
    ),
    "drover/sim/queue_kernels.py": (
        "tests/sim/test_engine.py",
        "each event of the core equals that of the plain twin, so every kernel it calls is checked there",
    ),
    "drover/sim/rates.py": (
        "tests/sim/test_workload.py",
        "a rate over time is observed through its arrivals",
    ),
    "drover/sim/recorder.py": (
        "tests/sim/test_run.py",
        "the summary and the tables are those of a run",
    ),
    # spark
    "drover/spark/given.py": ("tests/spark/test_reference.py", "inputs are checked by calling `reference`"),
    "drover/spark/bind.py": ("tests/cli/test_run.py", "a run file on Spark is what the command runs"),
    # web
}


def has_logic(source: str) -> bool:
    """Whether a module defines a function or a method with more than a docstring in its body."""
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    return any(
        not (len(function.body) == 1 and isinstance(function.body[0], ast.Expr | ast.Pass)) for function in functions
    )


def expected_test_file(module: Path, package: Path, tests: Path) -> Path:
    """Where a reader looks for the tests of a module; `test_<package>.py` beside its folder tests an `__init__.py`."""
    place = module.relative_to(package)
    if place.name == "__init__.py":
        folder = tests / place.parent
        return folder.parent / f"test_{folder.name}.py" if place.parent.parts else tests / "test_init.py"
    name = place.stem.removesuffix("_kernels") if place.stem != "kernels" else "kernels"
    return tests / place.parent / f"test_{name.strip('_')}.py"


def modules_without_tests() -> list[str]:
    """The modules with logic that have neither a test file of their name nor an entry in COVERED_ELSEWHERE."""
    missing = []
    for name, tests in PACKAGES.items():
        package = ROOT / "src" / name
        for module in sorted(package.rglob("*.py")):
            label = module.relative_to(ROOT / "src").as_posix()
            found = expected_test_file(module, package, tests).exists()
            if not found and label not in COVERED_ELSEWHERE and has_logic(module.read_text(encoding="utf-8")):
                missing.append(label)
    return missing


def test_every_module_with_logic_has_a_test_file() -> None:
    assert modules_without_tests() == []


@pytest.mark.parametrize("module", COVERED_ELSEWHERE)
def test_an_exception_is_still_one(module: str) -> None:
    name, _, _ = module.partition("/")
    file, reason = COVERED_ELSEWHERE[module]
    assert (ROOT / "src" / module).exists()
    assert (ROOT / file).exists()
    assert reason
    assert not expected_test_file(ROOT / "src" / module, ROOT / "src" / name, PACKAGES[name]).exists()


@pytest.mark.parametrize(
    ("source", "logic"),
    [
        pytest.param("x = 1\n", False, id="constants"),
        pytest.param("class A:\n    x: int\n", False, id="a record"),
        pytest.param("class A(Protocol):\n    def f(self) -> None: ...\n", False, id="a protocol"),
        pytest.param("def f():\n    return 1\n", True, id="a function"),
        pytest.param("class A:\n    def f(self):\n        return 1\n", True, id="a method"),
    ],
)
def test_the_guard_itself(source: str, logic: bool) -> None:
    assert has_logic(source) is logic
