"""The allow-list: every function and operator that an expression may contain, in one table.

Rule 1: a function that is not in FUNCTIONS does not exist.
Rule 2: REFUSED gives the reason for names that people will look for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drover.network.expressions.arithmetic import ARITHMETIC
from drover.network.expressions.logic import LOGIC
from drover.network.expressions.strings import STRINGS
from drover.network.expressions.table import SqlFunction
from drover.network.expressions.times import TIMES

ROWS: Final[tuple[SqlFunction, ...]] = (*ARITHMETIC, *LOGIC, *STRINGS, *TIMES)
FUNCTIONS: Final[Mapping[str, SqlFunction]] = {row.name: row for row in ROWS}
BY_NAME: Final[Mapping[str, SqlFunction]] = {name: row for row in ROWS for name in (row.name, *row.aliases)}

LAST_DIGIT: Final = (
    "its last digit differs between engines",
    "Compute it in the source, or use + - * / sqrt, whose every bit is fixed.",
)
NOT_OF_THE_ROW: Final = (
    "an expression is a function of its row, so that a replay gives the same answer",
    "Put the value into a column where the rows are produced.",
)
DIALECTS: Final = ("regular expressions differ between Java and Rust", "Write LIKE, contains, startswith or instr.")
NO_WINDOW: Final = ("an expression sees one row", "Use an aggregate operator of the network.")
AN_AGGREGATE: Final = ("an aggregate is not a function of one row", "Write it where the network has an aggregate.")

REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(("exp", "expm1", "ln", "log", "log2", "log10", "log1p", "pow", "power", "cbrt"), LAST_DIGIT),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"), LAST_DIGIT),
    **dict.fromkeys(("current_timestamp", "current_date", "now", "localtimestamp", "curdate"), NOT_OF_THE_ROW),
    **dict.fromkeys(("rand", "randn", "random", "uuid", "monotonically_increasing_id"), NOT_OF_THE_ROW),
    **dict.fromkeys(("rlike", "regexp", "regexp_like", "regexp_extract", "regexp_replace", "split"), DIALECTS),
    **dict.fromkeys(("row_number", "rank", "dense_rank", "lag", "lead", "ntile"), NO_WINDOW),
    **dict.fromkeys(("count", "sum", "avg", "mean", "min", "max", "stddev", "variance", "first", "last"), AN_AGGREGATE),
}
