"""Measured arms of given values, for the tests of the judge."""

import numpy as np

from repro.judge import Design, Judge, Measured, Scale

EIGHT = Design(looks=(8,))
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
