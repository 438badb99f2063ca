"""A job under way: its own steps tell how long it takes, and what was expected until then."""

import pytest

from repro.core.progress import Progress
from repro.runs.under_way import MEASURED, JobUnderWay, training_of


def told(job, step, *, at, total=1000, runs=3):
    job.add(Progress(runs, step, total), now=at)


@pytest.fixture
def job():
    return JobUnderWay("BP k=4", began=100.0, expected=1000.0)


def test_a_job_that_tells_nothing_takes_what_was_expected(job):
    assert job.done(now=350) == 0.25
    assert job.left(now=350) == pytest.approx(750)
    assert job.done(now=2000) == 1
    assert job.left(now=2000) == 0


def test_a_job_of_which_nothing_is_known_takes_no_time():
    unknown = JobUnderWay("black box", began=0.0, expected=0.0)
    assert (unknown.done(now=60), unknown.left(now=60)) == (1, 0)
    assert (unknown.before, unknown.pace) == (0, 0)


def test_its_steps_count_more_the_longer_they_are_measured(job):
    """A tenth of the pace that was expected: the time that is left grows, and not at one blow."""
    told(job, 0, at=100)
    assert job.left(now=100) == pytest.approx(1000)
    left = []
    for seconds in (MEASURED, 10 * MEASURED, 100 * MEASURED):
        told(job, 0.1 * seconds, at=100 + seconds)
        left.append(job.left(now=100 + seconds) / (1 - job.done(now=100 + seconds)))
    assert left == [pytest.approx(1000 * f, rel=1e-3) for f in (2 / 1.1, 11 / 2, 101 / 11)]


def test_it_goes_on_while_it_says_nothing(job):
    told(job, 0, at=100)
    told(job, 500, at=5100)  # a step in ten seconds, where one a second was expected
    assert job.done(now=5100) == 0.5
    later = job.done(now=5600)
    assert later == pytest.approx(0.55, rel=0.01)
    assert job.left(now=5600) == pytest.approx(job.left(now=5100) - 500)
    assert job.done(now=1e6) == 1


def test_what_it_had_done_when_it_began_is_no_pace(job):
    told(job, 600, at=102)
    assert job.before == pytest.approx(0.6 - 0.002)
    assert job.pace == 1 / 1000
    assert job.left(now=102) == pytest.approx(400)
    told(job, 650, at=202)
    assert job.left(now=202) == pytest.approx(350 / (50 + MEASURED) * (100 + MEASURED))


def test_a_first_word_that_comes_late_is_of_this_session(job):
    told(job, 200, at=300)
    assert job.before == 0


def test_steps_that_it_is_not_likely_to_take_are_not_waited_for():
    stops = JobUnderWay("patient", began=0.0, expected=100.0, share=0.25)
    told(stops, 0, at=0)
    told(stops, 125, at=50)
    assert stops.done(now=50) == 0.5
    assert stops.left(now=50) == pytest.approx(50)
    told(stops, 600, at=240)  # it went on; nobody knows how long
    assert stops.left(now=240) == 0


def test_jobs_that_have_begun_are_shown_together(job):
    other = JobUnderWay("FA k=4", began=0.0, expected=1.0)
    assert training_of([job, other], now=0) is None
    told(job, 0, at=100)
    told(job, 100, at=150)
    alone = training_of([job, other], now=150)
    assert (alone.name, alone.runs, alone.step, alone.total) == ("BP k=4", 3, 100, 1000)
    assert alone.steps_per_second == 2  # of the 1000 that are shown, however many runs take them
    told(other, 10, at=150, runs=1)
    both = training_of([job, other], now=150)
    assert (both.name, both.runs, both.step) == ("2 batches", 4, 110)
