"""How many features should a split see, how many trees are enough, and who needs a test set?"""

from forests import Forest

from repro import claim


@claim("Splits that choose from few pixels beat those that see all", source="forests, Section 1")
def test_few_features_are_better(trials):
    few, all_of_them = trials(Forest(), Forest(features=64))
    assert few.accuracy > all_of_them.accuracy


@claim("After forty trees, ten more change little", source="forests, Section 2")
def test_forty_trees_are_enough(trials):
    assert trials(Forest()).over_epochs.accuracy.largest_change(after=4) < 0.015


@claim("Out of bag a forest looks better than on others' digits", source="forests, Section 3")
def test_out_of_bag_flatters(trials):
    assert trials(Forest()).flattery > 0
