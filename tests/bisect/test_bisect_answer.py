"""The answer of a search whose ends were not told apart: it says how near they came to it."""

import numpy as np

from repro.bisect.answer import answer
from repro.bisect.search import LOOKS, Measurement, find_change
from repro.judge import Excess


def ends(there, here):
    """A history of two commits whose values over seeds are these."""

    def measure(place, seeds):
        first = (there, here)[place][:seeds]
        excess = Excess(first.mean(), first.std(ddof=1), seeds)
        told = (f"{first.mean():.2f}",)
        return Measurement((excess,), ("it rises",), tuple(map(str, first)), told)

    return "\n".join(answer("900/rises", [], find_change(2, measure)))


def scattered(mean, spread):
    """Values with exactly this mean and deviation over all seeds."""
    values = np.random.default_rng(3).normal(size=LOOKS[-1])
    return mean + spread * (values - values.mean()) / values.std(ddof=1)


def test_it_says_how_clear_a_difference_was_and_how_clear_it_has_to_be():
    said = ends(scattered(2.0, 1.0), scattered(1.2, 1.0))
    assert "the ends cannot be told apart by 900/rises" in said
    assert "p = 0.0" in said
    assert "over 30 seeds; 0.001 is asked for" in said
    assert "chance" not in said, "nothing shows that chance is all of it"
    assert "times as" not in said


def test_it_says_where_the_runs_spread_more_or_less_than_they_did():
    said = ends(scattered(2.0, 1.0), scattered(2.0, 3.6))
    assert "times as widely over seeds at the bad end" in said
    assert float(said.partition("spread ")[2].split()[0]) > 2.5
    said = ends(scattered(2.0, 3.6), scattered(2.0, 1.0))
    assert float(said.partition("spread ")[2].split()[0]) < 0.4


def test_the_same_bits_need_no_test():
    said = ends(scattered(2.0, 1.0), scattered(2.0, 1.0))
    assert "no commit between changes 900/rises" in said
    assert "the same to the last bit" in said
