"""Skeletons: JSON texts of queries with marks in place of names, tenants and literals, found for thousands at once.

Rule 1: a mark says the type of what it stands for. Texts with the same skeleton differ only in their holes.
Rule 2: everything works on whole columns. No text is looked at in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from drover.network.queries.skeleton_kernels import (
    DOUBLE,
    INT,
    LONG,
    NAME,
    STRING,
    TENANT,
    gather,
    scan_texts,
    whole_numbers,
)

Ints = NDArray[np.int64]
LETTERS: Final = {chr(INT): "i", chr(LONG): "l", chr(DOUBLE): "d", chr(STRING): "s"}  # as placeholders have them
NAME_MARK: Final = chr(NAME)
TENANT_MARK: Final = chr(TENANT)


def marks_of(skeleton: str) -> str:
    """Return the marks of a skeleton in their order, one for each hole."""
    return "".join(character for character in skeleton if character in LETTERS or character in (NAME_MARK, TENANT_MARK))


@dataclass(frozen=True, slots=True, eq=False)
class ScannedTexts:
    """Texts with their skeletons; an unclear text has an empty one. Holes are numbered over all texts."""

    data: NDArray[np.uint8]
    skeletons: pl.Series  # (n,)
    first: Ints  # (n,) number of each text's first hole
    start: Ints  # (holes,) position of each hole
    stop: Ints  # (holes,) position after it

    def strings(self, holes: Ints, trim: int = 0) -> pl.Series:
        """Return the texts of holes, (k,), without `trim` characters on each side."""
        start = self.start[holes] + trim
        stop = self.stop[holes] - trim
        ends = np.cumsum(stop - start)
        out = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
        gather(self.data, start, stop, out)
        return _strings(out, ends)

    def holes_of(self, text: int) -> list[str]:
        """Return the texts of the holes of one text."""
        end = int(self.first[text + 1]) if text + 1 < len(self.first) else len(self.start)
        return self.strings(np.arange(self.first[text], end)).to_list()

    def values(self, mark: str, holes: Ints) -> pl.Series:
        """Return the values of literals of one type, (k,), as `normalize` reads them; infinity if it does not."""
        match LETTERS[mark]:
            case "s":
                return self.strings(holes, 1)
            case "d":
                return self.strings(holes).cast(pl.Float64, strict=False).fill_null(float("inf"))
            case _:
                return pl.Series(whole_numbers(self.data, self.start[holes], self.stop[holes]))

    def lengths(self, texts: Ints, holes: int) -> Ints:
        """Return how many characters the holes of texts have together, (k,); each of the texts has as many `holes`."""
        each = self.first[texts][:, None] + np.arange(holes)
        return np.asarray((self.stop[each] - self.start[each]).sum(axis=1))


def scan(texts: pl.Series) -> ScannedTexts:
    """Find the skeletons of texts, (n,); a text that is NULL is unclear."""
    whole = texts.fill_null("").to_arrow().cast(pa.large_string())
    _, offsets, content = whole.buffers()
    bounds = np.frombuffer(offsets, np.int64)[whole.offset : whole.offset + len(whole) + 1]
    data = np.frombuffer(content, np.uint8)[: bounds[-1]][bounds[0] :] if content is not None else np.empty(0, np.uint8)
    ends = bounds[1:] - bounds[0]
    out = np.empty(len(data), np.uint8)
    out_end = np.empty(len(ends), np.int64)
    # A hole is at least one character, and another one is between two holes. Unused memory is never touched.
    holes = np.empty((2, len(data) // 2 + 1), np.int64)
    hole_end = scan_texts(data, ends, out, out_end, holes)
    count = int(hole_end[-1]) if len(hole_end) else 0
    first = np.concatenate([[0], hole_end[:-1]]).astype(np.int64) if len(hole_end) else hole_end
    return ScannedTexts(data, _strings(out, out_end), first, holes[0, :count].copy(), holes[1, :count].copy())


def _strings(content: NDArray[np.uint8], ends: Ints) -> pl.Series:
    """Return strings that lie one after the other, given the end of each."""
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    found = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(content))
    return pl.Series(found, dtype=pl.String)
