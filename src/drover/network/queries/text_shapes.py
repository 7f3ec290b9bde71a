"""The shapes of query texts, found for thousands at once: texts with one skeleton share one look at the parser.

Rule 1: what is found here equals what the parser finds. A text that is unclear, rare or faulty is left to the parser.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, ParamSpec, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from drover.network.expressions.tree import Literal
from drover.network.queries.notation import LONGEST_LINE
from drover.network.queries.read import TENANT
from drover.network.queries.shape import Shape
from drover.network.queries.shapes import KEPT, Shapes
from drover.network.queries.skeletons import Ints, ScannedTexts, scan
from drover.network.queries.template import COLUMN_CONVERSIONS, CONVERSIONS
from drover.network.queries.text_template import SkeletonHoles, TextTemplate, find_holes, learn_text_template
from drover.network.schema import NAME
from drover.network.types import arrow_type

AT_A_TIME: Final = 262_144  # texts, so that memory is bounded; each skeleton is looked at once per so many texts
FEW: Final = 8  # texts of one skeleton; up to this, the parser reads them as fast as it learns a template
TRIES: Final = 3  # texts that a skeleton may be learned from: the first one may be faulty
log = logging.getLogger(__name__)

Flags = NDArray[np.bool_]
K = TypeVar("K")
P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False)
class ShapedTexts:
    """Queries of one shape, by the positions of their texts, with a column for each constant."""

    shape: Shape
    positions: Ints  # (k,) ascending
    names: pl.Series  # (k,)
    tenants: pl.Series  # (k,)
    constants: tuple[pa.Array, ...]  # of the shape's types, (k,) each

    def only(self, chosen: Flags) -> ShapedTexts:
        """Return only some of the queries, (k,)."""
        if chosen.all():
            return self
        mask = pl.Series(chosen)
        constants = tuple(one.filter(pa.array(chosen)) for one in self.constants)
        return ShapedTexts(
            self.shape, self.positions[chosen], self.names.filter(mask), self.tenants.filter(mask), constants
        )


class TextShapes:
    """The shapes of query texts on one network; caches a bounded number of templates."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes = shapes
        self._holes: OrderedDict[str, SkeletonHoles] = OrderedDict()  # by skeleton
        self._templates: OrderedDict[Hashable, TextTemplate] = OrderedDict()  # by skeleton and holes of the key

    def shape_of(self, texts: pl.Series) -> Iterator[ShapedTexts]:
        """Yield the texts whose shapes are found, chunk by chunk; the parser must read all others.

        Each text is the JSON of a query, or NULL. The names and tenants of those yielded are valid.
        """
        for start in range(0, len(texts), AT_A_TIME):
            some = scan(texts.slice(start, AT_A_TIME))
            clear = np.flatnonzero((some.skeletons.str.len_bytes() > 0).to_numpy())
            for (skeleton,), given in _groups([some.skeletons[clear]], clear):
                yield from self._of_skeleton(skeleton, some, given, start)

    def _of_skeleton(self, skeleton: str, texts: ScannedTexts, given: Ints, start: int) -> Iterator[ShapedTexts]:
        found = self._holes_of(skeleton, texts, given)
        if found is None:
            return
        first = texts.first[given]
        names = texts.strings(first + found.name)
        tenants = pl.repeat(TENANT, len(given), dtype=pl.String, eager=True)
        if found.tenant is not None:
            tenants = texts.strings(first + found.tenant)
        lengths = texts.lengths(given, len(found.marks))
        valid = _are_names(names) & _are_names(tenants) & (lengths + len(skeleton) <= LONGEST_LINE)
        rows = np.flatnonzero(valid)
        for values, chosen in _groups([texts.strings(first[rows] + hole) for hole in found.key], rows):
            template = self._template_of(skeleton, found, values, len(chosen))
            if template is None:
                continue
            # An expression is not longer than that of the template plus all holes.
            fits = chosen[lengths[chosen] <= template.room]
            constants = _constants(template, found, texts, first[fits])
            shaped = ShapedTexts(template.shape, start + given[fits], names[fits], tenants[fits], constants)
            yield shaped.only(_complete(constants, len(fits)))

    def _holes_of(self, skeleton: str, texts: ScannedTexts, given: Ints) -> SkeletonHoles | None:
        found = self._holes.get(skeleton)
        if found is not None or len(given) < FEW:
            return found
        for text in given[:: max(len(given) // TRIES, 1)][:TRIES].tolist():
            found = _learned(find_holes, skeleton, texts.holes_of(text), self.shapes)
            if found is not None:
                _keep(self._holes, skeleton, found)
                break
        return found

    def _template_of(
        self, skeleton: str, found: SkeletonHoles, key: tuple[str, ...], texts: int
    ) -> TextTemplate | None:
        template = self._templates.get((skeleton, *key))
        if template is None and texts >= FEW:
            template = _learned(learn_text_template, skeleton, key, found, self.shapes)
            if template is not None:
                _keep(self._templates, (skeleton, *key), template)
        return template


def _learned(learn: Callable[P, T | None], *given: P.args, **options: P.kwargs) -> T | None:
    """Return what is learned from a text; None if that fails, because the parser then reads the text and says why."""
    try:
        return learn(*given, **options)
    except Exception:  # a defect of drover: the parser meets it again, and refuses that query alone
        log.debug("a skeleton could not be learned", exc_info=True)
        return None


def _keep(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    while len(kept) > KEPT:
        kept.popitem(last=False)


def _groups(columns: Sequence[pl.Series], rows: Ints) -> Iterator[tuple[tuple[str, ...], Ints]]:
    """Yield each combination of values and the rows that have it; without columns, all rows together."""
    if not len(rows):
        return
    if not columns:
        yield (), rows
        return
    frame = pl.DataFrame([column.alias(str(number)) for number, column in enumerate(columns)])
    found = frame.with_columns(pl.Series("row", rows)).group_by(frame.columns, maintain_order=True).agg("row")
    for *values, mine in found.iter_rows():
        yield tuple(values), np.array(mine, dtype=np.int64)


def _are_names(texts: pl.Series) -> Flags:
    """Return which texts are valid names."""
    return texts.str.contains(f"^(?:{NAME.pattern})$").to_numpy()


def _constants(template: TextTemplate, found: SkeletonHoles, texts: ScannedTexts, first: Ints) -> tuple[pa.Array, ...]:
    """Return the constants of texts, given the number of each text's first hole; NULL for a number without bounds."""
    made = []
    for one, kind in zip(template.constants, template.shape.types, strict=True):
        if isinstance(one, Literal):
            made.append(pa.repeat(pa.scalar(one.value, arrow_type(kind)), len(first)))
            continue
        hole, conversion = one
        values = texts.values(found.marks[hole], first + hole)
        if values.dtype.is_numeric():
            values = pl.Series(COLUMN_CONVERSIONS[CONVERSIONS.index(conversion)](values.to_numpy()))
            values = values.set(~values.is_finite(), None) if values.dtype.is_float() else values
        made.append(values.to_arrow().cast(arrow_type(kind)))
    return tuple(made)


def _complete(constants: tuple[pa.Array, ...], rows: int) -> Flags:
    """Return the rows in which no constant is NULL."""
    complete = np.ones(rows, bool)
    for one in constants:
        complete &= np.asarray(one.is_valid())
    return complete
