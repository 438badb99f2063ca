"""Daemons that a test starts on this machine, on free ports, and ends with all they wrote."""

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path


class Daemons:
    """Daemons that have one temporary folder; what each prints lies there, by its name."""

    def __init__(self, prefix, ports):
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))  # sockets need short paths
        self.ports = free_ports(ports)
        self._processes = {}

    def _start(self, name, *command, **environment):
        with (self.folder / f"{name}.out").open("a") as output:
            self._processes[name] = subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _end(self, name):
        process = self._processes.pop(name, None)
        if process is not None:
            process.kill()
            process.wait()

    def _end_all(self):
        for name in list(self._processes):
            self._end(name)
        shutil.rmtree(self.folder, ignore_errors=True)


def processes_with(*marks, below=()):
    """The processes that have these in their environment, with all that those and others began."""
    parents, found = {}, set(below)
    for process in (int(p.name) for p in Path("/proc").iterdir() if p.name.isdecimal()):
        with suppress(OSError):
            status = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            parents[process] = int(status[1])
            environment = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
            if all(mark.encode() in environment for mark in marks):
                found.add(process)
    while more := {p for p, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def free_ports(count):
    """Numbers of so many ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
