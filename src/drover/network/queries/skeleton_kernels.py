"""Compiled scan of query texts: the name, the tenant and the literals of each text are found, and the rest is kept.

Rule 1: a text that this scan may misread is unclear, and left to the parser: escapes, comments, quotes in quotes,
numbers at the edge of a type, and whatever is not ASCII.
Rule 2: a literal is cut exactly as `normalize` cuts it.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Positions: TypeAlias = NDArray[np.int64]

# Marks of holes. No text has these characters, because a clear text has no control characters.
INT = 1
LONG = 2
DOUBLE = 3
STRING = 4
NAME = 5
TENANT = 6

NAME_FIELD = np.frombuffer(b"name", np.uint8)
TENANT_FIELD = np.frombuffer(b"tenant", np.uint8)

OUT = 0  # in a cursor: bytes of skeletons so far
HOLES = 1  # in a cursor: holes so far

MOST_DIGITS = 18  # a number with more may not fit into 64 bits
ABOVE_INT = 2**31  # its type depends on the sign before it

compiled = numba.njit(cache=True, error_model="numpy")
part = numba.njit(cache=True, error_model="numpy", forceinline=True)


@part
def is_digit(c: int) -> bool:
    """Return whether a byte is a digit."""
    return bool(ord("0") <= c <= ord("9"))


@part
def is_word(c: int) -> bool:
    """Return whether a byte may be part of a word."""
    return bool(is_digit(c) or ord("a") <= c <= ord("z") or ord("A") <= c <= ord("Z") or c == ord("_"))


@part
def find(data: Bytes, i: int, end: int, wanted: int) -> int:
    """Return the position of the next such byte, or `end`."""
    while i < end and data[i] != wanted:
        i += 1
    return i


@part
def keep(data: Bytes, first: int, last: int, out: Bytes, cursor: Positions) -> None:
    """Copy bytes to the skeleton."""
    for i in range(first, last):
        out[cursor[OUT]] = data[i]
        cursor[OUT] += 1


@part
def cut(mark: int, first: int, last: int, out: Bytes, holes: Positions, cursor: Positions) -> None:
    """Put a mark into the skeleton in place of some bytes, and note where they are."""
    out[cursor[OUT]] = mark
    cursor[OUT] += 1
    holes[0, cursor[HOLES]] = first
    holes[1, cursor[HOLES]] = last
    cursor[HOLES] += 1


@compiled
def is_unclear(data: Bytes, i: int, end: int) -> bool:
    """Return whether a text has characters that may begin an escape or a comment, or that are not ASCII."""
    before = 0
    for at in range(i, end):
        c = data[at]
        if c < 32 or c > 126 or c in (ord("\\"), ord("$"), ord("#"), ord("@"), ord("?"), ord(";")):
            return True
        if c == before and c in (ord("-"), ord("`")):
            return True
        if before == ord("/") and c == ord("*"):
            return True
        before = c
    return False


@part
def digits_end(data: Bytes, i: int, end: int) -> int:
    """Return the position after the digits that begin at i."""
    while i < end and is_digit(data[i]):
        i += 1
    return i


@compiled
def number_end(data: Bytes, i: int, end: int) -> int:
    """Return the position after the number that begins at i."""
    i = digits_end(data, i, end)
    if i < end and data[i] == ord("."):
        i = digits_end(data, i + 1, end)
    if i < end and data[i] in (ord("e"), ord("E")):
        sign = i + 1
        if sign < end and data[sign] in (ord("+"), ord("-")):
            sign += 1
        last = digits_end(data, sign, end)
        if last > sign:
            i = last
    return i


@part
def whole_number(data: Bytes, first: int, last: int) -> int:
    """Return the value of up to 18 digits."""
    value = 0
    for i in range(first, last):
        value = value * 10 + (data[i] - ord("0"))
    return value


@compiled
def number_mark(data: Bytes, first: int, last: int) -> int:
    """Return the mark of a number, or 0 if its type is unclear."""
    if digits_end(data, first, last) < last:
        return DOUBLE
    if last - first > MOST_DIGITS:
        return 0
    value = whole_number(data, first, last)
    if value == ABOVE_INT:
        return 0
    return INT if value < ABOVE_INT else LONG


@compiled
def scan_expression(data: Bytes, i: int, end: int, out: Bytes, holes: Positions, cursor: Positions) -> bool:
    """Cut the literals out of the content of a JSON string; return whether it is clear."""
    begin = i
    while i < end:
        c = data[i]
        last = i + 1
        mark = 0
        if c == ord("'"):
            last = find(data, i + 1, end, ord("'")) + 1
            # A word right before the quote makes it another kind of literal; a second quote after it is an escape.
            if last > end or (last < end and data[last] == ord("'")) or (i > begin and is_word(data[i - 1])):
                return False
            mark = STRING
        elif c == ord("`"):
            last = find(data, i + 1, end, ord("`")) + 1
            if last > end:
                return False
        elif is_digit(c) or (c == ord(".") and i + 1 < end and is_digit(data[i + 1])):
            last = number_end(data, i, end)
            mark = number_mark(data, i, last)
            if mark == 0 or (last < end and is_word(data[last])):
                return False
        elif is_word(c):
            while last < end and is_word(data[last]):
                last += 1
        for at in range(i, last):
            if data[at] in (ord("{"), ord("}"), ord("["), ord("]")):
                return False
        if mark > 0:
            cut(mark, i, last, out, holes, cursor)
        else:
            keep(data, i, last, out, cursor)
        i = last
    return True


@part
def is_field(data: Bytes, first: int, last: int, wanted: Bytes) -> bool:
    """Return whether some bytes are the name of a field."""
    if last - first != len(wanted):
        return False
    for i in range(len(wanted)):
        if data[first + i] != wanted[i]:
            return False
    return True


@part
def field_mark(data: Bytes, first: int, last: int) -> int:
    """Return the mark for the value of a field of a query: that of a name or a tenant, or 0."""
    if is_field(data, first, last, NAME_FIELD):
        return NAME
    return TENANT if is_field(data, first, last, TENANT_FIELD) else 0


@compiled
def scan_text(data: Bytes, i: int, end: int, out: Bytes, holes: Positions, cursor: Positions) -> bool:
    """Write the skeleton of a JSON text, and note its holes; return whether the text is clear."""
    depth = 0
    is_key = False
    field = 0
    while i < end:
        c = data[i]
        if c != ord('"'):
            if c in (ord("{"), ord("[")):
                depth += 1
            elif c in (ord("}"), ord("]")):
                depth -= 1
            is_key = (is_key or c in (ord("{"), ord(","))) and c != ord(":")
            keep(data, i, i + 1, out, cursor)
            i += 1
            continue
        last = find(data, i + 1, end, ord('"'))
        if last == end:
            return False
        keep(data, i, i + 1, out, cursor)
        if depth == 1 and is_key:
            field = field_mark(data, i + 1, last)
            keep(data, i + 1, last, out, cursor)
        elif depth == 1 and field > 0:
            cut(field, i + 1, last, out, holes, cursor)
            field = 0
        elif not scan_expression(data, i + 1, last, out, holes, cursor):
            return False
        keep(data, last, last + 1, out, cursor)
        i = last + 1
    return True


@compiled
def scan_texts(data: Bytes, text_end: Positions, out: Bytes, out_end: Positions, holes: Positions) -> Positions:
    """Write the skeletons of texts, (n,), and return the number of holes up to the end of each, (n,).

    `text_end` and `out_end` are the ends of texts and of their skeletons. An unclear text has an empty skeleton.
    """
    hole_end = np.zeros(len(text_end), np.int64)
    cursor = np.zeros(2, np.int64)
    i = 0
    for t in range(len(text_end)):
        end = text_end[t]
        before = cursor.copy()
        if is_unclear(data, i, end) or not scan_text(data, i, end, out, holes, cursor):
            cursor[:] = before
        out_end[t] = cursor[OUT]
        hole_end[t] = cursor[HOLES]
        i = end
    return hole_end


@compiled
def whole_numbers(data: Bytes, start: Positions, stop: Positions) -> Positions:
    """Return the values of whole numbers, (k,), each of up to 18 digits."""
    values = np.zeros(len(start), np.int64)
    for k in range(len(start)):
        values[k] = whole_number(data, start[k], stop[k])
    return values


@compiled
def gather(data: Bytes, start: Positions, stop: Positions, out: Bytes) -> None:
    """Write pieces of the data one after the other."""
    at = 0
    for k in range(len(start)):
        for i in range(start[k], stop[k]):
            out[at] = data[i]
            at += 1
