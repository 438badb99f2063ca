"""Hands claims to xdist's workers in blocks, so that most are judged where they were read.

xdist's usual scheduling deals tests out piece by piece. Then most claims would be read in one
worker and judged in another one, which has to look their results up again.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import (  # type: ignore[import-untyped]
    LoadScheduling,
    WorkStealingScheduling,
)

from repro.imports import import_whole
from repro.plugin.progress import display_of, shared_folder

_NOTE = "has-claims"


def note_claims(config: pytest.Config) -> None:
    """Let the controller know, from a worker that has collected, that there are claims."""
    folder = shared_folder(config)
    if folder is not None:
        with suppress(OSError):
            (folder / _NOTE).touch()


def scheduling_for(config: pytest.Config, log: Any) -> ClaimsInBlocks | None:
    """Return the scheduling of a session; None where somebody chose how tests are dealt out."""
    is_usual = config.getoption("dist") == "load" and config.getoption("maxschedchunk") is None
    return ClaimsInBlocks(config, log, Path(display_of(config).folder)) if is_usual else None


class ClaimsInBlocks:
    """xdist's usual scheduling, and where claims were collected the one that begins with blocks."""

    def __init__(self, config: pytest.Config, log: Any, folder: Path) -> None:
        self._config, self._log, self._folder = config, log, folder
        self._used: Any = LoadScheduling(config, log)
        self._is_begun = False

    def schedule(self) -> None:
        """Deal tests out, once all workers have collected them."""
        has_claims = (self._folder / _NOTE).exists()
        if not self._is_begun and has_claims:
            usual, self._used = self._used, WorkStealingScheduling(self._config, self._log)
            for node in usual.nodes:
                self._used.add_node(node)
            for node, collection in usual.node2collection.items():
                self._used.add_node_collection(node, collection)
        self._used.schedule()
        if not self._is_begun and has_claims:
            import_whole("repro.plugin.summary")  # while the workers read: it takes a while
        self._is_begun = True

    def __getattr__(self, name: str) -> Any:
        """Leave everything else to the scheduling that is used."""
        return getattr(self._used, name)
