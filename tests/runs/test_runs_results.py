"""Results: a view of the store that trains nothing, for one machine or for all."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from repro.arm import Run
from repro.core.device import machine
from repro.core.speed import Speed
from repro.own.arm import OutsideArm
from tests.local_work import LocalWork


@dataclass(frozen=True, kw_only=True)
class Any(OutsideArm):
    study: ClassVar[str] = "none"
    data: str = "none"


RUN = Run(Any(), 1)
HERE, ELSEWHERE = {"machine": machine("cpu")}, {"machine": "x86_64 another"}


def settled(folder, **options):
    work = LocalWork(folder, **options)
    work.engines.settle(RUN.arm, Speed("loop", 1, 0.5))
    return work


def test_a_run_whose_engine_is_not_settled_has_no_result(tmp_path):
    assert LocalWork(tmp_path).results.get(RUN) is None
    with pytest.raises(AssertionError, match="is not settled"):
        LocalWork(tmp_path).results.key(RUN)


def test_weights_are_not_kept_in_memory(tmp_path):
    here = settled(tmp_path)
    here.store.put(here.results.identity(RUN), {"steps": 1}, HERE, weights=b"many")
    assert here.results.get(RUN).values == {"steps": 1}
    assert here.results.get(RUN).weights is None


def test_who_insists_on_one_machine_alone_takes_no_result_from_another(tmp_path):
    strict = settled(tmp_path, same_machine=True)
    strict.store.put(strict.results.identity(RUN), {"steps": 1}, ELSEWHERE)
    assert strict.results.get(RUN) is None
    strict.store.put(strict.results.identity(RUN), {"steps": 2}, HERE)
    assert strict.results.get(RUN).values == {"steps": 2}
    assert settled(tmp_path).results.get(RUN).values == {"steps": 1}


def test_who_insists_on_one_machine_uses_what_that_one_has_trained(tmp_path):
    here = settled(tmp_path)
    here.store.put(here.results.identity(RUN), {"steps": 1}, HERE)
    strict = settled(tmp_path, same_machine=True)
    assert strict.results.get(RUN).values == {"steps": 1}
    assert strict.results.key(RUN) == here.results.key(RUN)
