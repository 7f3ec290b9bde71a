"""Messages and records as JSON: one object with one key, the tag of its class.

Rule 1: MESSAGES and RECORDS list every tag that can be decoded. A tag is part of the wire and journal formats, so it
stays when a class is renamed. Field names are part of the formats, too.
Rule 2: each field is checked against its declared type. Any other text raises a CodecError; nothing is executed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Any, Final, TypeAlias, cast, get_args, get_origin, get_type_hints

from drover import strict_json
from drover.errors import DroverError, shorten
from drover.hierarchy.messages import (
    Bundle,
    Clear,
    Closed,
    Decision,
    DemandReply,
    DemandRequest,
    HandedOut,
    Handover,
    HandoverReply,
    JournalSnapshot,
    Message,
    OfferReply,
    OfferRequest,
    Record,
    Take,
    TookIn,
)

Json: TypeAlias = Any  # Any: any JSON value
MESSAGES: Final[Mapping[str, type[Message]]] = {
    "OfferRequest": OfferRequest,
    "OfferReply": OfferReply,
    "DemandRequest": DemandRequest,
    "DemandReply": DemandReply,
    "Take": Take,
    "Clear": Clear,
    "Handover": Handover,
    "HandoverReply": HandoverReply,
}
RECORDS: Final[Mapping[str, type[Record]]] = {
    "Kept": JournalSnapshot,
    "HandedOut": HandedOut,
    "Closed": Closed,
    "TookIn": TookIn,
}
LARGEST: Final = 2**53  # readers that store numbers as doubles round larger integers


class CodecError(DroverError):
    """The text is not a message, or not a record."""


def encode(value: Message | Record) -> str:
    """Return a message or a record as one line of JSON."""
    return json.dumps({_TAGS[type(value)]: _plain(value)}, separators=(",", ":"))


def decode_message(text: str) -> Message:
    """Return the message that a line of JSON contains."""
    return cast("Message", _decode(text, MESSAGES, "a message"))


def decode_record(text: str) -> Record:
    """Return the record that a line of JSON contains."""
    return cast("Record", _decode(text, RECORDS, "a record"))


def _plain(value: object) -> Json:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if type(value) in _CLASSES:
        return {each.name: _plain(getattr(value, each.name)) for each in fields(cast("Any", value))}
    return value


def _decode(text: str, classes: Mapping[str, type], what: str) -> object:
    try:
        found = strict_json.loads(text)
    except strict_json.JsonError as error:
        raise CodecError(f"{shorten(text)} is not valid JSON, but must be {what}. Send valid JSON.") from error
    if not isinstance(found, dict) or len(found) != 1 or (tag := next(iter(found))) not in classes:
        raise CodecError(f"{shorten(text)} is not {what}. Use one of these tags: {', '.join(sorted(classes))}.")
    return _read(classes[tag], found[tag], (tag,))


def _read(kind: Any, value: Json, path: tuple[str, ...]) -> Any:  # Any: a declared type, and a value of it
    if kind in _CLASSES:
        return _read_class(kind, value, path)
    if get_origin(kind) is tuple:
        return _read_tuple(get_args(kind), value, path)
    # Types are compared exactly: bool is a subclass of int, and json.loads also accepts NaN and Infinity.
    if kind is float and ((type(value) is float and math.isfinite(value)) or _is_whole(value)):
        return float(value)
    if kind is int and _is_whole(value):
        return value
    if kind is bool and type(value) is bool:
        return value
    name = kind.__name__ if isinstance(kind, type) else str(kind)
    raise CodecError(f"{'.'.join(path)} is {shorten(value)}, but must be of type {name}. Correct the value.")


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


_TAGS: Final[Mapping[type, str]] = {kind: tag for table in (MESSAGES, RECORDS) for tag, kind in table.items()}
_CLASSES: Final = frozenset({*_TAGS, Bundle, Decision})  # also those that occur only inside a message or a record
