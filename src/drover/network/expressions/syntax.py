"""From text to a raw SQL tree, with everything hostile turned away before it can cost anything.

Rule 1: whatever the text, the outcome is a tree or an ExpressionError, quickly.
Rule 2: words have a special meaning only if SYNTAX lists them; every other word is a name, so that no statement,
hint, parameter or clause of SQL can even be parsed.
Rule 3: functions stay as they were written. sqlglot's own functions rewrite their arguments, hence the empty tables.
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
from drover.network.types import SIMPLE

MAX_TEXT: Final = 20_000  # characters
MAX_NESTING: Final = 100  # open parentheses, CASEs and prefix operators
FRAMES: Final = 6_000  # Python's stack while reading; sqlglot needs up to 30 frames for a level
LIMIT: Final = threading.Lock()  # the recursion limit belongs to the whole process

SYNTAX: Final = frozenset(
    [
        "STRING",
        "NUMBER",
        "IDENTIFIER",
        "VAR",
        "L_PAREN",
        "R_PAREN",
        "COMMA",
        "DOT",
        "DCOLON",
        "PLUS",
        "DASH",
        "STAR",
        "SLASH",
        "MOD",
        "DIV",
        "EQ",
        "NEQ",
        "LT",
        "LTE",
        "GT",
        "GTE",
        "NULLSAFE_EQ",
        "AMP",
        "PIPE",
        "CARET",
        "TILDE",
        "DPIPE",
        "AND",
        "OR",
        "NOT",
        "IS",
        "IN",
        "BETWEEN",
        "LIKE",
        "ESCAPE",
        "NULL",
        "TRUE",
        "FALSE",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "DISTINCT",
        "FROM",
        "INTERVAL",
        "ALIAS",
    ]
)
TYPES: Final = frozenset(
    [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
        "TEXT",
        "BINARY",
        "DATE",
        "TIMESTAMP",
        "TIMESTAMPLTZ",
        "TIMESTAMPTZ",
        "TIMESTAMPNTZ",
    ]
)
KNOWN_TYPES: Final = tuple(sorted({str(data_type) for data_type in SIMPLE.values()}))
PREFIXES: Final = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
FORBIDDEN: Final = {  # words that show that more than an expression was meant
    "select": "an expression contains no subquery",
    "over": "an expression contains no window function",
    "filter": "an expression contains no FILTER clause",
    "rlike": "regular expressions differ between Java and Rust",
    "regexp": "regular expressions differ between Java and Rust",
    "ilike": "ILIKE is not known",
    "collate": "strings compare by their bytes only",
}
INSTEAD: Final = {
    "select": "Join the other stream in the network.",
    "over": "Use a windowed aggregate operator of the network.",
    "filter": "Write the condition into the argument, e.g. sum(CASE WHEN ok THEN x END).",
    "rlike": "Write LIKE, contains, startswith or instr.",
    "regexp": "Write LIKE, contains, startswith or instr.",
    "ilike": "Write lower(x) LIKE 'pattern'.",
    "collate": "Leave COLLATE out.",
}
ESCAPES: Final = re.compile(r"\\(?!u[0-9A-Fa-f]{4}|[\\'\"ntr%_])", re.DOTALL)


class ExpressionDialect(Spark):
    """Spark's SQL, reduced to expressions whose functions are plain names."""

    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            _name: SparkParser.FUNCTION_PARSERS[_name] for _name in ("CAST", "TRY_CAST", "EXTRACT", "POSITION")
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}


@contextmanager
def deep_stack() -> Iterator[None]:
    """Allow deep recursion for a while, so that what is accepted does not depend on how deep the caller is."""
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
        text.encode()
        tokens = [_plain(token, before, after, text) for before, token, after in _neighbours(_tokenize(text))]
        _check_nesting(tokens, text)
        with deep_stack():
            found = ExpressionDialect().parser().parse_into(exp.Condition, tokens, text)
    except RecursionError:
        raise _too_deep(text) from None
    except (SqlglotError, ValueError, IndexError, AttributeError, TypeError, KeyError) as error:
        raise ExpressionError(
            text,
            f"this is no SQL expression ({_reason(error)})",
            "Look there for a missing operator, comma or parenthesis.",
        ) from None
    if len(found) != 1 or not isinstance(found[0], exp.Expr):
        raise ExpressionError(text, "there must be exactly one expression", "Write one, e.g. price * 2 > 10.")
    return found[0]


def _tokenize(text: str) -> Sequence[Token]:
    """Return the words and signs of `text`."""
    tokens = ExpressionDialect().tokenize(text)
    if not tokens:
        raise ExpressionError(text, "there must be exactly one expression", "Write one, e.g. price * 2 > 10.")
    return tokens


def _neighbours(tokens: Sequence[Token]) -> list[tuple[Token | None, Token, Token | None]]:
    return list(zip([None, *tokens[:-1]], tokens, [*tokens[1:], None], strict=True))


def _plain(token: Token, before: Token | None, after: Token | None, text: str) -> Token:
    """Return the token, as a mere name unless SYNTAX gives it a meaning here."""
    kind, word = token.token_type.name, token.text
    if token.comments:
        raise ExpressionError(text, "an expression contains no comments and no hints", "Remove them.")
    if kind == "STRING" and ESCAPES.search(re.sub(r"\\\\", "", text[token.start : token.end + 1])):
        way_out = r"Write the character itself, or one of \\ \' \n \t \r \% \_ \u0041."
        raise ExpressionError(text, "this backslash in a string is not understood", way_out)
    if (
        kind not in ("STRING", "IDENTIFIER")
        and (rule := FORBIDDEN.get(word.lower()))
        and _is_keyword(word, before, after)
    ):
        raise ExpressionError(text, rule, INSTEAD[word.lower()])
    if _follows_as(before) and kind not in TYPES:
        raise ExpressionError(text, f"{word!r} is no type to cast to", f"Known: {', '.join(KNOWN_TYPES)}.")
    if kind in TYPES and _is_type(before, after):
        return token
    if kind == "INTERVAL" and (after is None or after.token_type.name not in ("STRING", "NUMBER", "DASH")):
        return _name(token)
    if kind in SYNTAX:
        return token
    if re.fullmatch(r"\w+", word) and text[token.start : token.end + 1] == word:  # not x'00', whose word is 00
        return _name(token)
    raise ExpressionError(text, f"{word!r} has no meaning in an expression", "Put names into `backticks`.")


def _is_keyword(word: str, before: Token | None, after: Token | None) -> bool:
    """Whether a word of FORBIDDEN is meant as such: not after a dot, and not the only word."""
    return after is not None and (before is None or before.token_type != TokenType.DOT)


def _is_type(before: Token | None, after: Token | None) -> bool:
    """Whether a type's name is meant as a type: after AS or ::, or before a string, as in DATE '2024-02-29'."""
    return _follows_as(before) or (after is not None and after.token_type == TokenType.STRING)


def _follows_as(before: Token | None) -> bool:
    return before is not None and before.token_type in (TokenType.ALIAS, TokenType.DCOLON)


def _name(token: Token) -> Token:
    return Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end, [])


def _check_nesting(tokens: Sequence[Token], text: str) -> None:
    """Refuse deep nesting before the parser, which is recursive, meets it."""
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
    """Return in a few words what the parser stumbled over."""
    faults = error.errors if isinstance(error, ParseError) else []
    if not faults:
        return "it cannot be parsed"
    near = str(faults[0].get("highlight") or "")[:40]
    return f"at {near!r}" if near else "it ends too early"
