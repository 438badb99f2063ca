"""Is one layer of attention enough to see a token again?"""

from order import Order

from repro import claim


@claim("The training loss falls from the first epoch to the second", source="order, Section 1")
def test_it_learns(trials):
    assert trials(Order()).over_epochs.loss.falls()


@claim("One layer is better than a guess", source="order, Section 1")
def test_one_layer_is_enough(trials):
    assert trials(Order()).accuracy > 0.5
