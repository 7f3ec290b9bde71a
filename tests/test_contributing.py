"""A stranger's test: CONTRIBUTING lists the files to touch, and a toy added in exactly these files works.

Rule 1: the lists are read from CONTRIBUTING itself, so that list and test cannot diverge. Rule 2: a toy is added to a
copy of the tree and used in a process of its own, as a user would.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests import toys

ROOT: Final = Path(__file__).parents[1]
ITEM: Final = re.compile(r"^\d+\. `([^`]+)`", re.MULTILINE)


def listed(title: str) -> list[str]:
    """Return the files that the section "To add <title>" of CONTRIBUTING lists."""
    sections = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("\n## ")
    (section,) = (one for one in sections if one.startswith(f"To add {title}\n"))
    return ITEM.findall(section)


@dataclass(frozen=True)
class Toy:
    """Something to add: the section of CONTRIBUTING, what becomes of each file, and a script that uses it."""

    title: str
    name: str
    edits: Mapping[str, Callable[[str], str]]  # by file: from its text ("" for a new one) to the new text
    script: str

    def add(self, tree: Path) -> None:
        """Add the toy to a copy of the tree."""
        for path, edit in self.edits.items():
            file = tree / path
            before = file.read_text("utf-8") if file.exists() else ""
            after = edit(before)
            assert after != before, f"{path} stays as it was"
            file.write_text(after, "utf-8")


def new(text: str) -> Callable[[str], str]:
    """Return an edit that creates a file."""

    def create(before: str) -> str:
        assert before == ""
        return text

    return create


def after(*pairs: tuple[str, str]) -> Callable[[str], str]:
    """Return an edit that inserts a text behind each line that begins with another."""

    def insert(before: str) -> str:
        for anchor, added in pairs:
            place = re.search(f"^{re.escape(anchor)}.*\n", before, re.MULTILINE)
            assert place is not None, f"no line begins with {anchor!r}"
            before = before[: place.end()] + added + before[place.end() :]
        return before

    return insert


def row(table: str, added: str, imports: str = "") -> Callable[[str], str]:
    """Return an edit that puts a row at the end of a table, and an import behind the future one."""

    def insert(before: str) -> str:
        start = re.search(rf"^{table}: Final.*$", before, re.MULTILINE)
        assert start is not None, f"there is no table {table}"
        line = before.index("\n", start.start())
        if before[start.start() : line].endswith((")", "}")):  # a table on one line
            before = before[: line - 1] + f", {added.strip().rstrip(',')}" + before[line - 1 :]
        else:
            end = re.compile(r"^[)}]", re.MULTILINE).search(before, line)
            assert end is not None
            before = before[: end.start()] + added + before[end.start() :]
        future = "from __future__ import annotations\n\n"
        return before.replace(future, future + imports, 1)

    return insert


def chained(*edits: Callable[[str], str]) -> Callable[[str], str]:
    """Return several edits as one."""

    def all_of_them(before: str) -> str:
        for edit in edits:
            before = edit(before)
        return before

    return all_of_them


OPERATORS: Final = "src/drover/network/operators"
RUNNERS: Final = "src/drover/flow/operators"
ORACLES: Final = "src/drover/spark/oracle"
TOYS: Final = [
    Toy(
        "an operator kind",
        "cap",
        {
            f"{OPERATORS}/cap.py": new(toys.CAP_KIND),
            f"{OPERATORS}/__init__.py": row("KINDS", "    CAP,\n", "from drover.network.operators.cap import CAP\n"),
            f"{ORACLES}/cap.py": new(toys.CAP_ORACLE),
            f"{ORACLES}/__init__.py": row(
                "ORACLES", '    "cap": oracle_cap,\n', "from drover.spark.oracle.cap import oracle_cap\n"
            ),
            f"{RUNNERS}/cap.py": new(toys.CAP_RUNNER),
            f"{RUNNERS}/__init__.py": row(
                "RUNNERS", '    "cap": RunCap,\n', "from drover.flow.operators.cap import RunCap\n"
            ),
            "tests/strategies/networks.py": row(
                "STEPS", toys.CAP_STEP, "from drover.network.operators.cap import Cap\n"
            ),
        },
        toys.CAP_SCRIPT,
    ),
    Toy(
        "a placement policy",
        "last_node",
        {
            "src/drover/placement/last_node.py": new(toys.POLICY),
            "src/drover/placement/policy.py": chained(
                row(
                    "POLICIES", '    "last-node": place_last,\n', "from drover.placement.last_node import place_last\n"
                ),
                row("WORDS", '    "last-node": "all on the last node",\n'),
            ),
        },
        toys.POLICY_SCRIPT,
    ),
    Toy(
        "a sink",
        "count",
        {
            "src/drover/runs/formats.py": after(('        SinkFormat("console"', '        SinkFormat("count"),\n')),
            "src/drover/spark/sinks.py": chained(
                after(("QUERY: Final", toys.SINK)),
                row("SINKS", '    "count": lambda output: Count(output.path or ""),\n'),
            ),
        },
        toys.SINK_SCRIPT,
    ),
    Toy(
        "a SQL function",
        "first_letter",
        {
            "src/drover/network/expressions/strings.py": row("STRINGS", toys.SQL_FUNCTION),
            "src/drover/network/expressions/examples.py": row(
                "FUNCTION_EXAMPLES", '    "first_letter": "first_letter(\'drover\')",\n'
            ),
        },
        toys.SQL_SCRIPT,
    ),
    Toy(
        "a command",
        "hello",
        {
            "src/drover/cli/hello.py": new(toys.COMMAND),
            "src/drover/cli/__init__.py": row("COMMANDS", "hello", "from drover.cli.hello import hello\n"),
        },
        toys.COMMAND_SCRIPT,
    ),
    Toy(
        "a metric of a batch",
        "largest",
        {
            "src/drover/spark/facts.py": after(
                ("    queries: QueryFacts | None = None", toys.METRIC_FIELD), ("        queries,", toys.METRIC_VALUE)
            ),
            "src/drover/spark/progress.py": after(('        "batch": facts.batch,', toys.METRIC_KEY)),
        },
        toys.METRIC_SCRIPT,
    ),
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the package and of the tests that a toy needs."""
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("golden"))
    return tmp_path


def use(tree: Path, script: str) -> str:
    """Run a script on the copy and return what it prints."""
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.title)
def test_the_list_names_the_files_that_the_toy_touches(toy: Toy) -> None:
    placeholders = re.compile(r"<\w+>")
    assert sorted(placeholders.sub(toy.name, path) for path in listed(toy.title)) == sorted(toy.edits)


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.title)
def test_a_toy_added_as_the_list_says_works(toy: Toy, tree: Path) -> None:
    toy.add(tree)
    assert use(tree, toy.script).splitlines()[-1] == "works"


@pytest.mark.slow
def test_the_toy_operator_means_the_same_in_spark(tree: Path) -> None:
    TOYS[0].add(tree)
    assert use(tree, toys.CAP_ON_SPARK).splitlines()[-1] == "works"
