"""Prose is short: half of the sentences have at most 16 words, and nine in ten fewer than 28.

This holds for docstrings, for comments, and for the texts of the experiments. tests/docs/test_prose.py measures pages.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import pytest

from drover_lab.catalogue import EXPERIMENTS
from drover_lab.table import Experiment

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = ("src/drover", "src/drover_lab", "benchmarks")
HALF: Final = 16  # words
MOST: Final = 28  # of nine in ten
LONGEST: Final = 45  # of any text of an experiment, which readers meet as a table cell or a paragraph


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


def comments(folder: Path) -> Iterator[str]:
    """Yield the comments that have lines of their own; adjacent lines are one text."""
    for file in sorted(folder.rglob("*.py")):
        tokens = tokenize.generate_tokens(io.StringIO(file.read_text(encoding="utf-8")).readline)
        whole = [t for t in tokens if t.type == tokenize.COMMENT and t.line.lstrip().startswith("#")]
        for _, block in groupby(enumerate(whole), lambda numbered: numbered[1].start[0] - numbered[0]):
            yield " ".join(token.string.removeprefix("#").strip() for _, token in block)


def check_lengths(lengths: list[int]) -> None:
    assert median(lengths) <= HALF
    assert quantiles(lengths, n=10)[-1] < MOST


@pytest.mark.parametrize("folder", FOLDERS)
def test_sentences_of_docstrings_are_short(folder: str) -> None:
    check_lengths([words for text in docstrings(ROOT / folder) for words in sentences(text)])


@pytest.mark.parametrize("folder", FOLDERS[:2])  # benchmarks have few
def test_sentences_of_comments_are_short(folder: str) -> None:
    check_lengths([words for text in comments(ROOT / folder) for words in sentences(text)])


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(lambda one: [one.about], id="about"),
        pytest.param(lambda one: [claim.text for claim in one.claims], id="claims"),
        pytest.param(lambda one: [claim.why for claim in one.claims], id="explanations"),
        pytest.param(lambda one: one.columns.values(), id="measurements"),
    ],
)
def test_sentences_of_experiments_are_short(texts: Callable[[Experiment], list[str]]) -> None:
    distinct = {text for one in EXPERIMENTS.values() for text in texts(one)}
    lengths = [words for text in distinct for words in sentences(text)]
    check_lengths(lengths)
    assert max(lengths) <= LONGEST


def test_the_guard_itself() -> None:
    assert list(sentences("One two three. Four `five six` seven eight!\n\n```\nno no no no\n```")) == [3, 4]
