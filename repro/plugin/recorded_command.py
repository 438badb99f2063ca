"""The command `recorded wanted`: which runs to train next for claims on recorded results."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from repro.plugin.evidence_command import add_claims, claims_of, options_of
from repro.text import shown

if TYPE_CHECKING:
    from repro.plugin.session import ClaimSession
    from repro.recorded.judging import Wanted


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
    from repro.plugin.reading import with_claims

    wanted = with_claims(claims_of(chosen), options_of(chosen), _read)
    for line in wanted.said:
        print(shown(line), file=sys.stderr)
    if not wanted.said:
        print("Nothing is wanted: no claim on recorded runs is open.", file=sys.stderr)
    print(wanted.table(), end="")
    return 0


def _read(session: ClaimSession) -> Wanted:
    """Judge the claims on recorded runs, and return the runs that open claims want."""
    import pytest

    from repro.arm import Needs
    from repro.judge import Outcome
    from repro.plugin.claims import call, claim_id, quiet
    from repro.recorded import RecordedError
    from repro.recorded.judging import RunsWanted, Wanted
    from repro.runs.results import RunsMissing

    wanted = Wanted()
    for item in session.trained:
        trials, name = session.trials_of(item), claim_id(item)
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
    return wanted
