"""A session's records, made by the judge itself from numbers drawn here; nothing is trained."""

import copy

import numpy as np
import pytest

from repro.document import Document
from repro.judge import Design, Judge, Ladder, Measured, Scale
from repro.report.record import finding_data
from repro.report.suite import adjust
from repro.store import Store, run_key

RECIPE = {"epochs": 5, "batch": 128, "lr": 1e-3, "clip": [[0, 0.5], [2, 1.0]]}  # JSON has no tuples


def measured(judge, label, mean):
    values = mean + 0.01 * np.random.default_rng(round(1000 * mean)).standard_normal(12)
    scale = Scale("log-odds", count=1000)
    return Measured(
        judge=judge, label=label, metric="accuracy", values=lambda n: values[:n], scale=scale
    )


def identity(trained, seed):
    return {"arm": {"trained": trained}, "seed": seed, "engine": "loop"}


def store_runs(store, trained, seeds):
    for seed in seeds:
        history = {
            "loss": [2.0 / (epoch + 1) + 0.01 * seed for epoch in range(5)],
            "accuracy": [0.3 + 0.05 * epoch + 0.002 * seed for epoch in range(5)],
        }
        values = {"measures": {"accuracy": 0.5}, "history": history, "steps": 5}
        store.put(identity(trained, seed), values, {"seconds": 1.5, "commit": "abc" * 12})


def arm(trained, *, label=None, **settings):
    seeds = list(range(1, 13))
    return {
        "label": label or f"BP k={trained}",
        "study": "repro.studies.depth_ladder.study",
        "settings": {"arm": "LadderArm", "trained": trained, "recipe": RECIPE, **settings},
        "seeds": seeds,
        "keys": [run_key(identity(trained, seed)) for seed in seeds],
    }


def record(name, findings, *, arms=(), **changes):
    finding = findings[-1]
    is_document = not arms
    return {
        "claim": name,
        "sentence": "Every trained block adds to the accuracy",
        "source": f"{name.partition('/')[0]}, Results",
        "about": "Which credit rules make use of depth?",
        "documented": "0.389 → 0.617",
        "profile": "any" if is_document else "ci",
        "data": "the document" if is_document else "cifar10-twin",
        "verdict": finding.outcome.value,
        "p": None if is_document else finding.p,
        "measured": finding.measured,
        "text": str(finding),
        "findings": [finding_data(each) for each in findings],
        "arms": list(arms),
        "metrics": [] if is_document else ["accuracy"],
        "file": "claims/test_depth_ladder.py",
        "line": 7,
        "command": f'pytest "claims/test_depth_ladder.py::{name}" --profile ci',
        "machine": "",
        "past": [],
        "ledger": "claims/ledger.toml",
        "accepted": None,
        "change": "new",
    } | changes


def depth_ladder():
    line = {
        "label": "BP",
        "at": [0, 1, 2],
        "values": [[0.38, 0.39], [0.56, 0.57], [0.6, 0.61]],
        "documented": [0.389, 0.565, 0.598],
    }
    return {
        "name": "depth_ladder",
        "title": "Which rules make use of depth",
        "source": "004, Figure 1",
        "x": "trained blocks",
        "y": "accuracy",
        "profile": "ci",
        "data": ["cifar10-twin"],
        "panels": [{"title": "d=256", "lines": [line]}],
    }


def records():
    judge = Judge(Design(looks=(5, 8, 12)))
    rungs = Ladder([measured(judge, f"BP k={k}", 0.40 + 0.05 * k) for k in range(4)])
    arms = [arm(k) for k in range(4)]
    document = Document()
    document("46.9%").agrees_with("46.9%")
    document("99.81%").is_share_of(149)
    found = [
        record("004/climbs", [rungs.climbs()], arms=arms),
        record("004/falls", [rungs.falls()], arms=arms, accepted="reproduced", change="worse"),
        record("004/gains", [rungs[3].exceeds(rungs[2], by_at_least=0.05)], arms=arms[2:]),
        record("004/value", [rungs[1].matches(0.45, tolerance=0.04)], arms=arms[1:2]),
        record("000/ratio", [rungs[1].is_times(1.12, rungs[0], within_ratio=1.1)], arms=arms[:2]),
        record("000/order", [rungs.is_ordered()], arms=arms),
        record("000/spread", [rungs[0].spreads_at_most(0.05)], arms=arms[:1]),
        record("000/agrees", document.findings[:1]),
        record("000/share", document.findings[1:]),
    ]
    paper = {"verdict": "not run", "findings": [], "p": None, "measured": "", "change": ""}
    needs = {"text": "needs --profile paper"}
    found.append(record("004/paper", [rungs.climbs()], arms=arms[:1]) | paper | needs)
    found[-1]["arms"] = []
    adjust(found)
    return found


@pytest.fixture(scope="session")
def judged():
    """Records of every kind of claim."""
    return records()


@pytest.fixture(scope="session")
def figure():
    """A figure of a source."""
    return depth_ladder()


@pytest.fixture
def session(judged, figure):
    """The records, and a figure, for a test to change."""
    return copy.deepcopy(judged), [copy.deepcopy(figure)]


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """The runs behind the records."""
    runs = Store(tmp_path_factory.mktemp("store"))
    for trained in range(4):
        store_runs(runs, trained, range(1, 13))
    return runs
