"""The Jinja2 environment of all pages and figures, and their style sheets.

Rule 1: every value is escaped (autoescape), and a name that a template does not get is an error.
Rule 2: characters that could hide or reorder text are shown as escapes, as on a terminal, and long text is cut.
A float that no filter has formatted is a coordinate, and has one decimal.
Rule 3: a page fetches nothing. Its style sheet is inline, and its Content-Security-Policy allows that one alone.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from drover.errors import visible
from drover.web import formatting
from drover.wording import count

LONGEST: Final = 800  # characters of one text; a reason may list many units
FORMATS: Final = (formatting.number, formatting.percent, formatting.seconds, formatting.size, formatting.clock)


def render(template: str, **values: Any) -> str:  # Any: each template takes other values
    """Return what a template makes of the values."""
    return _environment().get_template(template).render(values)


def style_sheet(*names: str) -> Markup:
    """Return style sheets of the templates folder as one."""
    sheets = (files("drover.web").joinpath("templates", name).read_text(encoding="utf-8") for name in names)
    return Markup("".join(sheets))


def figure_style() -> Markup:
    """Return the style sheet of an SVG file that stands alone.

    It states each colour twice. Programs that do not know CSS variables, such as Inkscape, use the first.
    """
    sheet = style_sheet("chart.css")
    colours = dict(re.findall(r"--(\w+): (#\w+)", sheet.partition("@media")[0]))
    return Markup(re.sub(r"([\w-]+): var\(--(\w+)\)", lambda use: f"{use[1]}: {colours[use[2]]}; {use[0]}", sheet))


def content_policy(style: str) -> str:
    """Return the Content-Security-Policy of a page that has this inline style sheet and needs nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("drover.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update({function.__name__: function for function in FORMATS})
    environment.filters["grouped"] = "{:,}".format
    environment.globals["count"] = count
    return environment


def _printed(value: Any) -> Any:  # Any: whatever a template prints
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return visible(value, LONGEST) if isinstance(value, str) and not isinstance(value, Markup) else value
