"""Which words of a text are keywords, by their position, and which are names.

Rule 1: a word is a keyword only if SYNTAX lists it and its position allows it. Every other word is a name, so no
statement, hint, parameter or clause of SQL can even be parsed.
Rule 2: the position decides. A value is expected at the start and after an operator, a comma or an open parenthesis. An
operator is expected after a value.
Rule 3: a keyword that cannot be understood is an error that mentions `backticks`, the way to name any column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from drover.errors import ExpressionError
from drover.network.types import SIMPLE

VALUES: Final = frozenset({"STRING", "NUMBER", "IDENTIFIER", "VAR", "NULL", "TRUE", "FALSE"})
SIGNS: Final = frozenset(
    [
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
    ]
)
OPERATORS: Final = frozenset({"AND", "OR", "IS", "IN", "BETWEEN", "LIKE", "WHEN", "THEN", "ELSE"})
AFTER_A_VALUE: Final = frozenset({"DIV", "ESCAPE", "ALIAS", "FROM", "END"})  # keywords there, names elsewhere
SYNTAX: Final = VALUES | SIGNS | OPERATORS | AFTER_A_VALUE | {"NOT", "CASE", "DISTINCT", "INTERVAL"}
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
QUOTED: Final = frozenset({"STRING", "IDENTIFIER"})  # their text is not what was written
ENDS_A_VALUE: Final = VALUES | TYPES | {"R_PAREN", "END"}
STARTS_A_VALUE: Final = QUOTED | {"NUMBER", "L_PAREN", "PLUS", "DASH", "TILDE"}  # and words do
AMBIGUOUS: Final = AFTER_A_VALUE | {"PLUS", "DASH", "NOT"}  # after a name they go on, elsewhere they begin a value
RESERVED: Final = ("and", "between", "case", "distinct", "else", "in", "is", "like", "not", "or", "then", "when")
CONSTANTS: Final = ("false", "null", "true")
BACKTICKS: Final = "If it is the name of a column, put it into `backticks`."

NO_REGEX: Final = "Write LIKE, contains, startswith or instr."
FORBIDDEN: Final[Mapping[str, tuple[str, str]]] = {  # words that show that more than an expression was meant
    "select": ("an expression contains no subquery", "Join the other stream in the network."),
    "over": ("an expression contains no window function", "Use a windowed aggregate operator of the network."),
    "filter": (
        "an expression contains no FILTER clause",
        "Write the condition into the argument, e.g. sum(CASE WHEN ok THEN x END).",
    ),
    "rlike": ("regular expressions differ between Java and Rust", NO_REGEX),
    "regexp": ("regular expressions differ between Java and Rust", NO_REGEX),
    "ilike": ("ILIKE is not known", "Write lower(x) LIKE 'pattern'."),
    "collate": ("strings compare by their bytes only", "Leave COLLATE out."),
}


def resolve_words(tokens: Sequence[Token], text: str) -> list[Token]:
    """Return the tokens, with each word resolved to a keyword or a name; ExpressionError if it can be neither."""
    return list(_WordReader(text, tokens).resolve())


@dataclass(slots=True)
class _WordReader:
    """One pass from left to right."""

    text: str
    tokens: Sequence[Token]
    done: list[str] = field(default_factory=list)  # the kinds of the resolved tokens
    opened: list[str] = field(default_factory=list)  # CASE and ( that are not closed yet

    def resolve(self) -> Iterator[Token]:
        """Yield every token with its final kind."""
        last_when = max((i for i, token in enumerate(self.tokens) if _kind(token) == "WHEN"), default=-1)
        for i, token in enumerate(self.tokens):
            is_word = self._is_word(token)
            keep = self._is_keyword(i, i < last_when) if is_word else self._is_sign(token)
            final = token if keep else _name(token)
            kind = _kind(final)
            if kind in ("CASE", "L_PAREN"):
                self.opened.append(kind)
            elif kind in ("END", "R_PAREN") and self.opened:
                self.opened.pop()
            self.done.append(kind)
            yield final

    def _is_word(self, token: Token) -> bool:
        written = self.text[token.start : token.end + 1]  # for x'00' that is not the token's text
        kind = _kind(token)
        return kind not in QUOTED | {"NUMBER"} and written == token.text and re.fullmatch(r"\w+", written) is not None

    def _is_sign(self, token: Token) -> bool:
        """Whether this is a sign, number, string or quoted name; nothing else is understood."""
        if self._back(1) in ("ALIAS", "DCOLON"):
            return self._is_type(token)
        if _kind(token) not in SYNTAX:
            raise ExpressionError(
                self.text, f"{token.text!r} has no meaning in an expression", "Put names into `backticks`."
            )
        return True

    def _back(self, steps: int) -> str:
        """Return the kind of the token `steps` steps before the next one, "" before the first."""
        return self.done[-steps] if len(self.done) >= steps else ""

    def _is_keyword(self, i: int, before_when: bool) -> bool:
        """Whether the word at `i` is a keyword; refuse it if it cannot be one and cannot be a name either."""
        token = self.tokens[i]
        kind = _kind(token)
        word = token.text.lower()
        if self._back(1) == "DOT":
            return False
        if self._back(1) in ("ALIAS", "DCOLON"):
            return self._is_type(token)
        negated = self._back(1) == "NOT" and self._back(2) in ENDS_A_VALUE  # x NOT LIKE
        if self._back(1) in ENDS_A_VALUE or negated:
            if word in FORBIDDEN:
                raise ExpressionError(self.text, *FORBIDDEN[word])
            return kind in SYNTAX
        if word == "select" and self._starts_query(i):
            raise ExpressionError(self.text, *FORBIDDEN[word])
        if kind in AFTER_A_VALUE:
            return self._is_misplaced_keyword(token)
        return self._begins(i, kind, before_when)

    def _begins(self, i: int, kind: str, before_when: bool) -> bool:
        """Whether the word at `i`, where a value is expected, is a keyword that begins one."""
        after = self.tokens[i + 1] if i + 1 < len(self.tokens) else None
        if kind in TYPES:
            return after is not None and _kind(after) == "STRING"  # DATE '2024-02-29'
        if kind == "INTERVAL":
            return self._is_interval(i)
        understood = {
            "CASE": before_when,
            "WHEN": self._back(1) == "CASE",
            "NOT": self._back(1) == "IS" or self._starts_value(after),
            "DISTINCT": self._follows_is() or (self._back(1) == "L_PAREN" and self._starts_value(after)),
        }
        if kind in OPERATORS or kind in understood:
            if not understood.get(kind, False):
                word = self.tokens[i].text
                raise ExpressionError(self.text, f"{word!r} stands where a value is expected", BACKTICKS)
            return True
        return kind in VALUES

    def _is_misplaced_keyword(self, token: Token) -> bool:
        """Whether DIV, ESCAPE, AS, FROM or END is a keyword although no value comes before it."""
        if _kind(token) == "FROM":
            return self._back(1) == "DISTINCT" and self._back(2) in ("IS", "NOT")
        if _kind(token) == "END" and self.opened[-1:] == ["CASE"]:
            raise ExpressionError(self.text, f"{token.text!r} stands where a value is expected", BACKTICKS)
        return False

    def _follows_is(self) -> bool:
        return self._back(1) == "IS" or (self._back(1) == "NOT" and self._back(2) == "IS")

    def _starts_value(self, token: Token | None) -> bool:
        if token is None or not self._is_word(token):
            return token is not None and (_kind(token) in STARTS_A_VALUE or token.text == "!")
        return _kind(token) not in OPERATORS

    def _starts_query(self, i: int) -> bool:
        """Whether SELECT is followed by a value or by * FROM; a name would be followed by an operator."""
        after = [*self.tokens[i + 1 : i + 3], None, None]
        if after[0] is not None and _kind(after[0]) == "STAR":
            return after[1] is None or _kind(after[1]) in ("FROM", "R_PAREN", "COMMA")
        return self._starts_value(after[0]) and after[0] is not None and _kind(after[0]) not in AMBIGUOUS

    def _is_interval(self, i: int) -> bool:
        """Whether INTERVAL is followed by a number and, if that is negative, by a unit: interval - 1 is a column."""
        kinds = [_kind(token) for token in self.tokens[i + 1 : i + 4]]
        if kinds[:1] != ["DASH"]:
            return kinds[:1] in (["STRING"], ["NUMBER"])
        unit = self.tokens[i + 3] if len(kinds) == 3 else None
        negative = kinds[1:2] in (["STRING"], ["NUMBER"])
        return negative and unit is not None and self._is_word(unit) and _kind(unit) not in OPERATORS | AMBIGUOUS

    def _is_type(self, token: Token) -> bool:
        """Return True for a type after AS or ::, and refuse all else."""
        if _kind(token) not in TYPES:
            raise ExpressionError(
                self.text, f"{token.text!r} is not a type to cast to", f"Known: {', '.join(KNOWN_TYPES)}."
            )
        return True


def _kind(token: Token) -> str:
    name: str = token.token_type.name
    return name


def _name(token: Token) -> Token:
    return Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end, [])
