"""The tree is the architecture: which part of drover may import which.

Rule 1: the tables below are the law; a package that is not in MAY_IMPORT fails the test.
Rule 2: imports are read from the source, wherever they stand, so a lazy import is an import.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "drover"

SPREADING = {"placement", "herding", "diffusion", "hierarchy"}  # four ways to spread work, unaware of each other
PARTS = {"network", "runs", "load", *SPREADING, "flow", "control"}
RUNTIMES = {"sim", "spark", "agents"}

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),  # and every row may import errors
    "network": set(),
    "runs": {"network", "placement", "hierarchy", "control"},  # what a plan, a tree and a loop may be told
    "load": {"network"},
    "placement": {"network", "load"},
    "herding": {"network", "load"},
    "diffusion": {"network", "load"},
    "hierarchy": {"network", "load"},
    "flow": {"network", "placement", "diffusion"},
    "control": {"network", "load", *SPREADING, "flow"},
    "sim": PARTS,
    "spark": PARTS,
    "agents": {"network", "hierarchy"},  # nodes of a hierarchy as processes
    "experiments": PARTS | RUNTIMES,
    "web": PARTS | RUNTIMES,
    "cli": PARTS | RUNTIMES | {"experiments", "web"},
    "__main__": {"cli"},
    "__init__": PARTS | RUNTIMES,  # the public names
}
FREE = "errors"

# A library that only some files may know.
ONLY_IN = {"pyspark": "under spark/", "py4j": "under spark/", "numba": "in kernels.py"}

# Below these, time and chance are arguments.
HAS_A_CLOCK = {"spark", "agents", "experiments", "web", "cli", "__main__"}
CLOCK_MODULES = {"time", "random", "secrets"}
CLOCK_CALLS = {"now", "utcnow", "today", "uuid1", "uuid4", "urandom"}


def layer_of(file: Path, package: Path) -> str:
    """The row of MAY_IMPORT that a file belongs to."""
    return file.relative_to(package).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every imported name in full, e.g. `drover.network.types.DataType`, with its line; "." if it is relative."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = "." if node.level else f"{node.module}."
            yield from ((node.lineno, start if node.level else start + alias.name) for alias in node.names)


def called(tree: ast.AST) -> Iterator[tuple[int, str, int]]:
    """Every call of a named function or method: line, last part of its name, number of arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            yield node.lineno, name, len(node.args) + len(node.keywords)


def refuse_import(name: str, layer: str, file: Path) -> str | None:
    """Why this file may not import that name, or None if it may."""
    top, _, rest = name.partition(".")
    if top == "":
        return "a relative import hides the layer; write the full name"
    if top == "drover":
        target = rest.partition(".")[0]
        if target in {layer, FREE} or target in MAY_IMPORT[layer]:
            return None
        return f"{layer} may not import {name}; MAY_IMPORT allows {sorted(MAY_IMPORT[layer]) or 'nothing'}"
    if top in ONLY_IN and not (layer == "spark" if ONLY_IN[top] == "under spark/" else file.name == "kernels.py"):
        return f"{top} may be imported only {ONLY_IN[top]}"
    if top in CLOCK_MODULES and layer not in HAS_A_CLOCK:
        return f"{layer} may not import {top}: time and chance are arguments"
    return None


# What these import is outside the package, so that no layer is crossed: the user's functions, and the examples.
FINDS_BY_NAME = frozenset({"network/functions.py", "cli/demo.py"})


def refuse_call(name: str, arguments: int, layer: str, place: str) -> str | None:
    """Why this layer may not call a function of that name, or None if it may."""
    if name in {"import_module", "__import__"} and layer != "__init__" and place not in FINDS_BY_NAME:
        return f"{name} hides an import from this test"
    if name == "default_rng" and not arguments:
        return "default_rng() without a seed is global chance; take a Generator as an argument"
    if name in CLOCK_CALLS and layer not in HAS_A_CLOCK:
        return f"{layer} may not call {name}: time and chance are arguments"
    return None


