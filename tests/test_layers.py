"""The tree is the architecture: which part of drover may import which, and the same for drover_lab.

Rule 1: the tables below are the law; a package that is not in its table fails the test.
Rule 2: imports are read from the source, wherever they stand, so a lazy import is an import.
Rule 3: drover does not know drover_lab. One command starts it, `drover experiment`, and imports it when it is called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

SOURCES = Path(__file__).parents[1] / "src"

SPREADING = {"placement", "herding", "diffusion", "hierarchy"}  # four ways to spread work, unaware of each other
PARTS = {"network", "runs", "load", *SPREADING, "flow", "control"}
RUNTIMES = {"sim", "spark", "agents"}

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),  # and every row may import these four
    "files": set(),
    "strict_json": {"errors"},
    "wording": set(),
    "network": set(),
    "runs": {"network", "placement", "hierarchy", "control", "flow"},  # what a plan, a tree, a loop and a table may be
    "load": {"network"},
    "placement": {"network", "load"},
    "herding": {"network", "load"},
    "diffusion": {"network", "load"},
    "hierarchy": {"network", "load"},
    "flow": {"network", "load", "placement", "diffusion"},  # load: a node counts in the load model's own `Sample`
    "control": {"network", "load", *SPREADING, "flow"},
    "sim": PARTS,
    "spark": PARTS,
    "agents": {"network", "hierarchy"},  # nodes of a hierarchy as processes
    "web": PARTS | RUNTIMES,
    "cli": PARTS | RUNTIMES | {"web"},
    "__main__": {"cli"},
    "__init__": PARTS | RUNTIMES,  # the public names
}
FREE = {"errors", "files", "strict_json", "wording"}  # every layer may import these

TABLES = {"table", "summary", "lines"}  # what an experiment is made of
LAB_MAY_IMPORT: dict[str, set[str]] = {
    "table": set(),
    "summary": {"table"},
    "lines": {"table", "summary"},
    "generate": set(),  # random networks and rows
    "placement": {"generate"},
    "herding": set(),
    "diffused": set(),
    "trees": set(),
    "xing05": {*TABLES, "generate", "placement"},
    "xing06": {*TABLES, "generate", "placement"},
    "zong15": {*TABLES, "herding"},
    "gu05": {*TABLES, "diffused"},
    "kots14": {*TABLES, "trees"},
    "engine": {*TABLES, "generate"},  # experiments on Spark
    "catalogue": {"table", "xing05", "xing06", "zong15", "gu05", "kots14", "engine"},
    "run": {"table"},
    "resume": {"table", "run"},
    "draw": {"table", "summary"},
    "files": {"table", "run", "draw"},
    "pages": {"table", "summary", "run", "draw"},
    "__init__": set(),
}


@dataclass(frozen=True)
class Law:
    """What the files of one package may import and call."""

    package: str
    may_import: Mapping[str, set[str]]  # rows of the package itself
    below: Mapping[str, set[str]]  # rows of drover, for those rows that may import any
    has_a_clock: frozenset[str]  # in all other rows, time and chance are arguments
    only_in: Mapping[str, tuple[str, ...]]  # a library, and the files that may know it: a folder, a suffix or a file


ENGINE: Final = Law(
    package="drover",
    may_import=MAY_IMPORT,
    below={},
    has_a_clock=frozenset({"spark", "agents", "web", "cli", "__main__"}),
    only_in={
        "pyspark": ("spark/",),
        "py4j": ("spark/",),
        "numba": ("kernels.py",),
        "matplotlib": ("cli/whatif/plot.py",),
        "drover_lab": ("cli/experiment.py",),
    },
)
LAB: Final = Law(
    package="drover_lab",
    may_import=LAB_MAY_IMPORT,
    below={row: PARTS | {"sim", "spark"} if row == "engine" else PARTS | {"sim"} for row in LAB_MAY_IMPORT},
    has_a_clock=frozenset({"run", "engine", "xing05", "kots14"}),  # two of the texts time their algorithms
    only_in={
        "pyspark": ("engine/",),
        "py4j": (),
        "numba": ("kernels.py",),
        "matplotlib": ("draw.py",),
        "mtkahypar": ("herding/partition.py",),
    },
)

CLOCK_MODULES = {"time", "random", "secrets"}
CLOCK_CALLS = {"now", "utcnow", "today", "uuid1", "uuid4", "urandom"}


def layer_of(place: Path) -> str:
    """The row that a file belongs to, by its place in the package."""
    return place.parts[0].removesuffix(".py")


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


def may_know(place: Path, allowed: tuple[str, ...]) -> bool:
    """Whether a file is in one of the allowed folders, has an allowed suffix or is an allowed file."""
    path = place.as_posix()
    return any(path.startswith(each) if each.endswith("/") else path.endswith(each) for each in allowed)


def refuse_import(name: str, law: Law, place: Path) -> str | None:
    """Why this file may not import that name, or None if it may."""
    layer = layer_of(place)
    top, _, rest = name.partition(".")
    target = rest.partition(".")[0]
    if top == "":
        return "a relative import hides the layer; write the full name"
    if top in law.only_in and not may_know(place, law.only_in[top]):
        return f"{top} may be imported only in {' and '.join(law.only_in[top]) or 'no file'}"
    if top == law.package:
        allowed = law.may_import[layer]
        if target not in {layer, *FREE} and target not in allowed:
            return f"{layer} may not import {name}; the table allows {sorted(allowed) or 'nothing'}"
    elif top == "drover":
        allowed = law.below.get(layer, set())
        if target not in FREE and target not in allowed:
            return f"{layer} may not import {name}; of drover, the table allows {sorted(allowed) or 'nothing'}"
    if top in CLOCK_MODULES and layer not in law.has_a_clock:
        return f"{layer} may not import {top}: time and chance are arguments"
    return None


# What these import is outside the package, so that no layer is crossed: the user's functions, and the examples.
FINDS_BY_NAME = frozenset({"network/functions.py", "cli/demo.py"})


def refuse_call(name: str, arguments: int, law: Law, place: Path) -> str | None:
    """Why this file may not call a function of that name, or None if it may."""
    layer = layer_of(place)
    if name in {"import_module", "__import__"} and layer != "__init__" and place.as_posix() not in FINDS_BY_NAME:
        return f"{name} hides an import from this test"
    if name == "default_rng" and not arguments:
        return "default_rng() without a seed is global chance; take a Generator as an argument"
    if name in CLOCK_CALLS and layer not in law.has_a_clock:
        return f"{layer} may not call {name}: time and chance are arguments"
    return None


def breaches(folder: Path, law: Law = ENGINE) -> Iterator[str]:
    """Every breach of a law in the folder of a package, with its place; none means sound."""
    for file in sorted(folder.rglob("*.py")):
        place = file.relative_to(folder)
        if layer_of(place) not in law.may_import:
            yield f"{place}: {layer_of(place)} is not in the table of {law.package}; give it a row"
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for line, name in imported(tree):
            if reason := refuse_import(name, law, place):
                yield f"{place}:{line}: {reason}"
        for line, name, arguments in called(tree):
            if reason := refuse_call(name, arguments, law, place):
                yield f"{place}:{line}: {reason}"


@pytest.mark.parametrize("law", [pytest.param(law, id=law.package) for law in (ENGINE, LAB)])
def test_every_import_points_down(law: Law) -> None:
    assert list(breaches(SOURCES / law.package, law)) == []


@pytest.mark.parametrize("law", [pytest.param(law, id=law.package) for law in (ENGINE, LAB)])
def test_the_table_has_no_cycle(law: Law) -> None:
    below: set[str] = set()
    while ready := {layer for layer, allowed in law.may_import.items() if allowed <= below} - below:
        below |= ready
    assert below == set(law.may_import)


@pytest.mark.parametrize("law", [pytest.param(law, id=law.package) for law in (ENGINE, LAB)])
def test_every_row_of_the_table_exists(law: Law) -> None:
    there = {layer_of(file.relative_to(SOURCES / law.package)) for file in (SOURCES / law.package).rglob("*.py")}
    assert set(law.may_import) == there


def test_the_lab_is_imported_only_when_an_experiment_is_asked_for() -> None:
    source = (SOURCES / "drover/cli/experiment.py").read_text(encoding="utf-8")
    at_once = [node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not [name for node in at_once for _, name in imported(node) if name.startswith("drover_lab")]


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
        pytest.param("flow/a.py", "import pyspark.sql", "pyspark may be imported only in", id="pyspark elsewhere"),
        pytest.param("load/a.py", "from numba import njit", "numba may be imported only in", id="numba elsewhere"),
        pytest.param("spark/a.py", "import numba", "numba may be imported only in", id="numba in spark"),
        pytest.param("web/a.py", "import matplotlib", "matplotlib may be imported only in", id="matplotlib elsewhere"),
        pytest.param("cli/a.py", "import drover_lab.run", "drover_lab may be imported only in", id="the lab"),
        pytest.param("utils/a.py", "", "utils is not in the table", id="an unknown package"),
        pytest.param("helper.py", "", "helper is not in the table", id="an unknown module"),
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
    ("file", "source", "reason"),
    [
        pytest.param("xing05/a.py", "import drover_lab.xing06.trees", "xing05 may not import", id="another text"),
        pytest.param("table.py", "from drover_lab import run", "table may not import", id="upwards"),
        pytest.param("xing05/a.py", "import drover.spark.run", "of drover, the table allows", id="Spark elsewhere"),
        pytest.param("engine/a.py", "import drover.cli.run", "of drover, the table allows", id="the command line"),
        pytest.param("engine/a.py", "import drover", "of drover, the table allows", id="the public names"),
        pytest.param("pages.py", "import matplotlib", "only in draw.py", id="matplotlib elsewhere"),
        pytest.param("gu05/a.py", "import numba", "numba may be imported only in", id="numba elsewhere"),
        pytest.param("gu05/a.py", "import time", "gu05 may not import time", id="a clock"),
        pytest.param("utils/a.py", "", "utils is not in the table", id="an unknown package"),
    ],
)
def test_a_breach_in_the_lab_is_caught(tmp_path: Path, file: str, source: str, reason: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(source, encoding="utf-8")
    (found,) = breaches(tmp_path, LAB)
    assert reason in found


@pytest.mark.parametrize(
    ("law", "file", "source"),
    [
        pytest.param(ENGINE, "network/a.py", "from drover.errors import DroverError", id="errors are free"),
        pytest.param(ENGINE, "network/a.py", "from drover.network.types import INT", id="inside a layer"),
        pytest.param(ENGINE, "placement/kernels.py", "import numba", id="numba in a kernel"),
        pytest.param(ENGINE, "spark/a.py", "import time, pyspark.sql", id="spark has pyspark and a clock"),
        pytest.param(ENGINE, "sim/a.py", "numpy.random.default_rng(seed)", id="a seeded generator"),
        pytest.param(ENGINE, "cli/a.py", "from drover import spark, web", id="shells see everything"),
        pytest.param(ENGINE, "cli/experiment.py", "def f():\n    import drover_lab.run", id="experiments know the lab"),
        pytest.param(LAB, "engine/a.py", "import pyspark.sql\nfrom drover.spark.run import run", id="runs on Spark"),
        pytest.param(LAB, "xing05/a.py", "from drover.sim.run import simulate", id="the lab simulates"),
    ],
)
def test_allowed_imports_pass(tmp_path: Path, law: Law, file: str, source: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(source, encoding="utf-8")
    assert list(breaches(tmp_path, law)) == []
