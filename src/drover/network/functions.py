"""User-defined functions: how they are marked, named in a file and imported.

Rule 1: reading or checking a network imports nothing. Only `resolve` does, when a network runs. Rule 2: only marked
functions are called, so a file cannot call an arbitrary function of an installed package.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias, TypeVar

from drover.errors import DroverError
from drover.network.durations import Micros, parse_duration
from drover.network.schema import Column
from drover.network.types import DataType, parse_type

MARK: Final = "__drover__"

AnyFunction: TypeAlias = Callable[..., Any]  # Any: frames are Polars' or Arrow's, with or without state
F = TypeVar("F", bound=AnyFunction)
Span: TypeAlias = str | timedelta  # a length of time as people write it


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of a marked function; the fields are those of `UserDefined`."""

    columns: tuple[Column, ...]
    time: str | None
    keeps_state: bool
    cost: str
    frame: str
    timeout: Micros | None = None


def columns_of(types: Mapping[str, str | DataType]) -> tuple[Column, ...]:
    """Return columns from names and types, e.g. `{"ts": "timestamp", "bytes": "bigint"}`."""
    return tuple(Column(name, parse_type(kind) if isinstance(kind, str) else kind) for name, kind in types.items())


def function(
    columns: Mapping[str, str | DataType],
    *,
    time: str | None = None,
    keeps_state: bool = False,
    cost: str = "medium",
    frame: str = "polars",
    timeout: Span | None = None,
) -> Callable[[F], F]:
    """Mark a function for use as an operator; the arguments are fields of `UserDefined`."""
    limit = None if timeout is None else parse_duration(timeout)
    declaration = Declaration(columns_of(columns), time, keeps_state, cost, frame, limit)

    def mark(marked: F) -> F:
        setattr(marked, MARK, declaration)
        return marked

    return mark


def declaration_of(marked: AnyFunction) -> Declaration:
    """Return the declaration of a function; DroverError says how to mark one."""
    declaration = getattr(marked, MARK, None)
    if not isinstance(declaration, Declaration):
        name = getattr(marked, "__name__", repr(marked))
        raise DroverError(
            f"function {name} is not marked as an operator. Decorate it with drover.function(columns=...)."
        )
    return declaration


def path_of(marked: AnyFunction) -> str:
    """Return `module:name`, by which another process finds the function."""
    name = marked.__qualname__
    module = marked.__module__
    if "<" in name or "." in name or module == "__main__":
        raise DroverError(
            f"function {name} of module {module} cannot be found by name in another process. "
            "Define it at the top level of an importable module."
        )
    return f"{module}:{name}"


def resolve(path: str) -> AnyFunction:
    """Import and return the marked function at `path`, `module:name`."""
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise DroverError(
            f"function {path!r} cannot be imported: {error}. Install its package, or correct the path."
        ) from error
    except (Exception, SystemExit) as error:
        raise DroverError(
            f"function {path!r} cannot be imported: module {module!r} raises {type(error).__name__}: {error}. "
            "Correct the module, so that importing it does nothing but define functions."
        ) from error
    if not callable(found):
        raise DroverError(f"module {module!r} has no function {name!r}. Correct the path in the network.")
    declaration_of(found)
    marked: AnyFunction = found
    return marked
