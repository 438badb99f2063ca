"""The state that Hugging Face's Trainer saves with each checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from repro.recorded.errors import RecordedError


def trainer_state(path: Path) -> Iterator[dict[str, object]]:
    """Yield a row for each entry of the `log_history` in a `trainer_state.json`, or in its folder.

    The columns are those of the entries: `step`, `epoch`, `loss`, `eval_loss`, … Entries of the
    same step and name, as the last evaluation has where it is made twice, count once, as the last.

    >>> recorded("out/{method}-{seed}/checkpoint-500", read=trainer_state, arm="method",
    ...          seed="seed", epoch="step", metrics={"eval_loss": Metric("identity")})
    """
    file = path / "trainer_state.json" if path.is_dir() else path
    if not file.exists():
        raise RecordedError(f"{path} has no trainer_state.json, as a checkpoint's folder has.")
    state = json.loads(file.read_text(encoding="utf-8"))
    history = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(history, list):
        raise RecordedError(f"{file} has no log_history: it is no state of a Trainer.")
    steps: dict[object, dict[str, object]] = {}
    for entry in history:
        steps.setdefault(entry.get("step"), {}).update(entry)
    yield from steps.values()
