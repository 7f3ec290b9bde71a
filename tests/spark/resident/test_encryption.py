"""Encrypted nodes: only processes of the run reach them, rows are exact, and nothing on disk can be read."""

from __future__ import annotations

import importlib.util
import logging
import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
import pytest

from drover.errors import DroverError
from drover.spark.resident.encryption import (
    EncryptedFrameFile,
    RunCertificate,
    can_encrypt,
    demand_encryption,
    make_certificate,
)
from drover.spark.resident.node_jobs import NodeRegistry
from drover.spark.resident.node_server import PING, Deliveries, NodeProgram
from drover.spark.resident.routing import ResidentRouterTask
from drover.spark.resident.wire import FrameDelivery, RunSecret, call_options, connect, new_secret
from drover.spark.tasks import FRAME_SCHEMA
from tests.spark.resident.local_nodes import LocalNodes
from tests.spark.resident.test_engine import BATCHES, ResidentRun, assert_exact
from tests.spark.runs import chaos_network

NOW = datetime(2024, 1, 1, tzinfo=UTC)
CERTIFICATE = make_certificate(datetime.now(UTC))
OTHER = make_certificate(datetime.now(UTC))
ANSWER = 20.0  # seconds for a call that must fail, so that a test cannot hang


@pytest.fixture
def nodes() -> Iterator[LocalNodes]:
    found = LocalNodes(certificate=CERTIFICATE)
    yield found
    found.close()


def ping(location: str, secret: RunSecret) -> int:
    with connect(location, secret) as client:
        (answer,) = client.do_action(fl.Action(PING, b""), call_options(secret, ANSWER))
    return int(answer.body.to_pybytes())


def test_a_process_of_the_run_reaches_a_node(nodes: LocalNodes) -> None:
    (address,) = nodes.ensure(1)
    assert address.location.startswith("grpc+tls://")
    assert ping(address.location, nodes.secret) == ping(address.location, nodes.secret.for_callers()) == os.getpid()


@pytest.mark.parametrize(
    "certificate",
    [
        pytest.param(OTHER, id="another certificate"),
        pytest.param(RunCertificate(OTHER.chain + OTHER.chain), id="others"),
    ],
)
def test_a_client_that_trusts_another_certificate_is_refused(nodes: LocalNodes, certificate: RunCertificate) -> None:
    (address,) = nodes.ensure(1)
    with pytest.raises(fl.FlightUnavailableError, match=r"(?i)certificate|handshake"):
        ping(address.location, RunSecret(nodes.secret.word, certificate))


def test_a_plain_client_is_refused(nodes: LocalNodes) -> None:
    (address,) = nodes.ensure(1)
    plain = RunSecret(nodes.secret.word)
    with pytest.raises(fl.FlightError):
        ping(address.location.replace("grpc+tls", "grpc"), plain)
    with pytest.raises(fl.FlightError):  # of the authorities that the machine trusts, none has signed
        ping(address.location, plain)


def test_the_certificate_alone_is_not_enough(nodes: LocalNodes) -> None:
    (address,) = nodes.ensure(1)
    with pytest.raises(fl.FlightUnauthenticatedError, match="needs the secret of the run"):
        ping(address.location, RunSecret("another", CERTIFICATE))


def test_a_node_that_is_not_of_the_run_gets_no_rows() -> None:
    empty = pa.RecordBatch.from_arrays([pa.array([], one.type) for one in FRAME_SCHEMA], schema=FRAME_SCHEMA)
    stranger = LocalNodes(certificate=OTHER)
    try:
        (address,) = stranger.ensure(1)
        with pytest.raises(fl.FlightError):
            Deliveries(RunSecret("word", CERTIFICATE)).send(address.location, FrameDelivery("t", 0, "s"), [empty])
    finally:
        stranger.close()


