"""JSON from users, without what makes two readers disagree: repeated keys, NaN and infinity, endless nesting.

Rule 1: every text is a value or a JsonError; nothing else is raised.
Rule 2: files that drover writes itself are read elsewhere: they have checksums.
"""

from __future__ import annotations

import json
from typing import Any

from drover.errors import DroverError, shorten


class JsonError(DroverError):
    """A text that is not JSON, or has a key twice. The message is a clause: what is wrong, and where."""


def loads(text: str | bytes) -> Any:  # Any: JSON
    """Return the value of a text.

    >>> loads('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> loads('{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    drover.strict_json.JsonError: key 'a' appears twice
    """
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except JsonError:
        raise
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
        raise JsonError(f"{error.msg}, {place}") from error
    except UnicodeDecodeError as error:
        raise JsonError(f"byte {error.start + 1} is not UTF-8") from error
    except RecursionError as error:
        raise JsonError("nested too deeply") from error
    except ValueError as error:  # a whole number of thousands of digits
        raise JsonError("a number has too many digits") from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # Any: JSON
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise JsonError(f"key {shorten(name)} appears twice")
            seen.add(name)
    return found


def _refuse_constant(word: str) -> object:
    raise JsonError(f"{word} is not a JSON number")
