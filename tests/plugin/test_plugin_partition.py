"""Programs divided among shards."""

import pytest

from repro.plugin.partition import MERGE, partition


def chain(length):
    """Claims of which each shares a program with the next: one piece."""
    return {f"c{n:02}": {f"p{n:02}", f"p{n + 1:02}"} for n in range(length)}


def seconds_of(claims):
    return {name: 1.0 for names in claims.values() for name in names}


def test_every_program_is_in_one_shard_and_claims_are_where_their_programs_are():
    claims = chain(40) | {"x": {"x"}, "y": {"y", "z"}, "none": set()}
    parts = partition(claims, seconds_of(claims), shards=4)
    assert set(parts.programs.values()) == {1, 2, 3, 4}
    for claim, names in claims.items():
        shards = {parts.programs[name] for name in names}
        assert parts.claims[claim] == (1 if not shards else min(shards) if len(shards) == 1 else 0)


def test_claims_that_share_programs_stay_together_where_they_fit():
    claims = {f"{k}{n}": {k, f"{k}{n}"} for k in "abcdefgh" for n in range(3)}
    parts = partition(claims, seconds_of(claims), shards=4)
    assert MERGE not in parts.claims.values()
    assert parts.seconds == [8.0] * 4


def test_only_what_is_larger_than_a_share_is_cut_and_at_few_places():
    claims = chain(39)  # of 40 programs
    parts = partition(claims, seconds_of(claims), shards=4)
    assert parts.seconds == pytest.approx([10] * 4, abs=5)
    assert sum(place == MERGE for place in parts.claims.values()) <= 8


def test_the_costs_are_balanced():
    claims = {f"c{n}": {f"p{n}"} for n in range(50)}
    seconds = {f"p{n}": float(n) for n in range(50)}
    parts = partition(claims, seconds, shards=5)
    assert sum(parts.seconds) == sum(seconds.values())
    assert max(parts.seconds) - min(parts.seconds) <= 10


def test_a_program_is_trained_where_it_starts_from():
    claims = {"a": {"tuned", "other"}, "b": {"other", "more"}}
    seconds = {"base": 5.0, "tuned": 1.0, "other": 3.0, "more": 4.0}
    parts = partition(claims, seconds, bound=[{"base", "tuned"}], shards=3)
    assert parts.programs["base"] == parts.programs["tuned"]


def test_the_order_in_which_claims_come_does_not_matter():
    claims = chain(30)
    there = partition(claims, seconds_of(claims), shards=4)
    back = dict(reversed(claims.items()))
    again = partition(back, dict(reversed(seconds_of(claims).items())), shards=4)
    assert there.digest == again.digest
    assert there.digest != partition(claims, seconds_of(claims), shards=5).digest


def test_a_shard_may_have_nothing():
    parts = partition({"a": {"p"}}, {"p": 1.0}, shards=3)
    assert parts.claims == {"a": 1}
    assert parts.seconds == [1.0, 0.0, 0.0]
