"""The command `recorded wanted`: which runs to train next for claims on recorded results."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from repro.arm import Needs
from repro.judge import Outcome
from repro.plugin.reading import add_claims, collected
from repro.recorded import RecordedError
from repro.recorded.judging import RunsWanted
from repro.recorded.wanted import Wanted
from repro.runs.results import RunsMissing
from repro.text import shown


def add_to(commands: Any) -> None:
    """Add `recorded` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("recorded", help="say which recorded runs are wanted next")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    wanting = actions.add_parser("wanted", help="list the runs that would settle what is open")
    add_claims(wanting)
    wanting.set_defaults(run=_wanted)


def _wanted(chosen: argparse.Namespace) -> int:
    """Judge the claims on recorded runs, and print the runs that open claims want."""
    import pytest

    from repro.plugin.claims import call, quiet

    session, wanted = collected(chosen), Wanted()
    for name, item in zip(session.names, session.trained, strict=True):
        trials = session.trials_of(item)
        try:
            with quiet():
                call(item, trials=trials)
        except RunsWanted as lacking:
            wanted.add(name, lacking.runs.items(), str(lacking))
            continue
        except RecordedError as error:
            wanted.add(name, (), str(error))
            continue
        except (AssertionError, Needs, RunsMissing, pytest.skip.Exception):
            pass
        except Exception as error:  # pytest shows more when it runs the test
            wanted.add(name, (), f"cannot be read: {type(error).__name__}: {error}")
            continue
        open_ = [each for each in trials.findings if each.outcome is Outcome.INCONCLUSIVE]
        if trials.recorded:
            wanted.add_open(name, open_, trials.recorded)
    for line in wanted.said:
        print(shown(line), file=sys.stderr)
    if not wanted.said:
        print("Nothing is wanted: no claim on recorded runs is open.", file=sys.stderr)
    print(wanted.table(), end="")
    return 0
