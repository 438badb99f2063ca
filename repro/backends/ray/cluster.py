"""A cluster that somebody else runs: joined, looked at, and left. Nothing is started here."""

from __future__ import annotations

import logging
import os
import signal
import socket
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import ray
from ray.exceptions import (
    ActorUnavailableError,
    NodeDiedError,
    RayError,
    TaskUnschedulableError,
    WorkerCrashedError,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from repro.backends.devices import ONE, Demand
from repro.backends.ray.mailbox import Mailbox
from repro.backends.ray.node import Facts, facts
from repro.backends.ray.working_copy import working_copy

HEAD = "node:__internal_head__"
CONNECT_SECONDS = 5.0
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 10.0
"""How long the head may be silent before it is taken for lost."""

LEAST_MEMORY = 2**29
USUAL_MEMORY = 2**30


class ClusterError(ValueError):
    """There is no cluster to train on; says why and what to do."""


@dataclass(frozen=True)
class Node:
    """A machine of a cluster that can train."""

    id: str
    slots: int
    """Jobs that it can carry out at once."""

    memory: float
    facts: Facts
    cores: int = 1


class Cluster:
    """The nodes that can train for this process: all whose results have the same keys.

    With `same_machine` also those alone whose results are the same bits.
    """

    def __init__(
        self, address: str, *, device: str, project: Path, store: Path, same_machine: bool
    ) -> None:
        self.address, self.interrupted = address, False
        with working_copy(project, store) as environment:
            join(address, environment)
        on_head = {"num_cpus": 0, "resources": {HEAD: 0.001}, "max_restarts": 0}
        self.mailbox: Any = ray.remote(Mailbox).options(**on_head).remote()
        self.device = _device(device)
        self.unit = "GPU" if self.device == "cuda" else "CPU"
        nodes = self._look()
        if not nodes:
            raise ClusterError(
                f"The Ray cluster at {address} has no node with a {self.unit}; add one."
            )
        self.nodes = of_one_kind(nodes, same_machine=same_machine)
        self.others = len(nodes) - len(self.nodes)

    @property
    def slots(self) -> int:
        """Jobs that it can carry out at once."""
        return sum(node.slots for node in self.nodes)

    @property
    def machine(self) -> str | None:
        """The chip of its nodes; None where they have different ones."""
        machines = {node.facts.machine for node in self.nodes}
        return machines.pop() if len(machines) == 1 else None

    @property
    def remarks(self) -> list[str]:
        """The nodes that are left alone, and why."""
        if not self.others:
            return []
        torch = self.nodes[0].facts.torch
        return [
            f"Nodes of the Ray cluster that are left alone: {self.others}. The others have torch"
            f" {torch} on {self.machine or 'machines of several kinds'}."
        ]

    @contextmanager
    def heeding_ctrl_c(self) -> Iterator[None]:
        """Ctrl-C is heard even where Ray's own callbacks swallow what a signal raises in them.

        It is raised once more then, before the mailbox is next asked.
        """

        def heed(number: int, frame: FrameType | None) -> None:
            self.interrupted = True
            signal.default_int_handler(number, frame)

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, heed)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def ask_mailbox(self, question: str, *given: Any) -> Any:
        """Return what the mailbox answers; raises a RayError where it is silent for long."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            if self.interrupted:
                raise KeyboardInterrupt
            try:
                answer = getattr(self.mailbox, question).remote(*given)
                return ray.get(answer, timeout=PATIENCE_SECONDS)
            except ActorUnavailableError:
                if time.monotonic() > deadline or not _answers(self.address):
                    raise
                time.sleep(POLL_SECONDS)

    def lacking(self, demand: Demand) -> str:
        """Return in words that no node has as many devices; nothing where one has."""
        most = max(node.slots for node in self.nodes)
        where = "the largest node of the Ray cluster"
        return demand.lacking(most, where=where, device=self.device)

    def resources(self, memory: int, demand: Demand = ONE) -> dict[str, Any]:
        """Return what a task that trains is given, at most what the largest node has."""
        most = max(node.memory for node in self.nodes)
        declared = max(LEAST_MEMORY, memory + memory // 4) if memory else USUAL_MEMORY
        cores = max(node.cores for node in self.nodes if node.slots >= demand.devices)
        resources: dict[str, Any] = {
            "num_cpus": max(1, min(demand.cores(self.device), cores)),
            "memory": min(declared, int(most)),
        }
        if self.device == "cuda":
            resources["num_gpus"] = demand.devices
        if self.others:
            ids = ",".join(node.id for node in self.nodes)
            resources["label_selector"] = {"ray.io/node-id": f"in({ids})"}
        return resources

    def _look(self) -> list[Node]:
        alive = [n for n in _nodes() if n["Alive"] and n["Resources"].get(self.unit, 0) >= 1]
        asked = [
            facts.options(
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
                num_gpus=0.001 if self.device == "cuda" else 0,
            ).remote(self.device)
            for node in alive
        ]
        looked = ((node, self._facts(task)) for node, task in zip(alive, asked, strict=True))
        return [
            Node(
                node["NodeID"],
                int(node["Resources"][self.unit]),
                node["Resources"].get("memory", USUAL_MEMORY),
                its_facts,
                int(node["Resources"].get("CPU", 1)),
            )
            for node, its_facts in looked
            if its_facts is not None
        ]

    def _facts(self, task: Any) -> Facts | None:
        """Return what a node says of itself; None where it has gone."""
        try:
            its_facts: Facts = ray.get(task)
        except (TaskUnschedulableError, NodeDiedError, WorkerCrashedError):
            return None
        except RayError as error:
            raise ClusterError(
                f"The nodes of the Ray cluster at {self.address} cannot run repro:"
                f" {in_short(error)}; install there what the project imports."
            ) from error
        return its_facts


def of_one_kind(nodes: Sequence[Node], *, same_machine: bool) -> list[Node]:
    """Return the nodes with one version of torch, and of one machine if that is asked for.

    Of the kinds that there are, they are the one with most slots.
    """
    kinds: dict[tuple[str, ...], list[Node]] = {}
    for node in nodes:
        kind = tuple(node.facts) if same_machine else (node.facts.torch,)
        kinds.setdefault(kind, []).append(node)
    return max(sorted(kinds.items()), key=lambda kind: sum(node.slots for node in kind[1]))[1]


def join(address: str, environment: dict[str, Any]) -> None:
    """Join the cluster at an address; raises `ClusterError` where that cannot be done."""
    require_somebody(address)
    # on where Ray has it; who runs a cluster without it has to say so
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    try:
        ray.init(
            address=address,
            runtime_env=environment,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except Exception as error:  # Ray raises whatever it met, of a dozen kinds
        raise ClusterError(
            f"The Ray cluster at {address} cannot be joined ({in_short(error)}); its token and its"
            " version of Ray have to be those here."
        ) from error


def require_somebody(address: str) -> None:
    """Raise `ClusterError` where nobody answers at an address."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        raise ClusterError(
            f"{address!r} is no address of a Ray cluster; give HOST:PORT or ray://HOST:PORT."
        )
    if not _answers(address):
        raise ClusterError(
            f"Nobody answers at {address}; start a Ray cluster there, or give the address of one."
        )


def _answers(address: str) -> bool:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def _device(name: str) -> str:
    gpus = sum(node["Resources"].get("GPU", 0) for node in _nodes() if node["Alive"])
    if name == "auto":
        return "cuda" if gpus else "cpu"
    if name == "cuda" and not gpus:
        raise ClusterError("The Ray cluster has no GPU; try --device cpu.")
    if name not in ("cpu", "cuda"):
        raise ClusterError(f"A Ray cluster trains on cpu or cuda, not on {name}.")
    return name


def _nodes() -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return nodes


def in_short(error: BaseException) -> str:
    """Return what was wrong as one line of what Ray prints of it."""
    cause = getattr(error, "cause", None)  # of a task's own error, which Ray prints as a traceback
    if isinstance(cause, BaseException):
        return f"{type(cause).__name__}: {in_short(cause)}"
    line = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return textwrap.shorten(line.rstrip("."), 240, placeholder=" …")
