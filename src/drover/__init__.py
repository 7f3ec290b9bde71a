"""drover: a network of continuous queries in one Spark application, placed by measured load.

These are the names that people use; everything else may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from drover.errors import DroverError, ExpressionError, Fault, FileError, NetworkError
from drover.network.build import Builder, Stream
from drover.network.files import dump, dumps, load, loads
from drover.network.functions import function
from drover.network.model import Network

if TYPE_CHECKING:
    from drover.spark import sinks
    from drover.spark.handle import Handle
    from drover.spark.reference import Reference, reference
    from drover.spark.replay import replay
    from drover.spark.run import run

__all__ = [
    "Builder",
    "DroverError",
    "ExpressionError",
    "Fault",
    "FileError",
    "Handle",
    "Network",
    "NetworkError",
    "Reference",
    "Stream",
    "dump",
    "dumps",
    "function",
    "load",
    "loads",
    "reference",
    "replay",
    "run",
    "sinks",
]

# Spark takes a second to import, and `check` needs none: these come when they are first asked for.
LATE: Final = {
    "Handle": "handle",
    "Reference": "reference",
    "reference": "reference",
    "replay": "replay",
    "run": "run",
    "sinks": "sinks",
}


def __getattr__(name: str) -> Any:  # Any: the type of a module's attribute cannot be said otherwise
    """Import the parts that need Spark when they are first asked for."""
    if name not in LATE:
        raise AttributeError(f"module 'drover' has no attribute {name!r}")
    module = import_module(f"drover.spark.{LATE[name]}")
    found = getattr(module, name, module)
    globals()[name] = found
    return found
