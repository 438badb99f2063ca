"""The runs that a session asks for, counted once wherever they were asked for."""

import json
from dataclasses import dataclass

from repro.arm import Run
from repro.own.arm import OutsideArm
from repro.runs.asked import Asked


@dataclass(frozen=True, kw_only=True)
class Wide(OutsideArm):
    study = "none"
    data: str = "none"
    width: float = 1


def asked_for(*runs):
    asked = Asked()
    asked.update(runs)
    return asked


def test_what_two_processes_ask_for_is_counted_once():
    here = asked_for(Run(Wide(), 1), Run(Wide(), 2), Run(Wide(), 2))
    there = asked_for(Run(Wide(), 2), Run(Wide(width=3), 1))
    here.tell(json.loads(json.dumps(there.told())))  # as it goes by a file
    assert len(here) == 3
    assert Run(Wide(width=3), 1) in here
    assert Run(Wide(width=3), 2) not in here
    assert list(here) == [Run(Wide(), 1), Run(Wide(), 2)]


def test_settings_of_other_types_are_other_arms():
    assert len(asked_for(Run(Wide(width=1), 1), Run(Wide(width=1.0), 1))) == 2
    assert Run(Wide(width=1.0), 1) not in asked_for(Run(Wide(width=1), 1))


def test_only_what_is_new_is_news():
    asked = asked_for(Run(Wide(), 1))
    assert list(asked.news().values()) == [[1]]
    asked.update([Run(Wide(), 1), Run(Wide(), 2)])
    asked.ask(Wide(), [2, 3])
    assert list(asked.news().values()) == [[2, 3]]
    assert asked.news() == {}
    assert list(asked.told().values()) == [[1, 2, 3]]
