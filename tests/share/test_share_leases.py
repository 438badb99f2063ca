"""Leases between machines whose clocks have nothing to do with each other."""

import threading

import pytest

from repro.share.leases import BEAT_SECONDS, LEASE_SECONDS, LOOK_SECONDS, Leases

NAME = "5e1f"


class Clock:
    """A machine's clock, which others know nothing of."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def two(objects):
    clocks = Clock(0.0), Clock(1e6)  # days apart
    return [(Leases(objects, clock=clock), clock) for clock in clocks]


def passes(seconds, *clocks):
    for clock in clocks:
        clock.now += seconds


def hand_on(leases):
    leases.remove(leases.released())


def test_one_alone_has_a_lease_and_others_are_told_who(two):
    (one, _), (other, _) = two
    assert one.take(NAME)
    assert not other.take(NAME)
    assert other.holder(NAME).startswith("process ")
    assert other.take("another")


def test_a_lease_that_was_handed_on_is_free(two):
    (one, _), (other, clock) = two
    assert one.take(NAME)
    assert not other.take(NAME)
    one.release(NAME)
    passes(LOOK_SECONDS, clock)
    assert not other.take(NAME)  # what was trained under it may not have been sent
    hand_on(one)
    passes(LOOK_SECONDS, clock)
    assert not other.is_held(NAME)
    assert other.take(NAME)


def test_whoever_beats_keeps_a_lease_for_ever(two):
    (one, its), (other, clock) = two
    assert one.take(NAME)
    for _ in range(int(10 * LEASE_SECONDS / BEAT_SECONDS)):
        assert not other.take(NAME)
        passes(BEAT_SECONDS, its, clock)
        one.beat()


def test_a_process_without_a_beat_loses_its_lease_after_a_minute_of_the_others(two):
    (one, _), (other, clock) = two
    assert one.take(NAME)
    assert not other.take(NAME)
    passes(LEASE_SECONDS - 1, clock)
    assert not other.take(NAME)
    passes(LOOK_SECONDS, clock)
    assert other.take(NAME)


def test_a_clock_that_is_ahead_takes_nothing_over(objects, two):
    (one, _), _ = two
    assert one.take(NAME)
    assert not Leases(objects, clock=Clock(1e9)).take(NAME)


def test_one_alone_takes_over(objects, two):
    (one, _), _ = two
    assert one.take(NAME)
    clock = Clock(0.0)
    heirs = [Leases(objects, clock=clock) for _ in range(8)]
    assert not any(heir.take(NAME) for heir in heirs)
    passes(LEASE_SECONDS, clock)
    took, barrier = [], threading.Barrier(len(heirs))

    def take(heir):
        barrier.wait()
        took.append(heir.take(NAME))

    threads = [threading.Thread(target=take, args=(heir,)) for heir in heirs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(took) == [False] * 7 + [True]


def test_a_lease_that_was_taken_over_is_free_again_when_it_is_handed_on(objects, two):
    (one, _), (other, clock) = two
    assert one.take(NAME)
    assert not other.take(NAME)
    passes(LEASE_SECONDS, clock)
    assert other.take(NAME)
    other.release(NAME)
    hand_on(other)
    assert objects.names("leases") == set()


def test_closing_leaves_nothing(objects, two):
    (one, _), _ = two
    assert one.take(NAME)
    one.close()
    assert objects.names("leases") == objects.names("owners") == set()


def test_a_process_that_ended_has_no_lease_though_one_was_left(objects, two):
    (one, _), (other, _) = two
    assert one.take(NAME)
    objects.remove([f"owners/{one.owner}"])
    assert other.take(NAME)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"../../../etc~1~" + b"0" * 16, b"x" * 9999])
def test_a_lease_that_names_nobody_is_taken_over_too(objects, two, content):
    _, (other, clock) = two
    objects.create(f"leases/{NAME}.1", content)
    assert not other.take(NAME)
    passes(LEASE_SECONDS, clock)
    assert other.take(NAME)


def test_a_lease_whose_answer_was_lost_is_ones_own(objects, two, monkeypatch):
    (one, _), _ = two
    create = objects.create
    monkeypatch.setattr(objects, "create", lambda *lease: create(*lease) and create(*lease))
    assert one.take(NAME)
