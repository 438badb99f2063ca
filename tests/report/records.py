"""Claims as a session judges them, made by the judge itself from numbers drawn here."""

import numpy as np

from repro.document import Document
from repro.judge import Design, Judge, Ladder, Measured, Outcome, Runs, Scale
from repro.ledger import Change
from repro.report.records import (
    ArmData,
    ClaimRecord,
    FigureData,
    JudgedClaim,
    LineData,
    PanelData,
    finding_data,
)
from repro.store.run_files import UNKNOWN, key_of

RECIPE = {"epochs": 5, "batch": 128, "lr": 1e-3, "clip": [[0, 0.5], [2, 1.0]]}  # JSON has no tuples


SEEDS = [42, 123, 7, *range(1, 100)]


def measured(judge, label, mean):
    values = mean + 0.01 * np.random.default_rng(round(1000 * mean)).standard_normal(12)
    scale = Scale("log-odds", count=1000)
    return Measured(
        judge=judge,
        label=label,
        metric="accuracy",
        values=lambda n: values[:n],
        scale=scale,
        runs=lambda n: Runs(
            label=label, by_seed=dict(zip(SEEDS[:n], values[:n].tolist(), strict=True))
        ),
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


def arm(trained):
    seeds = list(range(1, 13))
    return ArmData(
        label=f"BP k={trained}",
        study="repro.studies.depth_ladder.study",
        settings={"arm": "LadderArm", "trained": trained, "recipe": RECIPE},
        seeds=seeds,
        keys=[key_of(identity(trained, seed), UNKNOWN) for seed in seeds],
    )


def record(claim="004/climbs", verdict=Outcome.REPRODUCED, p=None, **more):
    """The record of a claim; what is not given is as of a claim that was trained."""
    given = {
        "sentence": "Every trained block adds to the accuracy",
        "source": f"{claim.partition('/')[0]}, Results",
        "about": "Which credit rules make use of depth?",
        "documented": "0.389 → 0.617",
        "profile": "ci",
        "data": "cifar10-twin",
        "accepted": None,
        "change": "new",
        "change_kind": Change.NEW,
        "text": "",
        "metrics": ["accuracy"],
        "file": "claims/test_depth_ladder.py",
        "line": 7,
        "command": f'pytest "claims/test_depth_ladder.py::{claim}" --profile ci',
        "ledger": "claims/ledger.toml",
    } | more
    return ClaimRecord(claim=claim, verdict=verdict, p=p, **given)


def judged(claim, finding, *, arms=(), **more):
    """A claim with one finding: trained if it has arms, else about a document."""
    about = (
        {"p": finding.p, "level": finding.level / 2, "false_at_most": finding.level}
        if arms
        else {"profile": "any", "data": "the document", "metrics": [], "p": None}
    )
    named = {each.name: each for each in arms}
    given = {
        "verdict": finding.outcome,
        "measured": finding.measured,
        "text": str(finding),
        "findings": [finding_data(finding)],
        "arms": {name: each.seeds for name, each in named.items()},
    }
    return JudgedClaim(record=record(claim, **given, **about, **more), arms=named)


def depth_ladder():
    line = LineData(
        label="BP",
        at=[0, 1, 2],
        values=[[0.38, 0.39], [0.56, 0.57], [0.6, 0.61]],
        documented=[0.389, 0.565, 0.598],
    )
    return FigureData(
        name="depth_ladder",
        title="Which rules make use of depth",
        source="004, Figure 1",
        x="trained blocks",
        y="accuracy",
        profile="ci",
        data=["cifar10-twin"],
        panels=[PanelData(title="d=256", lines=[line])],
    )


def every_kind():
    """Claims of every kind."""
    judge = Judge(Design(looks=(5, 8, 12)))
    rungs = Ladder([measured(judge, f"BP k={k}", 0.40 + 0.05 * k) for k in range(4)])
    arms = [arm(k) for k in range(4)]
    document = Document()
    document("46.9%").agrees_with("46.9%")
    document("99.81%").is_share_of(149)
    agrees, share = document.findings
    not_run = record(
        "004/paper",
        Outcome.NOT_RUN,
        change="",
        change_kind=Change.NONE,
        text="needs --profile paper",
    )
    return [
        judged("004/climbs", rungs.climbs(), arms=arms, past=[(0.05, 0.01, 5)]),
        judged(
            "004/falls",
            rungs.falls(),
            arms=arms,
            accepted="reproduced",
            change="worse",
            change_kind=Change.WORSE,
        ),
        judged("004/gains", rungs[3].exceeds(rungs[2], by_at_least=0.05), arms=arms[2:]),
        judged("004/value", rungs[1].matches(0.45, tolerance=0.04), arms=arms[1:2]),
        judged("000/ratio", rungs[1].is_times(1.12, rungs[0], within_ratio=1.1), arms=arms[:2]),
        judged("000/order", rungs.is_ordered(), arms=arms),
        judged("000/within", rungs[0].is_within(0.2, of=rungs[1]), arms=arms[:2], kind="control"),
        judged("000/agrees", agrees),
        judged("000/share", share),
        JudgedClaim(record=not_run, arms={}),
    ]
