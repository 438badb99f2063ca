"""The arms that could have been compared in the place of others, against all pairs of arms."""

from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st

from repro.recorded.rivals import Rivals
from repro.recorded.runs import RecordedArmRuns, RecordedRun
from repro.recorded.table import File

FILE = File("results.csv", "")
SETTINGS = st.tuples(st.sampled_from("abc"), st.integers(1, 3), st.booleans())
VALUES = st.lists(st.none() | st.sampled_from([0.1, 0.2, 0.3]), max_size=2)


def chosen_of(settings):
    return tuple(zip(("method", "width", "deep"), settings, strict=True))


def arm_of(values):
    runs = {
        seed: RecordedRun("", FILE, {"accuracy": value}) for seed, value in enumerate(values, 1)
    }
    return RecordedArmRuns(runs)


def expected(arms, chosen, beside):
    """How an arm stands, from a look at every other one; None where it is not told."""
    means = {}
    for each, arm in arms.items():
        values = [run.measures["accuracy"] for run in arm.runs.values()]
        apart = sum(a != b for a, b in zip(each, chosen, strict=True))
        if apart <= 1 and each != beside and values and None not in values:
            means[each] = fmean(values)
    own = means.pop(chosen, None)
    if own is None or len(means) < 2:
        return None
    return own, min(means.values()), max(means.values()), len(means)


@given(st.dictionaries(SETTINGS, VALUES, min_size=2, max_size=27), st.data())
def test_an_arm_stands_among_those_that_differ_from_it_in_one_setting(tables, data):
    arms = {chosen_of(settings): arm_of(values) for settings, values in tables.items()}
    rivals = Rivals(arms)
    for _ in range(3):
        chosen, beside = (data.draw(st.sampled_from(list(arms))) for _ in range(2))
        found = rivals.standing(chosen, "accuracy", beside=beside)
        told = found and (found.own, found.lowest, found.highest, found.rivals)
        assert told == expected(arms, chosen, beside)
