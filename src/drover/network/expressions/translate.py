"""From the raw SQL tree to the typed one.

Rule 1: a kind of raw node that is not in a table here is refused.
Rule 2: where sqlglot and Spark group operators differently, parentheses are required, so that a text means the same as
in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from drover.errors import ExpressionError, nearest
from drover.network.expressions import check, clauses
from drover.network.expressions.functions import BY_NAME, FUNCTIONS, REFUSED
from drover.network.expressions.literals import INTEGER_RANGE, integer_literal, read_number
from drover.network.expressions.tree import UNTYPED, ColumnRef, Expression, Literal
from drover.network.expressions.words import FORBIDDEN
from drover.network.schema import known
from drover.network.types import (
    BOOLEAN,
    DATE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
)

Columns = Mapping[str, Mapping[str, DataType]]  # side -> name -> type

BINARY: Final[Mapping[type[exp.Expr], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
UNARY: Final[Mapping[type[exp.Expr], str]] = {exp.Not: "not", exp.Neg: "negative", exp.BitwiseNot: "~"}
CHAINS: Final[Mapping[type[exp.Expr], str]] = {exp.And: "and", exp.Or: "or", exp.DPipe: "concat"}
COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
PREDICATES: Final = (*COMPARISONS, exp.Is, exp.In, exp.Between, exp.Like, exp.Escape, exp.Not)
BITWISE: Final = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)


@dataclass(frozen=True, slots=True)
class Translator:
    """The walk from one tree to the other; `text` is what errors repeat."""

    text: str
    columns: Columns

    def translate(self, node: object) -> Expression:
        """Return the typed tree of a raw node."""
        if not isinstance(node, exp.Expr):
            raise self.refuse("a part of this expression is missing", "Complete it.")
        kind = type(node)
        if kind in BINARY:
            return self._binary(node)
        # IS DISTINCT FROM has no row of its own: it is the negation of <=>.
        if kind is exp.NullSafeNEQ:
            self.demand_parentheses(node, node.this, node.expression)
            return self.call("not", self.named("<=>", node.this, node.expression))
        if kind in CHAINS:
            return self.named(CHAINS[kind], *_flatten(node, kind))
        if kind in UNARY:
            return self._unary(node)
        handler = HANDLERS.get(kind)
        if handler is None:
            raise self.refuse("drover does not know a part of it", SEE_ALL)
        return handler(self, node)

    def refuse(self, rule: str, way_out: str) -> ExpressionError:
        """Return the error about the whole text; the caller raises it."""
        return ExpressionError(self.text, rule, way_out)

    def named(self, name: str, *nodes: object) -> Expression:
        """Return the call of a function in the table."""
        return check.apply(FUNCTIONS[name], [self.translate(node) for node in nodes], self.text)

    def call(self, name: str, *arguments: Expression) -> Expression:
        """Return the call of a function in the table, with arguments that are already translated."""
        return check.apply(FUNCTIONS[name], arguments, self.text)

    def _binary(self, node: exp.Expr) -> Expression:
        left = node.args.get("this")
        right = node.args.get("expression")
        self.demand_parentheses(node, left, right)
        name = BINARY[type(node)]
        # An interval is not a value, so it is taken out before the operands are translated.
        if name in ("+", "-") and isinstance(right, exp.Interval):
            return self.call("shift", self.translate(left), clauses.interval(self, right, 1 if name == "+" else -1))
        if name == "+" and isinstance(left, exp.Interval):
            return self.call("shift", self.translate(right), clauses.interval(self, left, 1))
        a = self.translate(left)
        b = self.translate(right)
        if name == "-" and {a.type, b.type} <= {TIMESTAMP, TIMESTAMP_NTZ, DATE}:
            way_out = "Write unix_micros(a) - unix_micros(b), or datediff(a, b) for dates."
            raise self.refuse("the difference of two times is not a column type", way_out)
        return self.call(name, a, b)

    def demand_parentheses(self, node: exp.Expr, *operands: object) -> None:
        """Refuse a = b = c, a = b IS NULL and a | b & c, which Spark groups differently."""
        for operand in operands:
            mixed_bits = isinstance(node, BITWISE) and isinstance(operand, BITWISE) and type(operand) is not type(node)
            if mixed_bits or (isinstance(node, COMPARISONS) and isinstance(operand, PREDICATES)):
                raise self.refuse("it is unclear which operator comes first here", "Write parentheses.")

    def _unary(self, node: exp.Expr) -> Expression:
        operand = node.args.get("this")
        if isinstance(node, exp.Neg) and _is_whole(operand):
            return integer_literal(-int(node.this.name), f"-{node.this.name}")  # -9223372036854775808 is one
        if isinstance(node, exp.Not) and isinstance(operand, exp.Is) and isinstance(operand.expression, exp.Null):
            return self.named("is not null", operand.this)
        value = self.translate(operand)
        number = value.value if isinstance(value, Literal) else None
        # A bool is an int in Python, but not in SQL: the function table refuses its negative.
        if isinstance(node, exp.Neg) and isinstance(number, int | float) and value.type != BOOLEAN:
            fits = value.type.is_float or number != -INTEGER_RANGE[value.type]
            return Literal(value.type, -number if fits else None)
        return self.call(UNARY[type(node)], value)

    def _column(self, node: exp.Expr) -> Expression:
        if not isinstance(node.this, exp.Identifier) or node.args.get("db") or node.args.get("catalog"):
            raise self.refuse("a column is a name, or left.name or right.name in a join", "Write only that.")
        name = node.this.name
        table = node.args.get("table")
        # Without a prefix, a column is found if exactly one side has it.
        sides = [table.name] if table is not None else [side for side in self.columns if name in self.columns[side]]
        if table is not None and table.name not in self.columns:
            known = " or ".join(side for side in self.columns if side) or "no prefix"
            raise self.refuse(f"there is no input {table.name!r} here", f"Write {known}.")
        if len(sides) > 1:
            raise self.refuse(
                f"both inputs have a column {name!r}", f"Write {' or '.join(f'{s}.{name}' for s in sides)}."
            )
        if not sides or name not in self.columns[sides[0]]:
            raise self._unknown_column(name, sides)
        return ColumnRef(self.columns[sides[0]][name], name, sides[0])

    def _unknown_column(self, name: str, sides: list[str]) -> ExpressionError:
        if name.lower() in REFUSED:
            why, way_out = REFUSED[name.lower()]
            return self.refuse(f"{name} is refused: {why}", way_out)
        if name.lower() in FORBIDDEN:
            return self.refuse(*FORBIDDEN[name.lower()])
        shown = {
            (f"{side}.{column}" if side else column): column
            for side in (sides or self.columns)
            for column in self.columns[side]
        }
        hint = nearest(name, shown.values())
        return self.refuse(f"there is no column {name!r}", f"{hint}Known: {known(shown) if shown else 'none'}.")

    def _literal(self, node: exp.Expr) -> Expression:
        return Literal(STRING, node.name) if node.args.get("is_string") else read_number(node.name)

    def _function(self, node: exp.Expr) -> Expression:
        name = node.this.lower() if isinstance(node.this, str) else ""
        if name in REFUSED:
            why, way_out = REFUSED[name]
            raise self.refuse(f"{name} is refused: {why}", way_out)
        arguments = [self.translate(argument) for argument in node.expressions]
        # nullif is a CASE, so that it needs no builders that could differ between engines.
        if name == "nullif" and len(arguments) == 2:
            same = self.call("=", *arguments)
            return self.call("case", same, Literal(UNTYPED, None), arguments[0])
        if name in FORBIDDEN:
            raise self.refuse(*FORBIDDEN[name])
        if name not in CALLABLE:
            hint = nearest(name, CALLABLE)
            raise self.refuse(f"there is no function {name!r}", f"{hint}{SEE_ALL}")
        return check.apply(CALLABLE[name], arguments, self.text)


def _is_whole(node: object) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()


def _flatten(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """Return the operands of a chain such as a AND b AND c, without recursion."""
    operands: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if type(current) is kind:
            waiting += [current.this, current.expression]
        else:
            operands.append(current)
    return operands[::-1]


# Words such as "shift" and "is null" are rows too, but have a syntax of their own.
CALLABLE: Final = {
    name: row for name, row in BY_NAME.items() if name.isidentifier() and (name in row.aliases or not row.form)
}
SEE_ALL: Final = "See docs/reference/expressions.md for all of them."
SIDE_BY_SIDE: Final = ("two strings stand side by side", r"Write || between them, or \' for a quote in a string.")
NO_INTERVAL: Final = ("an interval is only added to a timestamp", "Write for example t + INTERVAL '5' MINUTE.")
NO_STAR: Final = ("* stands for a row only in count(*)", "Name a column.")
NO_DISTINCT: Final = ("DISTINCT goes with count", "Leave it out, or put a column of this name into `backticks`.")
NO_TUPLE: Final = ("a list of values is not a value", "Remove the parentheses or the comma.")


def _refusal(rule: str, way_out: str) -> Handler:
    """Return a handler that refuses a kind of raw node that people write but that has no meaning here."""

    def handle(translator: Translator, _: exp.Expr) -> Expression:
        raise translator.refuse(rule, way_out)

    return handle


Handler = Callable[[Translator, exp.Expr], Expression]
HANDLERS: Final[Mapping[type[exp.Expr], Handler]] = {
    exp.Column: Translator._column,
    exp.Literal: Translator._literal,
    exp.Boolean: lambda _, node: Literal(BOOLEAN, bool(node.this)),
    exp.Null: lambda _, __: Literal(UNTYPED, None),
    exp.Paren: lambda t, node: t.translate(node.this),
    exp.Is: clauses.is_,
    exp.Between: clauses.between,
    exp.In: clauses.in_,
    exp.Like: clauses.like,
    exp.Escape: clauses.escape,
    exp.Case: clauses.case,
    exp.Cast: clauses.cast,
    exp.TryCast: clauses.cast,
    exp.Extract: clauses.extract,
    exp.StrPosition: clauses.position,
    exp.Anonymous: Translator._function,
    exp.Concat: _refusal(*SIDE_BY_SIDE),
    exp.Interval: _refusal(*NO_INTERVAL),
    exp.Tuple: _refusal(*NO_TUPLE),
    exp.Star: _refusal(*NO_STAR),
    exp.Distinct: _refusal(*NO_DISTINCT),
}
