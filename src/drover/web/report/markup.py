"""HTML and SVG that cannot be broken by what is in it.

Rule 1: plain text becomes markup in `element` alone, which escapes it; only what is `Markup` already is taken as it is.
Rule 2: characters that could hide, steer or reorder text are shown as escapes, as on a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from drover.errors import visible

LONGEST: Final = 800  # characters of one text; a reason may list many units
VOID: Final = frozenset({"meta", "rect", "path", "line", "circle", "br"})  # have no content


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Content = str | Markup | Iterable["Content"]


def text(given: str) -> Markup:
    r"""Return a text as markup.

    >>> text("<b>\u202e")
    '&lt;b&gt;\\u202e'
    """
    return Markup(escape(visible(given, LONGEST)))


def element(tag: str, *content: Content, **attributes: str | float | None) -> Markup:
    """Return an element; `_` in the name of an attribute stands for `-`, one at its end for nothing.

    An attribute that is None is left out; numbers are written as short as a drawing allows.

    >>> element("td", "a < b", class_="number")
    '<td class="number">a &lt; b</td>'
    """
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = join(*content)
    if not inside and tag in VOID:
        return Markup(f"<{tag}{given}/>")
    return Markup(f"<{tag}{given}>{inside}</{tag}>")


def join(*content: Content) -> Markup:
    """Return all content in one, texts escaped."""
    return Markup("".join(_flat(content)))


def _flat(content: Iterable[Content]) -> Iterable[str]:
    for each in content:
        if isinstance(each, Markup):
            yield each
        elif isinstance(each, str):
            yield text(each)
        else:
            yield from _flat(each)


def _value(value: str | float) -> str:
    if isinstance(value, Markup):  # such as a path of thousands of points, which `text` would cut
        return value
    return text(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
