"""drover: a network of continuous queries in one Spark application, placed by measured load.

These are the names that people use; everything else may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from drover.control.settings import Control
    from drover.errors import DroverError, ExpressionError, Fault, FileError, NetworkError
    from drover.network.build import Builder, Stream
    from drover.network.files import dump as write
    from drover.network.files import dumps as writes
    from drover.network.files import load as read
    from drover.network.files import loads as reads
    from drover.network.functions import function
    from drover.network.model import Network
    from drover.network.queries import Query
    from drover.spark import sinks
    from drover.spark.handle import Handle
    from drover.spark.reference import Reference, reference
    from drover.spark.replay import replay
    from drover.spark.run import run
    from drover.spark.sources import streams

__all__ = [
    "Builder",
    "Control",
    "DroverError",
    "ExpressionError",
    "Fault",
    "FileError",
    "Handle",
    "Network",
    "NetworkError",
    "Query",
    "Reference",
    "Stream",
    "function",
    "read",
    "reads",
    "reference",
    "replay",
    "run",
    "sinks",
    "streams",
    "write",
    "writes",
]

# Where each name lives. It is imported when it is first asked for: Spark takes a second, and the process that Spark
# forks its workers from must not import anything that starts threads.
HOMES: Final = {
    "Builder": ("network.build", "Builder"),
    "Control": ("control.settings", "Control"),
    "DroverError": ("errors", "DroverError"),
    "ExpressionError": ("errors", "ExpressionError"),
    "Fault": ("errors", "Fault"),
    "FileError": ("errors", "FileError"),
    "Handle": ("spark.handle", "Handle"),
    "Network": ("network.model", "Network"),
    "NetworkError": ("errors", "NetworkError"),
    "Query": ("network.queries", "Query"),
    "Reference": ("spark.reference", "Reference"),
    "Stream": ("network.build", "Stream"),
    "function": ("network.functions", "function"),
    "read": ("network.files", "load"),
    "reads": ("network.files", "loads"),
    "reference": ("spark.reference", "reference"),
    "replay": ("spark.replay", "replay"),
    "run": ("spark.run", "run"),
    "sinks": ("spark", "sinks"),
    "streams": ("spark.sources", "streams"),
    "write": ("network.files", "dump"),
    "writes": ("network.files", "dumps"),
}


def __getattr__(name: str) -> Any:  # Any: the type of a module's attribute cannot be said otherwise
    """Import a name when it is first asked for."""
    if name not in HOMES:
        raise AttributeError(f"module 'drover' has no attribute {name!r}")
    home, attribute = HOMES[name]
    module = import_module(f"drover.{home}")
    found = getattr(module, attribute, None) or import_module(f"drover.{home}.{attribute}")
    globals()[name] = found
    return found
