"""Docstrings are short: half of their sentences have at most 16 words, and nine of ten fewer than 28."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

import pytest

SOURCES = Path(__file__).parents[1] / "src"
HALF = 16  # words
MOST = 28  # of nine in ten


def sentences(text: str) -> Iterator[int]:
    """The number of words of every sentence; code, tables and headings are left out."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    prose = "\n".join(line for line in prose.splitlines() if not line.strip().startswith(("|", ">>>", "...", "#")))
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*] )|\n(?=Rule \d)", re.sub(r"`[^`]*`", "code", prose)):
        for sentence in re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())):
            if len(words := sentence.split()) >= 3:
                yield len(words)


def docstrings(package: Path) -> Iterator[str]:
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield text


@pytest.mark.parametrize("package", ["drover", "drover_lab"])
def test_sentences_are_short(package: str) -> None:
    lengths = [words for text in docstrings(SOURCES / package) for words in sentences(text)]
    assert median(lengths) <= HALF
    assert quantiles(lengths, n=10)[-1] < MOST


def test_the_guard_itself() -> None:
    assert list(sentences("One two three. Four `five six` seven eight!\n\n```\nno no no no\n```")) == [3, 4]
