"""Messages and records as JSON: what is sent and written, and nothing else is understood.

Rule 1: the table KINDS is all that can be decoded; fields are checked one by one against their declared types.
Rule 2: what is not exactly such a thing is refused with a CodecError; nothing is guessed, and nothing is executed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Any, Final, TypeAlias, cast, get_args, get_origin, get_type_hints

from drover.errors import DroverError, shorten
from drover.hierarchy import messages
from drover.hierarchy.messages import Message, Record

Json: TypeAlias = Any  # Any: whatever JSON can say
KINDS: Final[Mapping[str, type]] = {
    kind.__name__: kind for union in (Message, Record) for kind in get_args(union)
}  # by the name that is written
SENT: Final = frozenset(kind.__name__ for kind in get_args(Message))
WRITTEN: Final = frozenset(kind.__name__ for kind in get_args(Record))
LARGEST: Final = 2**53  # beyond, a whole number is no longer one everywhere


class CodecError(DroverError):
    """Text that is no message, or no record."""


def encode(value: Message | Record) -> str:
    """Return a message or a record as one line of text."""
    return json.dumps({type(value).__name__: _plain(value)}, separators=(",", ":"))


def decode_message(text: str) -> Message:
    """Return the message that a text says."""
    return cast("Message", _decode(text, SENT, "a message"))


def decode_record(text: str) -> Record:
    """Return the record that a text says."""
    return cast("Record", _decode(text, WRITTEN, "a record"))


def _plain(value: object) -> Json:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if type(value) in _CLASSES:
        return {each.name: _plain(getattr(value, each.name)) for each in fields(cast("Any", value))}
    return value


def _decode(text: str, names: frozenset[str], what: str) -> object:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"{shorten(text)} is no JSON, but must be {what}. Send it again.") from error
    if not isinstance(found, dict) or len(found) != 1 or (name := next(iter(found))) not in names:
        raise CodecError(f"{shorten(text)} is not {what}. Known: {', '.join(sorted(names))}.")
    return _read(KINDS[name], found[name], (name,))


def _read(kind: Any, value: Json, path: tuple[str, ...]) -> Any:  # Any: a type as it is declared, and its value
    if kind in _CLASSES:
        return _read_class(kind, value, path)
    if get_origin(kind) is tuple:
        return _read_tuple(get_args(kind), value, path)
    if kind is float and ((type(value) is float and math.isfinite(value)) or _is_whole(value)):
        return float(value)
    if kind is int and _is_whole(value):
        return value
    if kind is bool and type(value) is bool:
        return value
    name = kind.__name__ if isinstance(kind, type) else str(kind)
    raise CodecError(f"{'.'.join(path)} is {shorten(value)}, but must be of type {name}. Send it as it was meant.")


def _is_whole(value: Json) -> bool:
    return type(value) is int and abs(value) <= LARGEST


def _read_class(kind: type, value: Json, path: tuple[str, ...]) -> object:
    types = _types(kind)
    if not isinstance(value, dict) or value.keys() != types.keys():
        found = sorted(value) if isinstance(value, dict) else value
        raise CodecError(f"{'.'.join(path)} has {shorten(found)}, but must have {', '.join(types)}.")
    return kind(**{name: _read(types[name], value[name], (*path, name)) for name in types})


def _read_tuple(kinds: tuple[Any, ...], value: Json, path: tuple[str, ...]) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise CodecError(f"{'.'.join(path)} is {shorten(value)}, but must be a list.")
    if kinds[-1] is Ellipsis:
        return tuple(_read(kinds[0], each, (*path, str(index))) for index, each in enumerate(value))
    if len(value) != len(kinds):
        raise CodecError(f"{'.'.join(path)} has {len(value)} items, but must have {len(kinds)}.")
    pairs = enumerate(zip(kinds, value, strict=True))
    return tuple(_read(kind, each, (*path, str(index))) for index, (kind, each) in pairs)


@cache
def _types(kind: type) -> Mapping[str, Any]:
    return {name: hint for name, hint in get_type_hints(kind).items() if not isinstance(hint, UnionType)}


_CLASSES: Final = frozenset({*KINDS.values(), messages.Bundle, messages.Decision})
