"""What a run's result depends on, and therefore what it is stored under.

The arm, the seed, the data's content, the source of the modules that the run reaches, the engine
and the numerics. Computed without importing torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from repro.arm import Arm, Run
from repro.store.code import source_fingerprint

Identity = dict[str, Any]

ENGINE = "repro.core.train"
"""What trains every study; a study's own imports need not reach it."""


def identity(run: Run, *, engine: str, numerics: Mapping[str, str]) -> Identity:
    """The identity of a run trained by an engine, where the numerics are these.

    >>> identity(Run(D256_L4, 42), engine="stacked", numerics=numerics("cpu"))["seed"]
    42
    """
    return {**_of_arm(run.arm), "seed": run.seed, "engine": engine, "numerics": dict(numerics)}


@cache
def _of_arm(arm: Arm) -> Identity:
    return {
        "study": arm.study,
        "arm": arm.settings(),
        "data": arm.content(),
        "code": [source_fingerprint(module) for module in (arm.study, *arm.code, ENGINE)],
    }