def breaches(package: Path) -> Iterator[str]:
    """Every breach of the tables in the package, with its place; none means sound."""
    for file in sorted(package.rglob("*.py")):
        place, layer = file.relative_to(package), layer_of(file, package)
        if layer not in MAY_IMPORT:
            yield f"{place}: {layer} is not in MAY_IMPORT; give it a row"
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for line, name in imported(tree):
            if reason := refuse_import(name, layer, file):
                yield f"{place}:{line}: {reason}"
        for line, name, arguments in called(tree):
            if reason := refuse_call(name, arguments, layer, place.as_posix()):
                yield f"{place}:{line}: {reason}"


def test_every_import_points_down() -> None:
    assert list(breaches(PACKAGE)) == []


def test_the_table_has_no_cycle() -> None:
    below: set[str] = set()
    while ready := {layer for layer, allowed in MAY_IMPORT.items() if allowed <= below} - below:
        below |= ready
    assert below == set(MAY_IMPORT)


@pytest.mark.parametrize(
    ("file", "source", "reason"),
    [
        pytest.param("network/a.py", "from drover.load import sample", "network may not import", id="upwards"),
        pytest.param("network/a.py", "import drover.spark.java", "network may not import", id="upwards, plain import"),
        pytest.param("load/a.py", "from drover import control", "load may not import", id="upwards, through the root"),
        pytest.param("load/a.py", "import drover", "load may not import", id="the public names from inside"),
        pytest.param("herding/a.py", "import drover.placement.plan", "herding may not import", id="sideways"),
        pytest.param("sim/a.py", "from drover.spark import session", "sim may not import", id="one runtime, the other"),
        pytest.param("load/a.py", "def f():\n    import drover.cli", "a.py:2: load may not", id="inside a function"),
        pytest.param("network/a.py", "from .b import c", "a relative import", id="relative"),
        pytest.param("flow/a.py", "import pyspark.sql", "pyspark may be imported only under", id="pyspark elsewhere"),
        pytest.param("load/a.py", "from numba import njit", "numba may be imported only in", id="numba elsewhere"),
        pytest.param("spark/a.py", "import numba", "numba may be imported only in", id="numba in spark"),
        pytest.param("utils/a.py", "", "utils is not in MAY_IMPORT", id="an unknown package"),
        pytest.param("helper.py", "", "helper is not in MAY_IMPORT", id="an unknown module"),
        pytest.param("sim/a.py", "from time import monotonic", "sim may not import time", id="a clock"),
        pytest.param("flow/a.py", "import random", "flow may not import random", id="chance"),
        pytest.param("control/a.py", "datetime.now(UTC)", "control may not call now", id="the date"),
        pytest.param("flow/a.py", "from uuid import uuid4\nuuid4()", "flow may not call uuid4", id="a random name"),
        pytest.param("cli/a.py", "np.random.default_rng()", "without a seed", id="an unseeded generator"),
        pytest.param("load/a.py", "importlib.import_module('x')", "hides an import", id="a hidden import"),
    ],
)
def test_a_breach_is_caught(tmp_path: Path, file: str, source: str, reason: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(source, encoding="utf-8")
    (found,) = breaches(tmp_path)
    assert reason in found


@pytest.mark.parametrize(
    ("file", "source"),
    [
        pytest.param("network/a.py", "from drover.errors import DroverError", id="errors are free"),
        pytest.param("network/a.py", "from drover.network.types import INT", id="inside a layer"),
        pytest.param("placement/kernels.py", "import numba", id="numba in a kernel"),
        pytest.param("spark/a.py", "import time, pyspark.sql", id="spark has pyspark and a clock"),
        pytest.param("sim/a.py", "numpy.random.default_rng(seed)", id="a seeded generator"),
        pytest.param("cli/a.py", "from drover import experiments, web", id="shells see everything"),
    ],
)
def test_what_is_allowed_passes(tmp_path: Path, file: str, source: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(source, encoding="utf-8")
    assert list(breaches(tmp_path)) == []
