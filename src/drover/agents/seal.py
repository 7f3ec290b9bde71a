"""Lines that only holders of a token can write, and that mean something only to agents of the same tree.

Rule 1: a line is JSON: the message as text, and a code (HMAC-SHA256) over that text under a key made of token and tree.
Rule 2: a line that is heard twice is a message that came twice, which does no harm: so lines have no time, no count.
Rule 3: nothing is secret but the token: who can listen on the wire can read what is said.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from drover.errors import DroverError, shorten
from drover.hierarchy.codec import CodecError, decode_message, encode
from drover.hierarchy.messages import Message

LONGEST: Final = 1 << 20  # bytes of a line: some ten thousand operators in one message
LEAST_TOKEN: Final = 16  # bytes


class SealError(DroverError):
    """A line that is not from an agent of this tree."""


@dataclass(frozen=True, slots=True)
class Seal:
    """What agents of one tree have in common."""

    key: bytes

    def close(self, message: Message) -> bytes:
        """Return a message as a line."""
        text = encode(message)
        return json.dumps({"code": self._code(text), "message": text}).encode() + b"\n"

    def open(self, line: bytes) -> Message:
        """Return the message in a line; SealError if it is none of this tree's."""
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise SealError(f"{shorten(repr(line))} is no JSON, but a line must be.") from error
        if not isinstance(found, dict) or found.keys() != {"code", "message"}:
            raise SealError("a line has other fields than code and message.")
        code, text = found["code"], found["message"]
        if not isinstance(code, str) or not isinstance(text, str) or not code.isascii():
            raise SealError("code and message must be text.")
        if not hmac.compare_digest(code, self._code(text)):
            raise SealError(
                "the code of a line is wrong: another token, or another tree file. Give all agents the same."
            )
        try:
            return decode_message(text)
        except CodecError as error:
            raise SealError(str(error)) from error

    def _code(self, text: str) -> str:
        return hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()


def seal_of(token: bytes, digest: str) -> Seal:
    """Return the seal of a token and a tree file."""
    if len(token) < LEAST_TOKEN:
        raise DroverError(
            f"the token has {len(token)} bytes, but must have {LEAST_TOKEN}. Make one: openssl rand -hex 32."
        )
    return Seal(hmac.new(token, digest.encode(), hashlib.sha256).digest())


def read_token(path: str) -> bytes:
    """Return the token in a file that only its owner can read."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a path as it was given
        data = Path(path).read_bytes() if stat.S_ISREG(found.st_mode) else b""
    except (OSError, ValueError) as error:
        raise DroverError(f"--token is {shorten(path)}, but cannot be read ({error}). Name a file.") from error
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise DroverError(f"--token is {shorten(path)}, but others may read it. Keep it to yourself: chmod 600.")
    return data.strip()
