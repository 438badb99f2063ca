"""The display is written by a thread and by pytest's reports, one at a time."""

import threading
from types import SimpleNamespace

from repro.plugin.progress import ProgressDisplay
from repro.report.settled import PROPERTY, REPRODUCED, SettledClaim


class Slow:
    """A claim that takes its time to say whether it fails."""

    def __init__(self):
        self.is_asked, self.may_answer = threading.Event(), threading.Event()

    @property
    def fails(self):
        self.is_asked.set()
        self.may_answer.wait(10)
        return False


def test_a_report_waits_until_the_thread_has_counted_what_fails():
    """Else the claims become more while the thread counts, and that ends it."""
    slow, display = Slow(), ProgressDisplay(None, maxfail=1)
    claim = SettledClaim(name="900/b", verdict=REPRODUCED, measured="3 > 2")
    report = SimpleNamespace(nodeid="test_b", user_properties=[(PROPERTY, claim.as_json())])
    reporting = threading.Thread(target=display.pytest_runtest_logreport, args=(report,))
    display._settled["900/a"] = slow
    assert slow.is_asked.wait(10)
    reporting.start()
    reporting.join(0.2)
    assert display._settled.keys() == {"900/a"}
    slow.may_answer.set()
    reporting.join(10)
    assert display._settled.keys() == {"900/a", "900/b"}
    display.pytest_unconfigure()
