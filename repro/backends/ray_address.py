"""The address of a Ray cluster, and whether anybody answers there. Needs no Ray."""

from __future__ import annotations

import socket

CONNECT_SECONDS = 5.0


class ClusterError(ValueError):
    """There is no cluster to train on; says why and what to do."""


def require_somebody(address: str) -> None:
    """Raise `ClusterError` where nobody answers at an address."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        raise ClusterError(
            f"{address!r} is no address of a Ray cluster; give HOST:PORT or ray://HOST:PORT."
        )
    if not answers(address):
        raise ClusterError(
            f"Nobody answers at {address}; start a Ray cluster there, or give the address of one."
        )


def answers(address: str) -> bool:
    """Tell whether somebody listens at an address."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError:
        return False
    return True
