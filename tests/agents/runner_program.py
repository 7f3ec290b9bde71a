"""A runner as a process: it starts an agent, runs operators as it is told, and writes down what it runs.

Rule 1: a line of the log is written before an operator starts, and after it has stopped. All runners append to one log,
so its order is the order of events.
Rule 2: it stops operators slowly and acknowledges afterwards. When the agent is gone, it stops everything.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from random import Random


def run(log: int, node: str, seed: int, words: list[str]) -> int:
    """Run an agent until it ends, and return its status."""
    rng = Random(seed)
    running: set[str] = set()

    def write(what: str, names: list[str]) -> None:
        os.write(log, "".join(f"{what} {name} {node}\n" for name in names).encode())

    def stop(names: list[str]) -> None:
        time.sleep(rng.choice((0.0, 0.0, 0.05, 0.4)))
        write("stop", [name for name in names if name in running])
        running.difference_update(names)

    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        os.write(log, f"agent {agent.pid} {node}\n".encode())
        for line in agent.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            order = json.loads(line)
            if "start" in order:
                write("start", [name for name in order["start"] if name not in running])
                running.update(order["start"])
            elif "stop" in order:
                stop(order["stop"])
                for _ in range(rng.choice((1, 1, 2))):  # some acknowledgements come twice
                    try:
                        print(f"stopped {order['request']}", file=agent.stdin, flush=True)
                    except BrokenPipeError:
                        break  # the agent is gone
        stop(sorted(running))
        with contextlib.suppress(BrokenPipeError):
            agent.stdin.close()
    return agent.returncode


if __name__ == "__main__":
    place, name, number, *rest = sys.argv[1:]
    sys.exit(run(os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT), name, int(number), rest) % 256)
