"""Free ports on loopback."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"
# Below Linux's range for outgoing connections: a client's own source port cannot land on a service's port
# while that service is down for a restart.
CANDIDATES = range(15_000, 32_000)
ATTEMPTS = 200


def free_ports(count: int) -> list[int]:
    """`count` different ports that nobody listens on now; another process may still be quicker, so retry."""
    ports: list[int] = []
    with ExitStack() as held:  # held together, so that no port is handed out twice
        for port in random.SystemRandom().sample(CANDIDATES, ATTEMPTS):
            if len(ports) == count:
                break
            if _hold(held, port):
                ports.append(port)
        while len(ports) < count:  # a crowded machine: let the kernel choose
            ports.append(_held_by_kernel(held))
    return ports


def _hold(held: ExitStack, port: int) -> bool:
    listener = held.enter_context(socket.socket())
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(1)
    except OSError:
        return False
    return True


def _held_by_kernel(held: ExitStack) -> int:
    listener = held.enter_context(socket.socket())
    listener.bind((LOOPBACK, 0))
    port = listener.getsockname()[1]
    assert isinstance(port, int)
    return port