def test_the_drivers_list_of_nodes_is_encrypted_too() -> None:
    secret = new_secret(CERTIFICATE)
    with NodeRegistry("127.0.0.1", secret) as registry:
        assert registry.location.startswith("grpc+tls://")
        with connect(registry.location, secret) as client:
            list(client.do_action(fl.Action(PING, b""), call_options(secret, ANSWER)))
        with pytest.raises(fl.FlightError):
            ping(registry.location.replace("grpc+tls", "grpc"), RunSecret(secret.word))


@pytest.mark.parametrize("inbox_bytes", [0, 1 << 20], ids=["all frames wait on disk", "frames wait in memory"])
def test_batches_on_encrypted_nodes_are_exact(tmp_path: Path, inbox_bytes: int) -> None:
    run = ResidentRun(chaos_network(), tmp_path, 3, inbox_bytes, certificate=CERTIFICATE)
    try:
        for number, batch in enumerate(BATCHES):
            run.process(batch, number)
        written = [one.server.inbox.written for one in run.nodes.nodes.values()]
    finally:
        run.driver.close()
    assert (sum(written) > 0) == (inbox_bytes == 0)
    assert_exact(run, BATCHES)


def test_no_text_shows_a_secret(caplog: pytest.LogCaptureFixture, nodes: LocalNodes) -> None:
    secret = new_secret(CERTIFICATE)
    program = NodeProgram("grpc+tls://127.0.0.1:1", secret)
    task = ResidentRouterTask("turn", None, (), secret)  # type: ignore[arg-type] # it is only shown
    shown = f"{secret!r} {secret} {program!r} {task!r} {CERTIFICATE!r}"
    assert secret.word not in shown
    assert "PRIVATE KEY" not in shown
    assert "CERTIFICATE-----" not in shown
    with caplog.at_level(logging.DEBUG):
        (address,) = nodes.ensure(1)
        ping(address.location, nodes.secret)
        with pytest.raises(fl.FlightError) as raised:
            ping(address.location, RunSecret(nodes.secret.word, OTHER))
    assert nodes.secret.word not in caplog.text + str(raised.value)
    assert "PRIVATE KEY" not in caplog.text + str(raised.value)


def test_who_only_calls_has_no_key() -> None:
    secret = new_secret(CERTIFICATE)
    assert b"PRIVATE KEY" in CERTIFICATE.key
    assert secret.for_callers().certificate == RunCertificate(CERTIFICATE.chain)
    assert new_secret().for_callers().certificate is None


def test_certificates_differ_and_last() -> None:
    from cryptography import x509  # noqa: PLC0415 - as in the module

    first, second = (make_certificate(NOW) for _ in range(2))
    assert first != second
    found = x509.load_pem_x509_certificate(first.chain)
    assert found.not_valid_before_utc < NOW
    assert found.not_valid_after_utc.year >= NOW.year + 9


def batch(*texts: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"text": pa.array(texts, pa.string())})


def test_frames_on_disk_come_back_and_cannot_be_read_there() -> None:
    with tempfile.TemporaryFile() as file:
        waiting = EncryptedFrameFile(file, batch().schema)
        sent = [batch("a secret text", "another"), batch(), batch("a secret text")]
        for one in sent:
            waiting.append(one)
        file.seek(0)
        raw = file.read()
        assert b"secret" not in raw
        assert len(raw) > sum(one.nbytes for one in sent)
        assert raw[: len(raw) // 4] != raw[len(raw) // 2 :][: len(raw) // 4]
        assert list(waiting.read()) == sent
        assert file.closed


def test_a_file_that_was_changed_is_refused() -> None:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as in the module

    with tempfile.TemporaryFile() as file:
        waiting = EncryptedFrameFile(file, batch().schema)
        waiting.append(batch("a"))
        file.seek(5)
        file.write(b"x")
        with pytest.raises(InvalidTag):
            list(waiting.read())


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    demand_encryption()
    assert can_encrypt()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert not can_encrypt()
    with pytest.raises(DroverError, match=r"cryptography is missing.*pip install 'drover\[tls\]'"):
        make_certificate(NOW)
