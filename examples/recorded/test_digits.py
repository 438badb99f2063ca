"""Which of four classifiers reads scikit-learn's digits best? Judged on `results.csv`.

A seed is a split of the same 1,797 digits: the claims are about such splits, and say less of other
digits.
"""

from repro import Metric, claim
from repro.recorded import recorded

RESULTS = recorded(
    "results.csv",
    arm="method",
    seed="seed",
    metrics={"accuracy": Metric("log-odds", examples=797)},
    paired=True,  # train.py draws the same split for all four
)
METHODS = "logistic", "forest", "extra trees", "rbf"


@claim(
    "Extra trees beat a random forest", source="digits, Section 1", documented="97.8 % to 96.9 %"
)
def test_extra_trees(trials):
    extra, forest = trials(RESULTS(method="extra trees"), RESULTS(method="forest"))
    assert extra.accuracy > forest.accuracy


@claim("The kernel is the best of the four", source="digits, Section 1")
def test_kernel_is_best(trials):
    assert trials([RESULTS(method=method) for method in METHODS]).accuracy.peaks_at(3)


@claim("A forest is a point better than a linear model", source="digits, Section 2")
def test_forest_is_a_point_better(trials):
    forest, linear = trials(RESULTS(method="forest"), RESULTS(method="logistic"))
    assert forest.accuracy.exceeds(linear.accuracy, by_at_least=0.01)
