"""drover: a network of continuous queries in one Spark application, placed by measured load.

These are the names that people use; everything else may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drover.errors import DroverError, ExpressionError, Fault, FileError, NetworkError
from drover.network.build import Builder, Stream
from drover.network.functions import function
from drover.network.model import Network

if TYPE_CHECKING:
    from drover.spark.reference import Reference, reference

__all__ = [
    "Builder",
    "DroverError",
    "ExpressionError",
    "Fault",
    "FileError",
    "Network",
    "NetworkError",
    "Reference",
    "Stream",
    "function",
    "reference",
]


def __getattr__(name: str) -> Any:  # Any: the type of a module's attribute cannot be said otherwise
    """Import the parts that need Spark when they are first asked for: Spark takes a second, and `check` needs none."""
    if name in ("Reference", "reference"):
        from drover.spark import reference as module  # noqa: PLC0415 - late on purpose

        return getattr(module, name)
    raise AttributeError(f"module 'drover' has no attribute {name!r}")
