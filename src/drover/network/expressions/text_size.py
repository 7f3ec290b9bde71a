"""How long a text can become: bounds that follow from an expression alone, before it sees a row.

Rule 1: a bound has two parts: characters that the expression itself writes, and how often it repeats the longest text
of the row. Both are limited, so that no accepted expression can make a worker run out of memory on ordinary rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

MOST_FIXED: Final = 1_000_000  # characters of a text that an expression makes from its literals
MOST_TIMES: Final = 20_000  # how often it may repeat a text of its row; 10,000 is the most that one function may
WRITTEN_OUT: Final = 40  # characters of any number, date or timestamp as text
WAY_OUT: Final = "Use smaller counts and shorter texts, or make the text where the rows are read."


@dataclass(frozen=True, slots=True)
class TextSize:
    """At most `fixed` characters, and `times` those of the longest text in the row."""

    fixed: int = 0
    times: int = 0

    def plus(self, other: TextSize) -> TextSize:
        """Return the size of both texts, one after the other."""
        return TextSize(self.fixed + other.fixed, self.times + other.times)

    def repeated(self, count: int) -> TextSize:
        """Return the size of so many copies."""
        return TextSize(self.fixed * count, self.times * count)

    def of_texts(self, longest: TextSize) -> TextSize:
        """Return the size if the texts of the row are themselves as long as `longest`."""
        return TextSize(self.fixed + self.times * longest.fixed, self.times * longest.times)

    @property
    def is_allowed(self) -> bool:
        """Whether it is within both limits."""
        return self.fixed <= MOST_FIXED and self.times <= MOST_TIMES

    @property
    def rule(self) -> str:
        """The limit that it breaks, in words."""
        if self.fixed > MOST_FIXED:
            return f"a text may be made of at most {MOST_FIXED:,} characters, and this one of {self.fixed:,}"
        return f"a text may repeat one of its row at most {MOST_TIMES:,} times, and this one {self.times:,} times"


A_TEXT: Final = TextSize(times=1)  # a column
NO_TEXT: Final = TextSize(fixed=WRITTEN_OUT)  # a value of any other type, as text

# From the sizes of the arguments, and the literals among them; other arguments are None there.
SizeRule = Callable[[Sequence[TextSize], Sequence[object]], TextSize]


def longest(sizes: Iterable[TextSize]) -> TextSize:
    """Return a size that holds for each of several texts."""
    found = list(sizes)
    return TextSize(max((one.fixed for one in found), default=0), max((one.times for one in found), default=0))


def as_long_as_the_longest(sizes: Sequence[TextSize], _literals: Sequence[object]) -> TextSize:
    """Return the size of a function that chooses or cuts one of its arguments."""
    return longest(sizes)


def joined(sizes: Sequence[TextSize], _literals: Sequence[object]) -> TextSize:
    """Return the size of all arguments together."""
    whole = TextSize()
    for size in sizes:
        whole = whole.plus(size)
    return whole


def joined_with(sizes: Sequence[TextSize], literals: Sequence[object]) -> TextSize:
    """Return the size of all arguments but the first, which stands between them."""
    return joined(sizes[1:], literals).plus(sizes[0].repeated(max(len(sizes) - 2, 0)))


def repeated(sizes: Sequence[TextSize], literals: Sequence[object]) -> TextSize:
    """Return the size of the first argument, as often as the second says."""
    count = literals[1]
    return sizes[0].repeated(max(count, 0) if isinstance(count, int) else 0)


def padded(_sizes: Sequence[TextSize], literals: Sequence[object]) -> TextSize:
    """Return the size that the second argument says: padding also cuts."""
    count = literals[1]
    return TextSize(fixed=max(count, 0) if isinstance(count, int) else 0)


def replaced(sizes: Sequence[TextSize], literals: Sequence[object]) -> TextSize:
    """Return the size of the first argument, if it consists of nothing but what is replaced."""
    old = literals[1]
    new = literals[2]
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return sizes[0]
    return sizes[0].repeated(max(-(-len(new) // len(old)), 1))
