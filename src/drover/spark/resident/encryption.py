"""Encryption of what resident nodes send to each other and of what waits at them on disk.

Rule 1: only this module uses the package `cryptography`, and imports it when it is needed: it is an extra.
Rule 2: a run makes a certificate of its own and trusts no other. Its key is written nowhere.
Rule 3: a file has a key that nothing else has. Whatever ends the process, nobody can read the file any more.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import IO, Any, Final

import pyarrow as pa

from drover.errors import DroverError

NAME: Final = "drover"  # in the certificate, for every machine: who has the key belongs to the run
LASTS: Final = timedelta(days=3650)  # a run may last for years, and its certificate must not end it
SKEW: Final = timedelta(days=1)  # by which the clocks of machines may differ
WAY_OUT: Final = "Install it where Spark's driver and executors run: pip install 'drover[tls]'."


@dataclass(frozen=True, slots=True)
class RunCertificate:
    """The certificate of a run and its key, as PEM; who only calls nodes has no key."""

    chain: bytes = field(repr=False)
    key: bytes = field(default=b"", repr=False)

    def without_key(self) -> RunCertificate:
        """Return what a caller needs."""
        return replace(self, key=b"")


def can_encrypt() -> bool:
    """Return whether this process has what it takes."""
    return importlib.util.find_spec("cryptography") is not None


def demand_encryption() -> None:
    """Raise DroverError if this process cannot encrypt."""
    if not can_encrypt():
        raise DroverError(f"the package cryptography is missing, but nodes of this run encrypt. {WAY_OUT}")


def make_certificate(now: datetime) -> RunCertificate:
    """Return a new certificate, which signs itself."""
    demand_encryption()
    from cryptography import x509  # noqa: PLC0415 - rule 1
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - rule 1
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - rule 1
    from cryptography.x509.oid import NameOID  # noqa: PLC0415 - rule 1

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + LASTS)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return RunCertificate(
        made.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


class EncryptedFrameFile:
    """Frames in a file without a name, which only this object can read."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - rule 1

        self._file = file
        self._schema = schema
        self._cipher: Any = AESGCM(AESGCM.generate_key(128))  # Any: imported above
        self._lengths: list[int] = []

    def append(self, batch: pa.RecordBatch) -> None:
        """Write frames at the end."""
        sealed = self._cipher.encrypt(_nonce(len(self._lengths)), memoryview(batch.serialize()).cast("B"), None)
        self._lengths.append(len(sealed))
        self._file.write(sealed)

    def read(self) -> Iterator[pa.RecordBatch]:
        """Yield all frames, decrypted in memory."""
        self._file.seek(0)
        for number, length in enumerate(self._lengths):
            opened = self._cipher.decrypt(_nonce(number), self._file.read(length), None)
            yield pa.ipc.read_record_batch(pa.py_buffer(opened), self._schema)
        self.close()

    def close(self) -> None:
        """Give the file up; frames that were read stay."""
        self._file.close()


def _nonce(number: int) -> bytes:
    """Return the number that must differ for everything that one key encrypts; each file has a key of its own."""
    return number.to_bytes(12)
