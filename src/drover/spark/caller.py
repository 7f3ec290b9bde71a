"""Asking a run, wherever it is: the endpoint of one that runs, the files of one that does not.

Rule 1: nothing of Spark is imported, and nothing of the policies before it is needed: whoever asks a running network
waits for the answer, not for imports.
"""

from __future__ import annotations

import http.client
import json
from typing import Any, Final
from urllib.parse import urlencode

from drover.errors import DroverError, shorten
from drover.flow.state.storage import local_path, open_root
from drover.spark.whereabouts import Whereabouts, read, working

Answer = dict[str, Any]  # Any: JSON
PATIENCE: Final = 120.0  # seconds; the first proposal of a run compiles a policy
CHANGES: Final = frozenset(
    {"apply", "mode", "drain", "move", "spread", "submit", "drop"}
)  # tests compare it with the table of requests


def ask(checkpoint: str, name: str, **fields: object) -> Answer:
    """Return what a run says, with `running` and `live` besides; DroverError says why it does not.

    `running` is None if that cannot be told, because the checkpoint is on no disk of this machine. `live` is False if
    the answer is what was written last.
    """
    who = working(checkpoint)
    where = None if who is None else read(checkpoint, who)
    if where is not None:
        return {"running": True, "live": True, **call(where, name, **fields)}
    if who is not None and name in CHANGES:
        raise DroverError(
            f"{who} works on {checkpoint}, but has no endpoint to be told by: it has just begun, or was "
            "started with endpoint=False. Try again, or use its handle."
        )
    from drover.spark.stopped import answer  # noqa: PLC0415 - a second that a running network need not wait

    known = local_path(*open_root(checkpoint)) is not None
    return {"running": who is not None if known else None, "live": False, **answer(checkpoint, name, fields)}


def call(where: Whereabouts, name: str, **fields: object) -> Answer:
    """Return the answer of an endpoint; DroverError with its words if it refuses."""
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
            "If the run has just ended, ask again; else look at the driver's log."
        ) from error
    finally:
        line.close()
    if response.status != http.client.OK:
        raise DroverError(str(answer.get("error", shorten(answer))))
    return answer
