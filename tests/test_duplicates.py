"""No run of ten or more lines stands twice outside the tests: what two places need has one home."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "benchmarks", "examples", "scripts")
RUN = 10  # lines that say something: blank ones, comments, imports and lone brackets do not count


def code_lines(source: str) -> list[tuple[int, str]]:
    """The lines that say something, with their numbers; white space is folded and docstrings are left out."""
    said: dict[int, list[str]] = {}
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        starts_statement = before in {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.NL}
        if token.type == tokenize.STRING and starts_statement:
            before = token.type
            continue
        before = token.type
        if token.type not in skipped:
            said.setdefault(token.start[0], []).append(token.string)
    imports = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = [(number, " ".join(words)) for number, words in said.items() if number not in imports]
    return [(number, line) for number, line in lines if any(letter.isalnum() for letter in line)]


def repeated(files: Iterator[Path]) -> list[str]:
    """Where a run of lines stands again: one entry for each pair of places, at its first line."""
    seen: dict[tuple[str, ...], str] = {}
    found: list[str] = []
    for file in files:
        lines = code_lines(file.read_text(encoding="utf-8"))
        inside = False  # within a run that is reported already
        for start in range(len(lines) - RUN + 1):
            run = tuple(line for _, line in lines[start : start + RUN])
            place = f"{file.name}:{lines[start][0]}"
            first = seen.setdefault(run, place)
            if first != place and not inside:
                found.append(f"{place} is as {first}")
            inside = first != place
    return found


def test_no_run_of_ten_lines_appears_twice() -> None:
    files = (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py")))
    assert repeated(files) == []


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        pytest.param([f"x{i} = {i}" for i in range(RUN)], 1, id="ten lines"),
        pytest.param([f"x{i} = {i}" for i in range(RUN + 5)], 1, id="a longer run counts once"),
        pytest.param([f"x{i} = {i}" for i in range(RUN - 1)], 0, id="nine lines"),
        pytest.param([f"import x{i}" for i in range(RUN)], 0, id="imports"),
        pytest.param(['"""', *(f"Line {i}." for i in range(RUN)), '"""'], 0, id="a docstring"),
    ],
)
def test_the_guard_itself(tmp_path: Path, lines: list[str], count: int) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("\n".join([f"name = {name!r}", *lines]) + "\n", encoding="utf-8")
    assert len(repeated(iter(sorted(tmp_path.iterdir())))) == count
