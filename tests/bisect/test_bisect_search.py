"""The search among measured commits: simulated histories with one guilty commit, or none."""

import numpy as np
import pytest

from repro.bisect.errors import SearchError, Unmeasurable
from repro.bisect.search import DECISIVE, LOOKS, REFERENCE, Measurement, State, find_change
from repro.judge import Excess

COMMITS = 32


class Simulated:
    """Commits whose seeds scatter around an effect; each has bits of its own, or the parent's."""

    def __init__(self, effects, generator, *, other_bits=1.0):
        self.values, self.asked, self.told = [], [], []
        for place, effect in enumerate(effects):
            harmless = place > 0 and effect == effects[place - 1]
            if harmless and generator.random() >= other_bits:
                self.values.append(self.values[-1])
            else:
                self.values.append(generator.normal(effect, 1, LOOKS[-1]))
        self.broken = {}

    def measure(self, place, seeds):
        if place in self.broken:
            raise Unmeasurable(self.broken[place])
        self.asked.append((place, seeds))
        first = self.values[place][:seeds]
        known = np.isfinite(first).all()
        return Measurement(
            excesses=(Excess(first.mean(), first.std(ddof=1), seeds),) if known else (),
            claimed=("it rises",),
            results=tuple(map(str, first)),
        )

    def find(self):
        return find_change(len(self.values), self.measure, lambda *told: self.told.append(told))


def history(effect, changed, guilty):
    return [effect] * guilty + [changed] * (COMMITS - guilty)


def searched(effect, changed, count, seed, **settings):
    """The suspects of so many histories, each with the guilty commit."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        guilty = int(generator.integers(1, COMMITS))
        found = Simulated(history(effect, changed, guilty), generator, **settings).find()
        yield list(found.suspects), guilty


@pytest.mark.parametrize(
    ("effect", "changed", "least"), [(2.0, 0.0, 0.95), (3.0, 0.0, 0.97), (0.0, 2.0, 0.95)]
)
def test_the_guilty_commit_is_found_though_each_has_other_bits(effect, changed, least):
    right = [suspects == [guilty] for suspects, guilty in searched(effect, changed, 150, 1)]
    assert np.mean(right) >= least


def test_where_bits_stay_it_is_found_by_few_seeds():
    generator = np.random.default_rng(2)
    commits = Simulated(history(2.0, 0.0, 13), generator, other_bits=0.0)
    assert list(commits.find().suspects) == [13]
    between = [seeds for place, seeds in commits.asked if 0 < place < COMMITS - 1]
    assert between[:-2] == [LOOKS[0]] * 5
    assert between[-2:] == [DECISIVE] * 2, "the neighbours, for the answer"


def test_none_is_named_where_none_is_guilty():
    """One history in 300 has ends that differ by chance (`benchmarks/guilty.py`)."""
    named = [suspects for suspects, _ in searched(2.0, 2.0, 300, 3) if suspects]
    assert len(named) <= 4


def test_the_same_bits_at_both_ends_are_no_change():
    commits = Simulated([2.0] * COMMITS, np.random.default_rng(4), other_bits=0.0)
    found = commits.find()
    assert not found.suspects
    assert found.bad.is_same(found.good)
    assert max(seeds for place, seeds in commits.asked if place) == LOOKS[0]


def test_a_claim_that_says_something_else_is_not_the_same():
    one = Measurement((), ("it rises",), ("a", "b"))
    assert one.is_same(Measurement((), ("it rises",), ("a", "b", "c")))
    assert not one.is_same(Measurement((), ("it rises by 0.1",), ("a", "b")))
    assert not one.is_same(Measurement((), ("it rises",), ("a", "c")))
    assert not one.is_same(Measurement((), ("it rises",), ()))


def test_commits_that_cannot_be_measured_are_left_out_and_said():
    commits = Simulated(history(9.0, 0.0, 20), np.random.default_rng(5), other_bits=0.0)
    commits.broken = dict.fromkeys(range(10, 19), "it does not import")
    found = commits.find()
    assert list(found.suspects) == [20]
    assert set(found.left_out) <= set(commits.broken)
    assert (15, State.UNMEASURABLE, "it does not import") in commits.told


def test_where_the_neighbours_cannot_be_measured_all_of_them_are_suspects():
    commits = Simulated(history(9.0, 0.0, 20), np.random.default_rng(5), other_bits=0.0)
    commits.broken = dict.fromkeys((19, 20, 21), "it does not import")
    assert list(commits.find().suspects) == [19, 20, 21, 22]


def test_an_effect_between_both_ends_is_a_change():
    effects = [9.0] * 10 + [6.0] * 10 + [0.0] * 12
    found = Simulated(effects, np.random.default_rng(6)).find()
    assert list(found.suspects) == [10]


def test_a_value_that_is_lost_is_a_change():
    commits = Simulated(history(2.0, 2.0, 1), np.random.default_rng(7))
    for values in commits.values[11:]:
        values[3] = np.nan
    found = commits.find()
    assert list(found.suspects) == [11]
    assert found.difference is None


def test_a_commit_between_that_has_no_value_is_a_change():
    commits = Simulated(history(9.0, 0.0, 25), np.random.default_rng(8))
    for values in commits.values[11:25]:
        values[3] = np.nan
    assert list(commits.find().suspects) == [11]


def test_the_good_end_has_a_reference_of_its_own():
    commits = Simulated(history(2.0, 0.0, 9), np.random.default_rng(9))
    commits.find()
    assert commits.asked[0] == (0, REFERENCE)
    assert (0, LOOKS[0]) not in commits.asked


@pytest.mark.parametrize("end", [0, COMMITS - 1])
def test_ends_that_cannot_be_measured_end_the_search(end):
    commits = Simulated(history(2.0, 0.0, 9), np.random.default_rng(9))
    commits.broken = {end: "it does not import"}
    with pytest.raises(SearchError, match="it does not import"):
        commits.find()


def test_a_good_end_without_a_value_ends_the_search():
    commits = Simulated(history(2.0, 0.0, 9), np.random.default_rng(9))
    commits.values[0][7] = np.nan
    with pytest.raises(SearchError, match="no finite value at the good end"):
        commits.find()


def test_a_claim_that_compares_more_at_one_end_ends_the_search():
    commits = Simulated(history(2.0, 0.0, 9), np.random.default_rng(9))

    def measure(place, seeds):
        one = commits.measure(place, seeds)
        twice = place == COMMITS - 1
        return Measurement(one.excesses * (1 + twice), one.claimed, one.results)

    with pytest.raises(SearchError, match="compares 1 things at the good end and 2 at the bad"):
        find_change(COMMITS, measure)
