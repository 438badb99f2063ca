"""Numbers that were simulated once are those that would be simulated again."""

import json

import pytest

from repro.judge import Design, simulated
from repro.judge.boundary import threshold
from repro.judge.statistic import LARGE_SPREAD
from tests.judge.arms import arms


@pytest.fixture
def forget(monkeypatch):
    def forgetting():
        monkeypatch.setattr(simulated, "_found", {})
        threshold.cache_clear()

    forgetting()
    return forgetting


def numbers():
    design = Design(looks=(3, 5))
    (a,) = arms([0.0, 1.0, 0.1, 1.2, 0.4], design=design)
    return [
        design.boundary(3),
        design.boundary(5, share=0.5, statistic=LARGE_SPREAD),
        design.level_at(0.0012, 5),
        design.detectable(terms=2),
        Design(looks=(3, 5), level=0.05).detectable(),
        (a > 0).effects[0].detectable,
    ]


def test_what_another_process_found_is_what_this_one_would_find(forget, monkeypatch):
    there = numbers()
    told = json.loads(json.dumps(simulated.told()))
    forget()
    simulated.learn({n: tuple(x) if isinstance(x, list) else x for n, x in told.items()})

    def simulates(*arguments):
        raise AssertionError(f"simulated again: {arguments}")

    monkeypatch.setattr("repro.judge.boundary.chance_of_crossing", simulates)
    monkeypatch.setattr("repro.judge.design.simulated_looks", simulates)
    monkeypatch.setattr("repro.judge.unusual._MEASURES", {"an empty one": simulates})
    assert numbers() == there


def test_what_is_known_here_is_not_replaced(forget):
    known = Design(looks=(3, 5)).detectable()
    simulated.learn(dict.fromkeys(simulated.told(), 1000.0))
    assert Design(looks=(3, 5)).detectable() == known
    forget()
    assert Design(looks=(3, 5)).detectable() == known  # the draws are seeded


def test_another_version_of_the_judge_has_another_name(monkeypatch, tmp_path):
    monkeypatch.setattr(simulated, "__file__", str(tmp_path / "simulated.py"))
    versions = set()
    for text in ("DRAWS = 1", "DRAWS = 2"):
        (tmp_path / "boundary.py").write_text(text)
        simulated.version.cache_clear()
        versions.add(simulated.version())
    simulated.version.cache_clear()
    assert len(versions) == 2
