"""The runs behind claims as one tidy table: a row for each number, as pandas and R take them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from repro.recorded.readers import flat
from repro.report.record import ArmData
from repro.report.runs import StoredRuns, epochs_known, stored

FIRST = ("claim", "study", "arm")
LAST = ("seed", "epoch", "metric", "value")


@dataclass(frozen=True)
class UsedRuns:
    """The arms that a claim was judged on, and the metrics that it is about."""

    claim: str
    arms: Sequence[ArmData]
    metrics: Sequence[str]


def columns_of(claims: Iterable[UsedRuns]) -> list[str]:
    """Return the columns of the table: those of the settings in which its arms differ are inside.

    >>> columns_of([])
    ['claim', 'study', 'arm', 'seed', 'epoch', 'metric', 'value']
    """
    arms = {arm.name: _settings(arm) for claim in claims for arm in claim.arms}
    names = dict.fromkeys(name for settings in arms.values() for name in settings)
    differ = (
        name for name in names if len({repr(settings.get(name)) for settings in arms.values()}) > 1
    )
    return [*FIRST, *differ, *LAST]


def rows_of(claims: Iterable[UsedRuns], *places: StoredRuns) -> Iterator[dict[str, Any]]:
    """Yield a row for each number of each run: those of its way by epoch, the last one without.

    `places` have the runs; one that none of them has gives no row. A metric of several values has a
    row for each, as `layer_perplexity[0]`.
    """
    for claim in claims:
        for arm in claim.arms:
            about = {"claim": claim.claim, "study": arm.study, "arm": arm.label, **_settings(arm)}
            for seed, key in zip(arm.seeds, arm.keys, strict=True):
                result = stored(key, places)
                if result is None:
                    continue
                for metric in claim.metrics:
                    way = result.values["history"].get(metric, [])
                    at = epochs_known(arm, metric, result)
                    last = result.values.get("measures", {}).get(metric)
                    for epoch, value in [*zip(at, way, strict=False), (None, last)]:
                        for name, number in _numbers(metric, value):
                            row = {"seed": seed, "epoch": epoch, "metric": name, "value": number}
                            yield about | row


def _settings(arm: ArmData) -> dict[str, Any]:
    """Return the settings of an arm as cells: those of a mapping by their path, lists as JSON."""
    return {
        f"arm.{name}": json.dumps(value) if isinstance(value, list | tuple) else value
        for name, value in flat(arm.settings).items()
    }


def _numbers(metric: str, value: Any) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a value with their names; nothing where there is none."""
    if isinstance(value, list):
        for place, each in enumerate(value):
            yield from _numbers(f"{metric}[{place}]", each)
    elif value is not None:
        yield metric, value
