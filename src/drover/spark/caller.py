"""Requests to a run: to its endpoint if it is running, from the files of its checkpoint if it is not.

Rule 1: this module does not import Spark, and imports policies only when it needs them: a user who asks a running
network should wait for the answer, not for imports.
"""

from __future__ import annotations

import http.client
import json
from typing import Any, Final
from urllib.parse import urlencode

from drover.errors import DroverError, shorten
from drover.flow.state.storage import local_path, open_root
from drover.spark.endpoint_file import EndpointAddress, read, working

Answer = dict[str, Any]  # Any: JSON
PATIENCE: Final = 120.0  # seconds; the first proposal of a run compiles a policy
CHANGES: Final = frozenset(
    {"apply", "mode", "drain", "move", "resume", "spread", "submit", "drop"}
)  # tests compare it with the table of requests


def ask(checkpoint: str, name: str, **fields: object) -> Answer:
    """Return the answer of a run, with `running` and `live` added; DroverError if there is none.

    `running` is None if that is unknown, because the checkpoint is not on a local disk. `live` is False if the answer
    comes from files.
    """
    who = working(checkpoint)
    where = None if who is None else read(checkpoint, who)
    if where is not None:
        return {"running": True, "live": True, **call(where, name, **fields)}
    # The files of a run can be read while it works, but only the run itself may change them.
    if who is not None and name in CHANGES:
        raise DroverError(
            f"{who} runs on {checkpoint}, but has no endpoint for requests: it has just started, or was "
            "started with endpoint=False. Try again, or use its handle."
        )
    from drover.spark.stopped import answer  # noqa: PLC0415 - takes a second that requests to a running network need not wait

    known = local_path(*open_root(checkpoint)) is not None
    return {"running": who is not None if known else None, "live": False, **answer(checkpoint, name, fields)}


def call(where: EndpointAddress, name: str, **fields: object) -> Answer:
    """Return the answer of an endpoint; DroverError with its message if it refuses."""
    line = http.client.HTTPConnection(where.host, where.port, timeout=PATIENCE)
    head = {"Authorization": f"Bearer {where.token}"}
    try:
        if name in CHANGES:
            line.request("POST", f"/{name}", json.dumps(fields), {**head, "Content-Type": "application/json"})
        else:
            line.request("GET", f"/{name}?{urlencode(fields)}" if fields else f"/{name}", headers=head)
        response = line.getresponse()
        answer: Answer = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DroverError(
            f"process {where.pid} does not answer at {where.host}:{where.port} ({error}). "
            "If the run has just ended, try again. Otherwise see the driver's log."
        ) from error
    finally:
        line.close()
    if response.status != http.client.OK:
        raise DroverError(str(answer.get("error", shorten(answer))))
    return answer
