"""drover: a network of continuous queries in one Spark application, placed by measured load.

The names listed here are the public API; everything else may change.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drover.control.settings import Control
    from drover.errors import DroverError, ExpressionError, Fault, FileError, NetworkError
    from drover.network.build import Builder, Stream
    from drover.network.files.network_file import dump as write
    from drover.network.files.network_file import dumps as writes
    from drover.network.files.network_file import load as read
    from drover.network.files.network_file import loads as reads
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

# Where each name is defined. It is imported on first use: Spark takes a second to import, and the process from which
# Spark forks its workers must not import anything that starts threads.
_DEFINED_IN = {
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
    "read": ("network.files.network_file", "load"),
    "reads": ("network.files.network_file", "loads"),
    "reference": ("spark.reference", "reference"),
    "replay": ("spark.replay", "replay"),
    "run": ("spark.run", "run"),
    "sinks": ("spark", "sinks"),
    "streams": ("spark.sources", "streams"),
    "write": ("network.files.network_file", "dump"),
    "writes": ("network.files.network_file", "dumps"),
}


def __getattr__(name: str) -> Any:  # Any: the type of a module's attribute cannot be said otherwise
    """Import a public name on first use."""
    if name not in _DEFINED_IN:
        raise AttributeError(f"module 'drover' has no attribute {name!r}")
    module_name, attribute = _DEFINED_IN[name]
    module = _import_module(f"drover.{module_name}")
    found = getattr(module, attribute, None) or _import_module(f"drover.{module_name}.{attribute}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names only, for completion in a notebook."""
    return __all__
