"""A module holds one concept and a function one thought: what outgrows these limits is two of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULE_LINES = {"src": 400, "tests": 400}  # a file must stay below
BODY_LINES = 40  # so must the body of a function, its docstring not counted
KERNEL_LINES = 50  # a compiled loop takes its arrays out of their tuples first, one line each


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines from the first statement after the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def oversized(file: Path, limit: int) -> Iterator[str]:
    """Every limit that the file exceeds, in words; none means sound."""
    source = file.read_text(encoding="utf-8")
    lines = len(source.splitlines())
    if lines >= limit:
        yield f"{file.name} has {lines} lines, but must stay below {limit}: split it by concept"
    tree = ast.parse(source)
    if source.strip() and not file.name.startswith("test_") and ast.get_docstring(tree) is None:
        yield f"{file.name} has no docstring: say what may live in it"
    most = KERNEL_LINES if file.name.endswith("kernels.py") else BODY_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (lines := body_lines(node)) >= most:
            yield f"{file.name}:{node.lineno}: {node.name} has {lines} lines, but must stay below {most}"


@pytest.mark.parametrize("folder", MODULE_LINES)
def test_modules_and_functions_stay_small(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    assert [fault for file in files for fault in oversized(file, MODULE_LINES[folder])] == []


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        pytest.param('"""Law."""\n', 0, id="small is fine"),
        pytest.param("", 0, id="empty is fine"),
        pytest.param("x = 1\n", 1, id="no docstring"),
        pytest.param('"""Law."""\n' + "x = 1\n" * 99, 1, id="a long module"),
        pytest.param('"""Law."""\ndef f():\n' + "    x = 1\n" * 40, 1, id="a long function"),
        pytest.param('"""Law."""\nclass C:\n    async def f():\n' + "        x = 1\n" * 40, 1, id="a long method"),
        pytest.param('"""Law."""\ndef f():\n' + "    x = 1\n" * 39, 0, id="just short enough"),
        pytest.param('"""Law."""\ndef f():\n    """' + "Long.\n" * 50 + '    """\n', 0, id="docstrings are free"),
    ],
)
def test_the_guard_itself(tmp_path: Path, source: str, faults: int) -> None:
    file = tmp_path / "module.py"
    file.write_text(source, encoding="utf-8")
    assert len(list(oversized(file, limit=100))) == faults
