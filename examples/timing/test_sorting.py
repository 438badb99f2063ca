"""What do merging and checking cost?"""

from sorting import CHECKED, HEAP, MERGE, Sorting

from repro import claim


@claim("Checking the result makes it at most 20 % slower", source="sorting, Section 1")
def test_checking_is_cheap(trials):
    seconds = trials(Sorting()).seconds
    assert seconds[CHECKED].is_at_most_times(1.2, of=seconds[MERGE])


@claim("Merging takes at least twice as long as a heap", source="sorting, Section 2")
def test_merging_is_slow(trials):
    seconds = trials(Sorting()).seconds
    assert seconds[MERGE].exceeds(seconds[HEAP], by_ratio=2)
