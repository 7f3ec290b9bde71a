"""The fields `control`, `limits` and `popularity` of a run file: load, the limits of tenants, and expected queries.

Rule 1: `drover.control` alone checks settings. Here, text becomes numbers, lists and mappings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from drover.control.popularity import LIST_EXAMPLE, ExpectedQueries, popularity_faults, popularity_of
from drover.control.settings import Control, control_of, faults, settings_to_json
from drover.control.tenants import RULES, AllLimits, limits_faults, limits_of
from drover.network.files.codecs import NUMBER, WHOLE, Decoded, Plain, fault_at, is_blank
from drover.network.files.document import Fields, Items, Node, Scalar
from drover.network.files.lines import placed


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """How load is managed."""

    says: str = "a mode (observe, propose or auto), or a mapping of settings"
    stand_in: Control = field(default_factory=Control)

    def read(self, node: Node) -> Decoded[Control]:
        """Return the settings."""
        if is_blank(node) or isinstance(node, Items):
            way_out = "Write for example auto, or {mode: auto, period: 2}."
            return Decoded(self.stand_in, (fault_at(node, f"it must be {self.says}", way_out),))
        if isinstance(node, Scalar):  # the short form has no field to point at
            node = Fields(((Scalar("mode", node.line), node),), node.line)
        given = _plain(node)
        found = tuple(placed(faults(given), node))
        return Decoded(self.stand_in, found) if found else Decoded(control_of(given))

    def write(self, value: Control) -> Plain:
        """Return the mode, or all settings that differ from their defaults."""
        usual = settings_to_json(Control())
        said = settings_to_json(value)
        changed = {name: _text(given) for name, given in said.items() if given != usual.get(name)}
        return str(value.mode) if changed.keys() <= {"mode"} else changed


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """Limits of tenants."""

    says: str = "a mapping of tenants to limits (queries, state, busy); `*` is every other tenant"
    stand_in: AllLimits = field(default_factory=dict)

    def read(self, node: Node) -> Decoded[AllLimits]:
        """Return the limits."""
        if not isinstance(node, Fields):
            way_out = "Write for example {acme: {queries: 1000}}."
            return Decoded(self.stand_in, (fault_at(node, f"it must be {self.says}", way_out),))
        given = _plain(node)
        found = tuple(placed(limits_faults(given), node))
        return Decoded(self.stand_in, found) if found else Decoded(limits_of(given))

    def write(self, value: AllLimits) -> Plain:
        """Return the limits that are set."""
        return {
            tenant: {name: _text(getattr(one, name)) for name in RULES if getattr(one, name) < math.inf}
            for tenant, one in value.items()
        }


@dataclass(frozen=True, slots=True)
class Popularity:
    """Queries that are expected."""

    says: str = "a list of expected queries, each with queries (how many) and reads (conditions by stream)"
    stand_in: tuple[ExpectedQueries, ...] = ()

    def read(self, node: Node) -> Decoded[tuple[ExpectedQueries, ...]]:
        """Return the expected queries."""
        if not isinstance(node, Items):
            return Decoded(self.stand_in, (fault_at(node, f"it must be {self.says}", LIST_EXAMPLE),))
        given = _plain(node)
        found = tuple(placed(popularity_faults(given), node))
        return Decoded(self.stand_in, found) if found else Decoded(popularity_of(given))

    def write(self, value: tuple[ExpectedQueries, ...]) -> Plain:
        """Return the expected queries."""
        return [{"queries": repr(one.queries), "reads": dict(one.reads)} for one in value]


def _plain(node: Node) -> Any:  # Any: JSON
    match node:
        case Fields(entries):
            return {key.text: _plain(value) for key, value in entries}
        case Items(nodes):
            return [_plain(item) for item in nodes]
        case Scalar(text, quoted=False) if WHOLE.fullmatch(text):
            return int(text)
        case Scalar(text, quoted=False) if NUMBER.fullmatch(text):
            return float(text)
    return node.text


def _text(given: Any) -> Plain:  # Any: JSON
    if isinstance(given, dict):
        return {name: _text(value) for name, value in given.items()}
    return [_text(item) for item in given] if isinstance(given, list) else str(given)
