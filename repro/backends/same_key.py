"""The check that a node stores a run under the key that was asked for.

A node is given the key that each run's result will be stored under, and computes it itself before
it trains: other code, data, devices or versions are noticed, and nothing is stored under a key that
does not say how it was trained.
"""

from __future__ import annotations

from repro.arm import Run
from repro.runs.identity import Identity, identity, name_of


def identity_here(run: Run, *, engine: str, device: str, starts_from: str | None) -> Identity:
    """Return the identity that a run has on this machine; `starts_from` is a key."""
    here = identity(run, engine=engine, device=device)
    return {**here, "starts_from": starts_from} if starts_from else here


def other_key(run: Run, here: Identity) -> str:
    """Say that a run would be stored under another key than the one that was asked for."""
    about = {name: here[name] for name in ("torch", "data", "code")}
    return (
        f"{name_of(run)}, would be stored under another key by the node that it was sent to, whose"
        f" code, data or versions are not those of the process that asked; there: {about}"
    )
