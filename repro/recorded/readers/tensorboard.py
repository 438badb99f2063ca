"""Folders of TensorBoard events."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from repro.recorded.errors import RecordedError
from repro.recorded.readers.flat import lacks

EVERY = 0
"""The number of values to keep of a tag that keeps all of them."""


def tensorboard(path: Path) -> Iterator[dict[str, object]]:
    """Yield a row for each scalar of a run's folder: its `step`, and the value under its tag.

    Scalars that `SummaryWriter.add_scalar` wrote are read, and those of TensorFlow 2, which are
    tensors. A later event of the same step counts, as in TensorBoard itself.

    >>> recorded("runs/{method}/seed_{seed}", read=tensorboard, arm="method", seed="seed",
    ...          epoch="step", tags={"accuracy": "val/accuracy"}, metrics=METRICS)
    """
    try:
        reading = import_module("tensorboard.backend.event_processing.event_accumulator")
        tensors = import_module("tensorboard.util.tensor_util")
    except ImportError:
        raise lacks("TensorBoard", "tensorboard") from None
    if not any(path.glob("*tfevents*")):
        raise RecordedError(f"{path} has no TensorBoard events: they are files called …tfevents….")
    events = reading.EventAccumulator(str(path), size_guidance={"scalars": EVERY, "tensors": EVERY})
    events.Reload()
    tags = events.Tags()
    scalars = {
        tag: {event.step: event.value for event in events.Scalars(tag)} for tag in tags["scalars"]
    }
    for tag in tags["tensors"]:
        if events.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
            scalars[tag] = {
                event.step: float(tensors.make_ndarray(event.tensor_proto))
                for event in events.Tensors(tag)
            }
    if not scalars:
        raise RecordedError(f"{path} has no TensorBoard events with scalars.")
    for tag, values in scalars.items():
        for step, value in values.items():
            yield {"step": step, tag: value}
