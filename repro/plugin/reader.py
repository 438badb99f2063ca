"""Reads claims ahead of their tests: a claim stops at runs that it misses, or comes to its end.

An end is kept until the claim's test is run, which then ends in the same way: with the same results
the same is judged again. A test that did anything else that pytest shows, such as printing, is
called again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from repro.plugin.call import call_loudly, is_called_alike, listening
from repro.plugin.gate import Compared, Gate
from repro.plugin.gathered import LEFT_OUT, SAID_IN_FULL
from repro.plugin.trials import Trials
from repro.runs.plan import RunsMissing
from repro.store import StoreError


@dataclass(frozen=True)
class End:
    """The end that a claim's test came to when it was called ahead, and what it had gathered."""

    trials: Trials
    raised: AssertionError | None
    compared: Compared

    def again(self) -> None:
        """End as the test did: raise what it raised."""
        if self.raised is not None:
            raise self.raised


class Reader:
    """Reads the claims of one process.

    >>> reader = Reader(session.trials_of)
    >>> reader.read(item, gate)
    >>> reader.ends[item].trials.findings
    """

    def __init__(self, trials_of: Callable[[pytest.Item], Trials]) -> None:
        self._trials_of = trials_of
        self.ends: dict[pytest.Item, End] = {}
        """The ends of claims whose tests need not be called again."""
        self.unreadable: dict[pytest.Item, str] = {}
        """The claims whose tests end in an error of their own, and in which."""

    def read(self, item: pytest.Item, gate: Gate) -> None:
        """Call the test of a claim; raises `RunsMissing` where it, or the gate, misses runs."""
        takes_trials = "trials" in getattr(item, "fixturenames", ())
        trials = self._trials_of(item)
        raised: BaseException | None = None
        with listening() as heard:
            try:
                call_loudly(item, **({"trials": trials} if takes_trials else {}))
            except (RunsMissing, StoreError, KeyboardInterrupt):
                raise
            except BaseException as error:  # also sys.exit: the test will say it again
                raised = error
        if raised is not None and not isinstance(raised, AssertionError):
            is_of_its_own = not isinstance(raised, (*SAID_IN_FULL, *LEFT_OUT))
            if is_of_its_own and is_called_alike(item):
                self.unreadable[item] = f"{type(raised).__name__}: {raised}"
            return
        if not takes_trials:
            return
        compared = gate.compare(item, trials, holds=raised is None)
        if trials.findings and not heard and is_called_alike(item):
            self.ends[item] = End(trials, raised, compared)
