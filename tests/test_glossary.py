"""The glossary has each word once, and says what it means in sentences that need one reading."""

from __future__ import annotations

import re
from pathlib import Path

TEXT = (Path(__file__).parents[1] / "GLOSSARY.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \|$", TEXT, re.MULTILINE)
LONGEST = 28  # words of a sentence


def test_every_word_is_there_once() -> None:
    words = [word for word, _ in ENTRIES]
    assert len(words) > 100
    assert sorted(words) == sorted(set(words))


def test_every_meaning_is_plain() -> None:
    sentences = [(word, part) for word, meaning in ENTRIES for part in re.split(r"(?<=[.:;]) ", meaning)]
    assert [(word, part) for word, part in sentences if len(part.split()) > LONGEST] == []
