"""Sentences of README and docs are short: half have at most 16 words, and nine in ten fewer than 28."""

from __future__ import annotations

from pathlib import Path
from statistics import median, quantiles

import pytest

from tests.docs.markdown import DOCS, ROOT, pages, sentences

MADE = {"run-file.md", "network-file.md", "expressions.md", "statistics-file.md"}  # from tables in the code
RECORDS = DOCS / "decisions"  # are kept as they were taken
LONG = 15  # sentences that are enough to speak of a median


def written() -> list[object]:
    return [
        pytest.param(page, id=str(page.relative_to(ROOT)))
        for page in pages()
        if page.name not in MADE and page.parent != RECORDS
    ]


@pytest.mark.parametrize("page", written())
def test_sentences_are_short(page: Path) -> None:
    words = [len(sentence.split()) for sentence in sentences(page.read_text(encoding="utf-8"))]
    if len(words) >= LONG:
        assert median(words) <= 16
        assert quantiles(words, n=10)[-1] < 28
    assert max(words, default=0) < 50


def test_sentences_are_counted_without_tables_and_code() -> None:
    text = "# A heading\n\nOne two. Three `four five`\nsix.\n\n| a | b |\n\n```sh\nseven\n```\n- [eight nine](x.md)\n"
    assert [len(sentence.split()) for sentence in sentences(text)] == [2, 3, 2]
