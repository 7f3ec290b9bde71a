"""From the raw SQL tree to the typed one.

Rule 1: a kind of raw node that is not in a table here is refused. Rule 2: where sqlglot and Spark group operators
differently, parentheses are demanded, so that a text never means something else than in Spark.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from drover.errors import ExpressionError
from drover.network.expressions import check
from drover.network.expressions.functions import BY_NAME, FUNCTIONS, REFUSED
from drover.network.expressions.like import with_backslash
from drover.network.expressions.literals import integer_literal, read_date, read_number, read_timestamp
from drover.network.expressions.times import EXTRACTS, INTERVAL_MICROS
from drover.network.expressions.tree import ONLY, UNTYPED, Column, Expression, Literal
from drover.network.types import BIGINT, BOOLEAN, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType, parse_type

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
COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
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
            return self.binary(node)
        if kind in CHAINS:
            return self.named(CHAINS[kind], *flatten(node, kind))
        if kind in UNARY:
            return self.unary(node)
        handler = HANDLERS.get(kind)
        if handler is None:
            rule = f"{kind.__name__} is not part of drover's expressions"
            raise self.refuse(rule, "See the list of functions and operators.")
        return handler(self, node)

    def refuse(self, rule: str, way_out: str) -> ExpressionError:
        return ExpressionError(self.text, rule, way_out)

    def named(self, name: str, *nodes: object) -> Expression:
        """Return the call of a function that the table surely has."""
        return check.apply(FUNCTIONS[name], [self.translate(node) for node in nodes], self.text)

    def call(self, name: str, *arguments: Expression) -> Expression:
        return check.apply(FUNCTIONS[name], arguments, self.text)

    def binary(self, node: exp.Expr) -> Expression:
        left, right = node.args.get("this"), node.args.get("expression")
        self.demand_parentheses(node, left, right)
        name = BINARY[type(node)]
        if name in ("+", "-") and isinstance(right, exp.Interval):
            return self.call("shift", self.translate(left), self.interval(right, 1 if name == "+" else -1))
        if name == "+" and isinstance(left, exp.Interval):
            return self.call("shift", self.translate(right), self.interval(left, 1))
        a, b = self.translate(left), self.translate(right)
        if name == "-" and {a.type, b.type} <= {TIMESTAMP, TIMESTAMP_NTZ, DATE}:
            way_out = "Write unix_micros(a) - unix_micros(b), or datediff(a, b) for dates."
            raise self.refuse("the difference of two times is no column type", way_out)
        return self.call(name, a, b)

    def demand_parentheses(self, node: exp.Expr, *operands: object) -> None:
        """Refuse a = b = c, a = b IS NULL and a | b & c, which Spark groups in its own way."""
        for operand in operands:
            mixed_bits = isinstance(node, BITWISE) and isinstance(operand, BITWISE) and type(operand) is not type(node)
            if mixed_bits or (isinstance(node, COMPARISONS) and isinstance(operand, PREDICATES)):
                raise self.refuse("it is unclear which operator comes first here", "Write parentheses.")

    def unary(self, node: exp.Expr) -> Expression:
        operand = node.args.get("this")
        if isinstance(node, exp.Neg) and isinstance(operand, exp.Literal) and operand.name.isdecimal():
            return integer_literal(-int(operand.name), f"-{operand.name}")  # -9223372036854775808 is one
        if isinstance(node, exp.Not) and isinstance(operand, exp.Is) and isinstance(operand.expression, exp.Null):
            return self.named("is not null", operand.this)
        value = self.translate(operand)
        if isinstance(node, exp.Neg) and isinstance(value, Literal) and isinstance(value.value, int | float):
            return Literal(value.type, -value.value)
        return self.call(UNARY[type(node)], value)

    def column(self, node: exp.Expr) -> Expression:
        if not isinstance(node.this, exp.Identifier) or node.args.get("db") or node.args.get("catalog"):
            raise self.refuse("a column is a name, or left.name or right.name in a join", "Write only that.")
        name, table = node.this.name, node.args.get("table")
        sides = [table.name] if table is not None else [side for side in self.columns if name in self.columns[side]]
        if table is not None and table.name not in self.columns:
            known = " or ".join(side for side in self.columns if side) or "no prefix"
            raise self.refuse(f"there is no input {table.name!r} here", f"Write {known}.")
        if len(sides) > 1:
            raise self.refuse(
                f"both inputs have a column {name!r}", f"Write {' or '.join(f'{s}.{name}' for s in sides)}."
            )
        if not sides or name not in self.columns[sides[0]]:
            raise self.unknown_column(name, sides)
        return Column(self.columns[sides[0]][name], name, sides[0])

    def unknown_column(self, name: str, sides: list[str]) -> ExpressionError:
        if name.lower() in REFUSED:
            why, way_out = REFUSED[name.lower()]
            return self.refuse(f"{name} is refused: {why}", way_out)
        shown = {
            (f"{side}.{column}" if side else column): column
            for side in (sides or self.columns)
            for column in self.columns[side]
        }
        near = difflib.get_close_matches(name, shown.values(), n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        return self.refuse(f"there is no column {name!r}", f"{hint}Known: {', '.join(shown) or 'none'}.")

    def literal(self, node: exp.Expr) -> Expression:
        return Literal(STRING, node.name) if node.args.get("is_string") else read_number(node.name)

    def is_(self, node: exp.Expr) -> Expression:
        if isinstance(node.expression, exp.Null):
            return self.named("is null", node.this)
        if isinstance(node.expression, exp.Boolean):
            return self.named("<=>", node.this, node.expression)
        raise self.refuse("IS goes with NULL, TRUE, FALSE and DISTINCT FROM", "Write = instead.")

    def between(self, node: exp.Expr) -> Expression:
        low, high = node.args.get("low"), node.args.get("high")
        self.demand_parentheses(exp.EQ(), node.this, low, high)
        if node.args.get("symmetric"):
            raise self.refuse("BETWEEN SYMMETRIC is not known", "Put the smaller value first.")
        value = self.translate(node.this)
        return self.call(
            "and", self.call(">=", value, self.translate(low)), self.call("<=", value, self.translate(high))
        )

    def in_(self, node: exp.Expr) -> Expression:
        items = node.args.get("expressions")
        if not items:
            raise self.refuse("IN takes a list of literals", "Write for example x IN (1, 2).")
        self.demand_parentheses(exp.EQ(), node.this)
        return self.named("in", node.this, *items)

    def like(self, node: exp.Expr, escape: str = "\\") -> Expression:
        self.demand_parentheses(exp.EQ(), node.this)
        pattern = self.translate(node.expression)
        if escape != "\\" and isinstance(pattern, Literal) and isinstance(pattern.value, str):
            rewritten = with_backslash(pattern.value, escape)
            if rewritten is None:
                raise self.refuse(f"{escape!r} escapes only %, _ and itself in this pattern", "Write it twice.")
            pattern = Literal(STRING, rewritten)
        return self.call("like", self.translate(node.this), pattern)

    def escape(self, node: exp.Expr) -> Expression:
        sign = node.expression
        if not isinstance(node.this, exp.Like) or not isinstance(sign, exp.Literal) or len(sign.name) != 1:
            raise self.refuse(
                "ESCAPE follows LIKE and names one character", "Write for example LIKE '10/%' ESCAPE '/'."
            )
        return self.like(node.this, sign.name)

    def case(self, node: exp.Expr) -> Expression:
        branches: list[Expression] = []
        subject = node.args.get("this")
        for branch in node.args.get("ifs") or []:
            tested = self.translate(branch.this)
            branches.append(tested if subject is None else self.call("=", self.translate(subject), tested))
            branches.append(self.translate(branch.args.get("true")))
        if not branches:
            raise self.refuse("CASE has at least one WHEN", "Write CASE WHEN a THEN b ELSE c END.")
        default = node.args.get("default")
        branches.append(self.translate(default) if default is not None else Literal(UNTYPED, None))
        return self.call("case", *branches)

    def cast(self, node: exp.Expr) -> Expression:
        target = parse_type(node.args["to"].sql("spark"))
        if type(node) is exp.Cast:  # DATE 'text': sqlglot makes CAST itself a TryCast
            if target == DATE:
                return read_date(node.this.name)
            if target in (TIMESTAMP, TIMESTAMP_NTZ):
                return read_timestamp(node.this.name, target)
            raise self.refuse(f"there is no literal {target} 'text'", f"Write CAST('text' AS {target}).")
        if any(node.args.get(extra) for extra in ("format", "action", "default")):
            raise self.refuse("CAST takes a value and a type", "Write CAST(x AS type).")
        return check.cast(self.translate(node.this), target, self.text)

    def extract(self, node: exp.Expr) -> Expression:
        unit = node.this.name.lower()
        if unit not in EXTRACTS:
            known = ", ".join(sorted(set(EXTRACTS)))
            raise self.refuse(f"EXTRACT takes {known}", "For seconds write second(x), without the fraction.")
        return self.named(EXTRACTS[unit], node.expression)

    def position(self, node: exp.Expr) -> Expression:
        if node.args.get("position") or node.args.get("occurrence"):
            raise self.refuse("position takes two arguments", "Write position(part IN text).")
        return self.named("locate", node.args.get("substr"), node.this)

    def interval(self, node: exp.Expr, sign: int) -> Literal:
        unit = node.args.get("unit")
        word = unit.name.lower().removesuffix("s") if isinstance(unit, exp.Var) else ""
        number = node.this.name.strip() if isinstance(node.this, exp.Literal) else ""
        if word not in INTERVAL_MICROS or not number.removeprefix("-").isdecimal() or len(number) > 18:
            known = ", ".join(INTERVAL_MICROS)
            raise self.refuse(f"an interval is a whole number of {known}", "Write for example INTERVAL '5' MINUTE.")
        return Literal(BIGINT, sign * int(number) * INTERVAL_MICROS[word])

    def function(self, node: exp.Expr) -> Expression:
        name = node.this.lower() if isinstance(node.this, str) else ""
        arguments = [self.translate(argument) for argument in node.expressions]
        if name == "nullif" and len(arguments) == 2:
            same = self.call("=", *arguments)
            return self.call("case", same, Literal(UNTYPED, None), arguments[0])
        if name in REFUSED:
            why, way_out = REFUSED[name]
            raise self.refuse(f"{name} is refused: {why}", way_out)
        if name not in BY_NAME or name == "shift":
            near = difflib.get_close_matches(name, BY_NAME, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise self.refuse(f"there is no function {name!r}", f"{hint}See the list of functions.")
        return check.apply(BY_NAME[name], arguments, self.text)


def flatten(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
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


Handler = Callable[[Translator, exp.Expr], Expression]
HANDLERS: Final[Mapping[type[exp.Expr], Handler]] = {
    exp.Column: Translator.column,
    exp.Literal: Translator.literal,
    exp.Boolean: lambda _, node: Literal(BOOLEAN, bool(node.this)),
    exp.Null: lambda _, node: Literal(UNTYPED, None),
    exp.Paren: lambda t, node: t.translate(node.this),
    exp.Is: Translator.is_,
    exp.Between: Translator.between,
    exp.In: Translator.in_,
    exp.Like: Translator.like,
    exp.Escape: Translator.escape,
    exp.Case: Translator.case,
    exp.Cast: Translator.cast,
    exp.TryCast: Translator.cast,
    exp.Extract: Translator.extract,
    exp.StrPosition: Translator.position,
    exp.Anonymous: Translator.function,
}
__all__ = ["ONLY", "Columns", "Translator"]
