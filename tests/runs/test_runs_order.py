"""The order of programs: verdicts early, at a cost that is bounded."""

import random
from itertools import permutations

import pytest

from repro.runs.order import WORTH, Program, in_order, makespan


def names(programs):
    return [program.name for program in programs]


def test_the_programs_of_the_cheapest_claims_come_first():
    cheap, middle, dear = programs = [Program("c", 1), Program("m", 5), Program("d", 30)]
    claims = [[dear.name, cheap.name], [middle.name], [cheap.name]]
    assert names(in_order(programs, claims, slots=1)) == ["c", "m", "d"]


def test_one_dear_program_does_not_come_last_where_others_would_wait_for_it():
    dear, *cheap = programs = [Program("dear", 60.0), *(Program(n, 6.0) for n in range(10))]
    order = in_order(programs, [[each.name] for each in programs], slots=2)
    assert order.index(dear) <= 1
    assert makespan(order, slots=2) == 60.0
    assert makespan([*cheap, dear], slots=2) == 90.0


def test_a_few_cheap_ones_come_first_where_that_is_worth_it():
    dear, *cheap = programs = [Program("dear", 60.0), *(Program(n, 0.6) for n in range(100))]
    order = in_order(programs, [[each.name] for each in programs], slots=2)
    assert order[0] in cheap
    assert 0 < order.index(dear) <= 10


def test_what_others_start_from_is_dear_however_short_it_is():
    base, tuned = Program("base", 5.0), Program("tuned", 60.0, starts_from="base")
    rest = [Program(n, 10.0, jobs=2) for n in range(6)]
    order = in_order([tuned, *rest, base], [["base", "tuned"], *([n] for n in range(6))], slots=2)
    assert makespan(order, slots=2) <= WORTH * 65.0


def test_a_program_starts_when_that_which_it_starts_from_has_ended():
    base, tuned = Program("base", 5.0), Program("tuned", 2.0, starts_from="base")
    assert makespan([tuned, base], slots=2) == 7.0
    assert makespan([Program("tuned", 2.0, starts_from="stored")], slots=2) == 2.0


@pytest.mark.parametrize("seed", range(20))
def test_early_verdicts_cost_no_more_than_they_are_worth(seed):
    """Against the shortest of all orders, found by trying every one."""
    draw = random.Random(seed)
    programs = [Program(n, draw.expovariate(0.1), jobs=draw.choice([1, 1, 2])) for n in range(6)]
    claims = [draw.sample(range(6), draw.choice([1, 2])) for _ in range(5)]
    order = in_order(programs, claims, slots=2)
    assert sorted(names(order)) == list(range(6))
    shortest = min(makespan(each, slots=2) for each in permutations(programs))
    assert makespan(order, slots=2) <= WORTH * 4 / 3 * shortest  # 4/3: the dearest first, at worst
