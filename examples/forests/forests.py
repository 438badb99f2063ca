"""Random forests on scikit-learn's digits, ten more trees at a time. Nothing here needs torch."""

from dataclasses import dataclass
from typing import ClassVar

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from repro import Metric, OutsideArm, OutsideStudy

PIXELS, DIGITS = load_digits(return_X_y=True)
TRAIN, TEST = slice(1000), slice(1000, None)


@dataclass(frozen=True, kw_only=True)
class Forest(OutsideArm):
    study: ClassVar[str] = "forests"
    metrics: ClassVar[dict[str, Metric]] = {
        # the test digits are a sample too: a mean over them is as uncertain as they are few
        "accuracy": Metric("identity", sampled="right"),
        "flattery": Metric("identity"),  # out-of-bag accuracy less the test's
    }
    features: int = 8  # of 64 pixels, those that a split chooses from
    epochs: int = 8  # each adds ten trees
    data: str = "scikit-learn's digits"


def train(arm, seed, run):
    forest = RandomForestClassifier(warm_start=True, max_features=arm.features, random_state=seed)
    for epoch in range(1, arm.epochs + 1):
        forest.set_params(n_estimators=10 * epoch, oob_score=epoch == arm.epochs)
        forest.fit(PIXELS[TRAIN], DIGITS[TRAIN])
        right = forest.predict(PIXELS[TEST]) == DIGITS[TEST]
        run.epoch(accuracy=right.mean())
    return {
        "accuracy": right.mean(),
        "right": right.astype(float),
        "flattery": forest.oob_score_ - right.mean(),
    }


STUDY = OutsideStudy(train)
