"""Digests of small files that other programs or other parts of drover write.

Rule 1: a digest tells whether a file is the one that was seen before. It is no protection against intent.
Rule 2: an empty digest demands only that the file exists. It is for files that have a checksum of their own and may be
replaced by a later version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from pyarrow.fs import FileSystem

from drover.flow.state.storage import exists, join, read_chunks

Digests = Mapping[str, str]  # by path within the checkpoint

DIGEST_BYTES: Final = 8  # a commit repeats a dozen digests; two files agree by chance once in 2e19
PRESENT: Final = ""


def digest_of(data: bytes) -> str:
    """Return the digest of a file's content.

    >>> digest_of(b"v1")
    '1c8a073540fe0bda'
    """
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest()


def read_digest(fs: FileSystem, root: str, name: str) -> str | None:
    """Return the digest of a file of the checkpoint, or None if there is no such file."""
    path = join(root, name)
    if not exists(fs, path):
        return None
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for chunk in read_chunks(fs, path):
        found.update(chunk)
    return found.hexdigest()
