"""Message signatures: only holders of the token can sign a line, and only agents of the same tree accept it.

Rule 1: a line is JSON: the message as text, and its HMAC-SHA256 under a key made from the token and the tree's digest.
Rule 2: a replayed line equals a repeated message, which is harmless. So lines carry no time and no counter.
Rule 3: only the token is secret: messages are not encrypted.
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

from drover import strict_json
from drover.errors import DroverError, shorten
from drover.hierarchy.codec import CodecError, decode_message, encode
from drover.hierarchy.messages import Message

LONGEST: Final = 1 << 20  # bytes of a line: about ten thousand operators in one message
LEAST_TOKEN: Final = 16  # bytes


class SealError(DroverError):
    """A line is not from an agent of this tree."""


@dataclass(frozen=True, slots=True)
class MessageSeal:
    """The signing key that the agents of one tree share."""

    key: bytes

    def sign(self, message: Message) -> bytes:
        """Return a message as a signed line."""
        text = encode(message)
        return json.dumps({"code": self._code(text), "message": text}).encode() + b"\n"

    def verify(self, line: bytes) -> Message:
        """Return the message of a signed line; SealError if the signature does not match."""
        try:
            found = strict_json.loads(line)
        except strict_json.JsonError as error:
            raise SealError(
                f"{shorten(repr(line))} is not valid JSON, but every line must be. Check which program sent it."
            ) from error
        if not isinstance(found, dict) or found.keys() != {"code", "message"}:
            raise SealError("a line must have the fields code and message. Check which program sent it.")
        code = found["code"]
        text = found["message"]
        if not isinstance(code, str) or not isinstance(text, str) or not code.isascii():
            raise SealError("the fields code and message of a line must be text. Check which program sent it.")
        # Compared in constant time, so that response times reveal nothing about the code.
        if not hmac.compare_digest(code, self._code(text)):
            raise SealError(
                "the code of a line is wrong: its sender has another token or tree file. Use the same everywhere."
            )
        try:
            return decode_message(text)
        except CodecError as error:
            raise SealError(str(error)) from error

    def _code(self, text: str) -> str:
        # A line may have half of a surrogate pair. No message has one, so its code is wrong like any other.
        return hmac.new(self.key, text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()


def make_seal(token: bytes, digest: str) -> MessageSeal:
    """Return the signing key for a token and a tree file's digest."""
    if len(token) < LEAST_TOKEN:
        raise DroverError(
            f"the token has {len(token)} bytes, but needs at least {LEAST_TOKEN}. Create it by: openssl rand -hex 32."
        )
    return MessageSeal(hmac.new(token, digest.encode(), hashlib.sha256).digest())


def read_token(path: str) -> bytes:
    """Return the token in a file that only its owner can read."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a path as the user typed it
        data = Path(path).read_bytes() if stat.S_ISREG(found.st_mode) else b""
    except (OSError, ValueError) as error:
        raise DroverError(
            f"--token is {shorten(path)}, but cannot be read ({error}). Choose a readable file."
        ) from error
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise DroverError(f"--token is {shorten(path)}, but other users can read it. Restrict it with: chmod 600.")
    return data.strip()
