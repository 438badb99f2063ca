"""Measured arms of given values, and what the tests of the judge do with them."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np

from repro.judge import Design, Judge, Measured, Scale

EIGHT, TWELVE = Design(looks=(8,)), Design(looks=(12,))
LOOKS = Design(looks=(5, 8, 12))
IDENTITY = Scale("identity")


def arm(values, *, judge, label="a", metric="accuracy", scale=IDENTITY, exact=False, looks=None):
    """One arm of these values; `looks` is a list that collects the looks taken at them."""

    def first(seeds):
        if looks is not None:
            looks.append(seeds)
        return np.asarray(values, dtype=float)[:seeds]

    return Measured(
        judge=judge, label=label, metric=metric, values=first, scale=scale, is_exact=exact
    )


def arms(*samples, design=EIGHT, **settings):
    """Arms called a, b, c and so on, under one judge."""
    judge = Judge(design)
    return [
        arm(sample, judge=judge, label=label, **settings)
        for label, sample in zip("abcdefgh", samples, strict=False)
    ]


def told(verdict):
    """What a verdict says, in one line."""
    return " ".join(str(verdict).split())


def exact(mean, sd, seeds=8):
    """Values with exactly this mean and standard deviation."""
    x = np.random.default_rng(3).standard_normal(seeds)
    return mean + sd * (x - x.mean()) / x.std(ddof=1)


def not_refused(cases):
    """Return the cases, each a claim, its error and words of it, that are not refused so."""
    bad = []
    for claim, error, words in cases:
        try:
            claim()
        except error as said:
            if re.search(words, str(said)) is None:
                bad.append(f"{words!r} is refused with {str(said)!r}")
        else:
            bad.append(f"{words!r} is not refused")
    return bad


def benchmark(name):
    """Return a module of `benchmarks/`."""
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"judge_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
