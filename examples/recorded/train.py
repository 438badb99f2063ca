"""Four classifiers on scikit-learn's digits at twenty seeds: `python train.py > results.csv`.

A seed draws the examples that are trained on, the same for all four, and seeds the classifier.
"""

import csv
import sys

from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

METHODS = {
    "logistic": lambda seed: LogisticRegression(max_iter=2000, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(random_state=seed),
    "extra trees": lambda seed: ExtraTreesClassifier(random_state=seed),
    "rbf": lambda seed: SVC(random_state=seed),
}
SEEDS = range(1, 21)
TEST = 797


def main():
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["method", "seed", "accuracy"])
    pixels, digits = load_digits(return_X_y=True)
    for method, make in METHODS.items():
        for seed in SEEDS:
            train, test, train_digits, test_digits = train_test_split(
                pixels / 16, digits, test_size=TEST, random_state=seed
            )
            model = make(seed).fit(train, train_digits)
            table.writerow([method, seed, f"{model.score(test, test_digits):.6f}"])


if __name__ == "__main__":
    main()
