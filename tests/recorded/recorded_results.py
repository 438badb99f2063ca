"""A file of results, and the claims about it, for the tests of recorded runs."""

import random

MEANS = {"plain": 0.93, "smoothing": 0.936, "mixup": 0.931}

CLAIMS = """
from repro import claim
from repro.arm import Metric
from repro.recorded import recorded

SHARE = {{"accuracy": Metric("log-odds", examples=10_000)}}
RESULTS = recorded("results.csv", arm=["method", "width"], seed="seed", metrics=SHARE{more})


@claim("Label smoothing helps", source="Ours, Table 2", documented="94.1 % against 93.4 %")
def test_label_smoothing(trials):
    smooth, plain = trials(RESULTS(method="smoothing"), RESULTS(method="plain"))
    assert smooth.accuracy > plain.accuracy


@claim("Mixup helps", source="Ours, Table 2")
def test_mixup(trials):
    mixup, plain = trials(RESULTS(method="mixup"), RESULTS(method="plain"))
    assert mixup.accuracy > plain.accuracy
"""


def table(seeds=20, means=MEANS):
    """Return the lines of a CSV file: methods whose seeds share most of their noise."""
    rng = random.Random(1)
    lines = ["method,width,seed,accuracy"]
    for method, mean in means.items():
        for seed in range(1, seeds + 1):
            shared = random.Random(seed).gauss(0, 0.003)
            lines.append(f"{method},64,{seed},{mean + shared + rng.gauss(0, 0.001):.4f}")
    return lines


def write(project, lines, name="results.csv"):
    (project.path / name).write_text("\n".join(lines) + "\n")


def say(project, more):
    """Have the source declared with more, such as `paired=True`."""
    project.makepyfile(test_results=CLAIMS.format(more=f", {more}"))


def run(project, *arguments):
    """Run a session in this process."""
    return project.runpytest_inprocess("-p", "no:cacheprovider", *arguments)
