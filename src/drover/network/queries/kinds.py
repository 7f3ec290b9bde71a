"""The kinds of operators that submitted queries may use, as their records say.

Rule 1: no module of this package names a kind. It asks the record, here or in `drover.network.rewrite`.
"""

from __future__ import annotations

from typing import Any, Final

from drover.network.operators import OPERATORS, Operator
from drover.network.operators.sharing import QuerySharing

KINDS: Final = tuple(name for name, kind in OPERATORS.items() if kind.sharing is not None)


def sharing_of(operator: Operator) -> QuerySharing[Any]:  # Any: of the operator's own class
    """Return how queries share an operator; it must be of one of the `KINDS`."""
    sharing = OPERATORS[operator.kind].sharing
    assert sharing is not None, f"{operator.kind} cannot be used in a query"
    return sharing
