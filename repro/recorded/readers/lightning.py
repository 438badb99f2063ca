"""The reader of what Lightning's CSVLogger writes into the folder of a version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from repro.recorded.errors import RecordedError
from repro.recorded.read_files import read_csv
from repro.recorded.readers.flat import flat, lacks


def lightning_csv(path: Path) -> Iterator[Mapping[str, object]]:
    """Yield the rows of `metrics.csv`, with the hyperparameters of `hparams.yaml` as columns.

    A metric that the log has too keeps its place.

    >>> recorded("logs/{method}/version_{version}", read=lightning_csv, arm="method", seed="seed",
    ...          epoch="epoch", metrics=METRICS)
    """
    if not (path / "metrics.csv").exists():
        raise RecordedError(f"{path} has no metrics.csv, as the folder of a version has.")
    settings: dict[str, object] = {}
    if (path / "hparams.yaml").exists():
        try:
            import yaml  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise lacks("PyYAML", "lightning") from None
        text = (path / "hparams.yaml").read_text(encoding="utf-8")
        settings = flat(yaml.safe_load(text) or {})
    for _, cells in read_csv(path / "metrics.csv"):
        yield {**settings, **cells}
