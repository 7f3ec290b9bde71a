"""From text to a raw SQL tree; hostile text is refused before it can cost time or memory.

Rule 1: whatever the text, the outcome is a tree or an ExpressionError, quickly.
Rule 2: functions stay as they were written. sqlglot's own functions rewrite their arguments, hence the empty tables.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from drover.errors import ExpressionError
from drover.network.expressions.words import resolve_words

MAX_TEXT: Final = 20_000  # characters
MAX_NESTING: Final = 100  # open parentheses, CASEs and prefix operators
FRAMES: Final = 6_000  # Python's stack while reading; sqlglot needs up to 30 frames for a level
LIMIT: Final = threading.Lock()  # the recursion limit belongs to the whole process

PREFIXES: Final = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
ESCAPES: Final = re.compile(r"\\(?!u[0-9A-Fa-f]{4}|[\\'\"ntr%_])", re.DOTALL)


class ExpressionDialect(Spark):
    """Spark's SQL, reduced to expressions whose functions are plain names."""

    class Parser(SparkParser):
        """Spark's parser without the functions it knows."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: SparkParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT", "POSITION")
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}


@contextmanager
def deep_stack() -> Iterator[None]:
    """Allow deep recursion for a while. Otherwise the caller's stack depth would decide which texts are accepted."""
    with LIMIT:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, FRAMES))
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


def read(text: str) -> exp.Expr:
    """Return the raw tree of `text`, or refuse."""
    if len(text) > MAX_TEXT:
        raise ExpressionError(text, f"an expression has at most {MAX_TEXT} characters", "Split it over two operators.")
    try:
        # A lone surrogate cannot be encoded. It would pass the parser and fail later, in Arrow or in Spark.
        text.encode()
        tokens = resolve_words(_tokenize(text), text)
        _check_nesting(tokens, text)
        with deep_stack():
            found = ExpressionDialect().parser().parse_into(exp.Condition, tokens, text)
    except RecursionError:
        raise _too_deep(text) from None
    # On malformed text, sqlglot raises more than its own errors. To a user, all of them mean the same.
    except (SqlglotError, ValueError, IndexError, AttributeError, TypeError, KeyError) as error:
        raise ExpressionError(
            text,
            f"this is not a SQL expression ({_reason(error)})",
            "Look there for a missing operator, comma or parenthesis, and put a column named like a keyword into "
            "`backticks`.",
        ) from None
    if len(found) != 1 or not isinstance(found[0], exp.Expr):
        raise ExpressionError(text, "there must be exactly one expression", "Write one, e.g. price * 2 > 10.")
    return found[0]


def _tokenize(text: str) -> Sequence[Token]:
    """Return the words and signs of `text`."""
    tokens = ExpressionDialect().tokenize(text)
    if not tokens:
        raise ExpressionError(text, "there must be exactly one expression", "Write one, e.g. price * 2 > 10.")
    _check_signs(tokens, text)
    return tokens


def _check_signs(tokens: Sequence[Token], text: str) -> None:
    """Refuse comments, which may be hints, and escapes in strings that Spark reads differently."""
    for token in tokens:
        if token.comments:
            raise ExpressionError(text, "an expression contains no comments and no hints", "Remove them.")
        written = text[token.start : token.end + 1]
        if token.token_type == TokenType.STRING and ESCAPES.search(written.replace(r"\\", "")):
            way_out = r"Write the character itself, or one of \\ \' \n \t \r \% \_ \u0041."
            raise ExpressionError(text, "this backslash in a string is not understood", way_out)


def _check_nesting(tokens: Sequence[Token], text: str) -> None:
    """Refuse deep nesting before it reaches the parser, which is recursive."""
    depth = prefixes = 0
    for token in tokens:
        kind = token.token_type
        if kind in (TokenType.L_PAREN, TokenType.CASE):
            depth += 1
        elif kind in (TokenType.R_PAREN, TokenType.END):
            depth -= 1
        prefixes = prefixes + 1 if kind in PREFIXES else 0
        if depth > MAX_NESTING or prefixes > MAX_NESTING:
            raise _too_deep(text)


def _too_deep(text: str) -> ExpressionError:
    rule = f"an expression nests at most {MAX_NESTING} levels"
    return ExpressionError(text, rule, "Compute a part of it in an operator before this one.")


def _reason(error: Exception) -> str:
    """Return in a few words what the parser could not parse."""
    faults = error.errors if isinstance(error, ParseError) else []
    if not faults:
        return "it cannot be parsed"
    near = str(faults[0].get("highlight") or "")[:40]
    return f"at {near!r}" if near else "it ends too early"
