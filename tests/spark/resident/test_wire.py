"""The words between driver, routers and nodes: they come back as they were sent, and need the secret."""

from __future__ import annotations

import pyarrow.flight as fl
import pytest

from drover.spark.resident.wire import (
    FrameDelivery,
    HopRequest,
    NodeAddress,
    RunSecret,
    call_options,
    dumps,
    loads,
    new_secret,
    reachable_host,
    server_options,
)


def test_words_come_back_as_they_were() -> None:
    delivery = FrameDelivery("t", 3, "piece 1", "attempt")
    request = HopRequest("t", 2, ("a", "b"))
    address = NodeAddress(1, "grpc://127.0.0.1:1", "start")
    assert loads(FrameDelivery, dumps(delivery)) == delivery
    assert loads(HopRequest, dumps(request)) == request
    assert loads(NodeAddress, dumps(address)) == address


@pytest.mark.parametrize("given", [None, "", "other"])
def test_a_server_answers_only_calls_with_its_secret(given: str | None) -> None:
    secret = new_secret()
    with (
        fl.FlightServerBase("grpc://127.0.0.1:0", **server_options(secret)) as server,
        fl.connect(f"grpc://127.0.0.1:{server.port}") as client,
    ):
        options = fl.FlightCallOptions() if given is None else call_options(RunSecret(given))
        with pytest.raises(fl.FlightUnauthenticatedError, match="needs the secret of the run"):
            list(client.do_action(fl.Action("x", b""), options))
        with pytest.raises(NotImplementedError):  # it comes as far as the server, which has no actions
            list(client.do_action(fl.Action("x", b""), call_options(secret)))


def test_secrets_differ() -> None:
    assert new_secret() != new_secret()


def test_a_local_driver_is_reached_from_this_machine_alone() -> None:
    assert reachable_host("127.0.0.1", 1) == "127.0.0.1"
