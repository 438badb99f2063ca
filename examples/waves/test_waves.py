"""Which frequencies should the sines have that a network sees instead of a number?"""

from waves import Wave

from repro import claim


@claim("Slow sines fit too little and fast ones too much", source="waves, Section 1")
def test_frequencies_in_the_middle_are_best(trials):
    assert trials([Wave(frequency=f) for f in (1.0, 10.0, 100.0)]).error.bottoms_at(1)


@claim("Fast sines fit what they see, and miss the rest", source="waves, Section 2")
def test_fast_sines_fit_what_they_see(trials):
    fast, slow = trials(Wave(frequency=100.0), Wave(frequency=1.0))
    assert fast.over_epochs.loss[5] < slow.over_epochs.loss[5]
    assert fast.error > slow.error
