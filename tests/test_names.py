"""One class per name in both packages, so that a name in a traceback, a log or a review means one thing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
# Private words of earlier versions, for which GLOSSARY.md has the field's own.
RETIRED = (
    *("pasture", "clerk", "office", "desk", "errand", "standing", "crew", "keeper", "widen", "herded", "homeless"),
    *("whereabouts", "estate", "workshop", "hush", "tell", "told", "settle", "settled"),
)


def classes(folder: Path) -> Iterator[tuple[str, str]]:
    """The name of every class, nested ones too, and the file that it is in."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node.name.strip("_"), file.relative_to(folder).as_posix()


def shared(folder: Path) -> dict[str, list[str]]:
    """The names that more than one class has, and the files that these are in."""
    found: dict[str, list[str]] = {}
    for name, file in classes(folder):
        found.setdefault(name, []).append(file)
    return {name: files for name, files in found.items() if len(files) > 1}


def test_every_class_has_a_name_of_its_own() -> None:
    assert shared(SOURCES) == {}


def defined(folder: Path) -> Iterator[str]:
    """Every module, class and function, with the file that it is in."""
    for file in sorted(folder.rglob("*.py")):
        yield f"{file.relative_to(folder).as_posix()}: {file.stem}"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                yield f"{file.relative_to(folder).as_posix()}: {node.name}"


def words_of(name: str) -> list[str]:
    """The words of a name in either spelling: `node_load` and `NodeLoad` have the same two."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")


def test_no_definition_has_a_retired_word() -> None:
    named = [each.split(": ") for each in defined(SOURCES)]
    assert [f"{place}: {name}" for place, name in named if set(words_of(name)) & set(RETIRED)] == []


def test_the_guard_itself(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Plan: ...\nclass Move: ...\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("class A:\n    class _Plan: ...\n", encoding="utf-8")
    assert shared(tmp_path) == {"Plan": ["a.py", "b.py"]}
    assert words_of("NodeLoad") == words_of("node_load") == ["node", "load"]
