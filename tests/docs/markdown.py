"""Markdown as the tests of the documentation need it: fenced blocks with their notes, inline code, and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
FENCE: Final = re.compile(r"^( *)```+(\w*)(.*)$")
NOTE: Final = re.compile(r"^ *<!-- (.+?) -->$")
TITLE: Final = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the file it is saved as, and the comment right above it."""

    line: int  # of its first line of text, counted from 1
    language: str
    text: str
    title: str | None = None
    note: str = ""

    @property
    def exempt(self) -> bool:
        """Whether the page itself says why the block is not run here."""
        return self.note.startswith(("not run: ", "run by: "))


def pages() -> list[Path]:
    """Return README and the pages that people write; those of the experiments are made by their command."""
    written = sorted(path for path in DOCS.rglob("*.md") if path.parent.name != "experiments")
    return [ROOT / "README.md", *written]


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in their order."""
    note = ""
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if opened := FENCE.match(line):
            indent, language, info = opened.groups()
            body: list[str] = []
            for _, inner in lines:
                if inner.strip() == "```":
                    break
                body.append(inner.removeprefix(indent))
            title = TITLE.search(info)
            content = "\n".join([*body, ""])
            yield Block(number + 1, language, content, title and title[1], note)
            note = ""
        elif found := NOTE.match(line):
            note = found[1]
        elif line.strip():
            note = ""


def without_blocks(text: str) -> str:
    """Return a page without its fenced blocks and comments."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        if FENCE.match(line):
            inside = not inside
        elif not inside and not NOTE.match(line):
            kept.append(line)
    return "\n".join(kept)


def inline_code(text: str) -> list[str]:
    """Return what stands between backticks outside of blocks."""
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", without_blocks(text))]


def sentences(text: str) -> list[str]:
    """Return the sentences of the running text: paragraphs and list items, but no headings, tables or blocks."""
    paragraphs: list[str] = [""]
    for line in without_blocks(text).splitlines():
        bare = line.strip()
        if not bare or bare.startswith(("#", "|", "<", "--8<--", ":::", "!!!")):
            paragraphs.append("")
        elif re.match(r"([-*]|\d+\.) ", bare):
            paragraphs.append(re.sub(r"^([-*]|\d+\.) ", "", bare))
        else:
            paragraphs[-1] = f"{paragraphs[-1]} {bare}".strip()
    code_is_one_word = [re.sub(r"`[^`]+`", "code", paragraph) for paragraph in paragraphs]
    plain = [re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", paragraph) for paragraph in code_is_one_word]
    found = [part for paragraph in plain for part in re.split(r"(?<=[.!?:])\s+", paragraph)]
    return [part for part in found if part]
