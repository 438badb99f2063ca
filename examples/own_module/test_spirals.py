"""What helps to tell two spirals apart?"""

import pytest
from spirals import Spirals

from repro import claim


@claim("Wider networks tell the spirals apart better", source="spirals, Section 1")
def test_wider_is_better(trials):
    assert trials([Spirals(width=width) for width in (2, 8, 32)]).accuracy.climbs()


@claim("Dropout helps", source="spirals, Section 2", documented="“a little”")
@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_dropout_helps(trials, rate):
    with_dropout, without = trials(Spirals(dropout=rate), Spirals())
    assert with_dropout.accuracy > without.accuracy
