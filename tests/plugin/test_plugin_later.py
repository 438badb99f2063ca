"""The chances of further seeds, as the ledger tells them."""

from repro.ledger import Entry
from repro.plugin.later import OF_ITS_OWN, LaterLooks

LOOKS = (5, 8, 12)


def entry(claim, data, seeds):
    return Entry(claim, "ci", data, "reproduced", "A sentence", "", f"a - b = 1, {seeds} seeds")


def test_what_is_said_of_this_data_counts_and_of_other_data_only_without_it():
    looks = LaterLooks(
        [entry("004/a", "cifar10", 5), entry("004/a", "twin", 12)], "ci", looks=LOOKS
    )
    assert looks.of("004/a", "twin")[12] > OF_ITS_OWN
    assert looks.of("004/a", "cifar10")[12] < 1 - OF_ITS_OWN
    assert looks.of("004/a", "other")[12] == 0.5


def test_of_a_claim_that_is_not_in_it_what_is_usual_counts():
    entries = [entry("004/a", "twin", 5), entry("004/b", "twin", 8), entry("004/c", "twin", 12)]
    looks = LaterLooks([*entries, entry("004/d", "twin", 5)], "ci", looks=LOOKS)
    assert looks.of("004/new", "twin") == {5: 1.0, 8: 0.5, 12: 0.25}


def test_a_cost_that_was_read_off_at_any_size_takes_no_further_look():
    cost = Entry("002/fewer", "paper", "none", "reproduced", "A sentence", "", "a - b = 1.33e+06")
    assert LaterLooks([cost], "ci", looks=LOOKS).of("002/fewer", "none") == {5: 1.0}
    looks = LaterLooks([cost, entry("002/fewer", "twin", 8)], "ci", looks=LOOKS)
    assert looks.of("002/fewer", "twin")[8] > OF_ITS_OWN


def test_without_a_ledger_every_look_is_as_likely_as_not():
    assert LaterLooks([], "ci", looks=LOOKS).of("004/a", "twin") == {5: 1.0, 8: 0.5, 12: 0.25}
