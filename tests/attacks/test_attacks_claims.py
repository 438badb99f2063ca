"""Claims by clumsy authors: each costs itself alone, in one process and under xdist."""

import pytest

from tests.plugin.sessions import run_apart

pytestmark = pytest.mark.thorough

SOUND = """
from repro import claim
from line import Line

@claim("steeper targets give steeper lines", source="900, Text")
def test_sound(trials):
    steep, flat = trials(Line(target=4.0), Line(target=1.0))
    assert steep.slope > flat.slope
"""

HEAD = """
import os, sys
from dataclasses import dataclass
from typing import ClassVar
import pytest
from repro import claim
from line import Line
from silent import Silent, SilentNeed

"""


def a_claim(body="assert trials(Line()).slope > 0", mark='@claim("it holds", source="901, Text")'):
    """The text of a claim."""
    return f"{mark}\ndef test_clumsy(trials):\n    {body}\n"


def of_an_arm(member):
    """The text of a claim about an arm that has one more member."""
    odd = f"@dataclass(frozen=True, kw_only=True)\nclass Odd(Line):\n    {member}\n\n"
    return odd + a_claim("assert trials(Odd()).slope > 0")


MARKS = {
    "a bare mark": "@pytest.mark.claim",
    "a lone surrogate": '@claim("half \\ud83d", source="901")',
}
BODIES = {
    "sys.exit": "sys.exit(3)",
    "an error before any arm": "1 / 0",
    "a setting that is no number": "trials(Line(target=float('nan')))",
    "an error without words": "raise Silent()",
    "a need without words": "raise SilentNeed()",
}
MEMBERS = {
    "a study that is not there": 'study: ClassVar[str] = "no_such_study"',
    "a study without STUDY": 'study: ClassVar[str] = "line_without"',
    "content that fails": 'def content(self): raise OSError("no data today")',
    "content that ends the process": "def content(self): sys.exit(0)",
    "settings that fail": 'def settings(self): raise KeyError("settings")',
    "settings that are no data": 'def settings(self): return {"x": object()}',
    "settings that cannot be hashed": (
        "more: list = None\n    def __post_init__(self): object.__setattr__(self, 'more', [])"
    ),
    "steps that fail": "steps = property(lambda self: 1 / 0)",
    "effort that fails": "effort = property(lambda self: 1 / 0)",
    "a label that fails": "label = property(lambda self: 1 / 0)",
    "at that fails": "def at(self, profile): raise KeyError(profile)",
    "located that fails": 'def located(self): raise RuntimeError("lost")',
    "a start that fails": "starts_from = property(lambda self: 1 / 0)",
    "training that fails": "recipe = None",
    "training that fails without words": 'study: ClassVar[str] = "silent"',
    "training that ends the process": 'study: ClassVar[str] = "ending"',
}
CLUMSY = [
    *(a_claim(mark=mark) for mark in MARKS.values()),
    *(a_claim(body) for body in BODIES.values()),
    *map(of_an_arm, MEMBERS.values()),
]
NEEDY = len(MARKS) + list(BODIES).index("a need without words")

SILENT = """
import line
from repro.arm import Needs

class Silent(RuntimeError):
    def __str__(self):
        raise SystemExit(0)

class SilentNeed(Needs):
    __str__ = Silent.__str__

class Study(line.Study):
    def load(self, arm, device):
        raise Silent()

STUDY = Study()
"""

ENDING = """
import sys
import line

class Study(line.Study):
    def load(self, arm, device):
        sys.exit(0)

STUDY = Study()
"""


@pytest.fixture
def clumsy(project):
    (project.path / "test_lines.py").unlink()
    for name, text in (("line_without", ""), ("silent", SILENT), ("ending", ENDING)):
        (project.path / f"{name}.py").write_text(text)
    project.syspathinsert()

    def write(*texts):
        files = {"sound/test_sound.py": SOUND}
        for n, text in enumerate(texts):
            own = text.replace("test_clumsy", f"test_clumsy_{n}")
            files[f"clumsy/test_clumsy_{n}.py"] = HEAD + own
        for name, content in files.items():
            (project.path / name).parent.mkdir(exist_ok=True)
            (project.path / name).write_text(content)
        return project

    return write


def judged(project, *options, apart):
    start = project.runpytest_subprocess if apart else project.runpytest_inprocess
    return start("-p", "no:cacheprovider", "--seed-budget", "2", *options)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_all_of_them_at_once_cost_no_other_claim(clumsy, workers):
    result = judged(clumsy(a_claim(), *CLUMSY), *workers, apart=bool(workers))
    outcomes = result.parseoutcomes()
    assert outcomes["skipped"] == 1  # the need without words
    assert outcomes["failed"] + outcomes["errors"] == len(CLUMSY) + 1  # two sound ones are open
    shown = result.stdout.str()
    assert "claimed (900, Text): steeper targets give steeper lines\n" in shown
    assert "claimed (901, Text): it holds\n" in shown
    assert all(f"test_clumsy_{n + 1}" in shown for n in range(len(CLUMSY)) if n != NEEDY)
    assert "INTERNALERROR" not in shown + result.stderr.str()


@pytest.mark.parametrize("workers", [["-n", "2"], []])
def test_a_claim_that_nobody_reports_fails_the_session(clumsy, workers):
    project = clumsy(a_claim())
    (project.path / "conftest.py").write_text(
        "import pytest\n\n@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_runtest_protocol(item):\n"
        "    return True if 'sound' in item.nodeid else None\n"
    )
    result = judged(project, *workers, apart=True)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*claims were collected and never judged: *test_sound*"])


LEAVES = """
import pytest
from repro import claim

@claim("it holds", source="901, Text")
def test_before(document):
    assert document(["1", "2"]).climbs()

@claim("it leaves", source="901, Text")
def test_leaves(document):
    pytest.exit("enough", returncode=0)

@claim("it holds too", source="901, Text")
def test_behind(document):
    assert document(["1", "2"]).climbs()
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
@pytest.mark.parametrize("only", [(), ("-k", "leaves")])
def test_a_claim_that_ends_pytest_ends_no_session_as_if_all_were_well(clumsy, workers, only):
    project = clumsy(LEAVES)
    result = judged(project, "clumsy", *workers, *only, apart=True)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    outcomes = result.parseoutcomes()
    assert (outcomes.get("passed", 0), outcomes["failed"]) == (0 if only else 2, 1)
    result.stdout.fnmatch_lines(["*The claim called pytest.exit (enough): *"])
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


FORKED = """
import os
import random
import pytest
from _pytest.runner import runtestprotocol

def pytest_addoption(parser):
    parser.addoption("--forked", action="store_true")

class Forked:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if item.config.getoption("forked"):
            if (child := os.fork()) == 0:
                runtestprotocol(item, log=False, nextitem=nextitem)
                os._exit(0)
            os.waitpid(child, 0)
            return True

def pytest_configure(config):
    config.pluginmanager.register(Forked(), "pytest_forked")

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    random.Random(3).shuffle(items)
"""

UNIT = "import pytest\n\n@pytest.mark.parametrize('n', range(6))\ndef test_unit(n): pass\n"


@pytest.mark.parametrize("options", [("-n", "2"), ("--forked",)])
def test_what_shuffles_tests_or_forks_them_costs_no_claim(clumsy, options):
    """As pytest-randomly and pytest-forked do: claims among the other tests, or in processes."""
    project = clumsy(LEAVES.replace('pytest.exit("enough", returncode=0)', "pass"))
    (project.path / "conftest.py").write_text(FORKED)
    (project.path / "test_unit.py").write_text(UNIT)
    result = judged(project, *options, apart=True)
    outcomes = result.parseoutcomes()
    units = 0 if "--forked" in options else 6  # whose reports this fork does not hand back
    assert outcomes["passed"] == 2 + units
    assert outcomes["failed"] == 2  # one judges nothing, and one is open
    assert "INCONCLUSIVE: line 4.0 exceeds line 1.0" in result.stdout.str()


def test_a_claim_that_is_skipped_by_a_mark_trains_nothing(clumsy):
    marks = ("skip", "skipif(True, reason='no')", "xfail(run=False)")
    project = clumsy(*(f"@pytest.mark.{mark}\n{a_claim()}" for mark in marks))
    result = judged(project, "-k", "clumsy", apart=False)
    result.assert_outcomes(skipped=2, xfailed=1, deselected=1)
    assert result.ret == pytest.ExitCode.OK
    assert not list(project.path.glob("store/runs/*/*"))


OPTIONS = {
    "There is no profile 'huge'": ["--profile", "huge"],
    "too few to compare": ["--seed-budget", "1"],
    "is more than 10000": ["--seed-budget", "9" * 20],
    "--reference-seeds 10001 is": ["--update-ledger", "--reference-seeds", "10001"],
    "--store has no name": ["--store", ""],
    "--report has no name": ["--report="],
    "There is no engine 'warp'": ["--engine", "warp", "-n", "2"],
    "There is no device 'abacus'": ["--device", "abacus"],
    "There is no executor 'moon'": ["--executor", "moon"],
    "is not a folder": ["--store", "line.py"],
    "--report line.py": ["--report", "line.py"],
}


def test_a_bad_option_is_one_sentence(clumsy):
    project = clumsy(a_claim())
    wrong = {}
    for sentence, options in OPTIONS.items():
        result = judged(project, *options, apart="-n" in options)
        shown = result.stdout.str() + result.stderr.str()
        is_one = sentence in shown and len(shown.splitlines()) < 12
        if result.ret != pytest.ExitCode.USAGE_ERROR or not is_one:
            wrong[sentence] = shown
    assert wrong == {}


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_the_store_and_the_report_are_where_they_were_meant(outside_project, monkeypatch, workers):
    project, flat = outside_project, ("-k", "flatter")
    monkeypatch.setenv("HOME", str(project.path / "home"))
    monkeypatch.delenv("REPRO_STORE")
    (project.path / ".git").mkdir()
    elsewhere = project.path.parent / f"{project.path.name}-elsewhere"
    elsewhere.mkdir()
    judged(project, "--store=~/runs", "--report=~/said", *flat, *workers, apart=True)
    assert (project.path / "home/runs/runs").is_dir()
    assert (project.path / "home/said/index.html").is_file()
    judged(project, ".", "--rootdir", elsewhere, *flat, *workers, apart=True)
    assert (project.path / ".repro/runs").is_dir()
    assert not list(elsewhere.iterdir())
    assert not (project.path / "~").exists()


STOPS = """
from repro.backends.local import ProcessPool
from repro.runs.pool import Stored, TrainingStopped

whole = ProcessPool.events

def events(self, seconds):
    for event in whole(self, seconds):
        yield event
        if isinstance(event, Stored):
            raise TrainingStopped("The cluster at 10.0.0.1:6379 is lost.")

ProcessPool.events = events
"""

UNREADABLE = """
from repro.runs.results import Results
from repro.store import StoreError

def get(self, run):
    raise StoreError("The store is gone.")

Results.get = get
"""


NO_STORE = """
from repro.plugin import session
from repro.store import StoreError

def no_store(*given, **options):
    raise StoreError("The store /store cannot be used: runs is no folder.")

session.Store = no_store
"""


@pytest.mark.parametrize(
    ("broken", "said", "workers"),
    [
        (STOPS, "The cluster at 10.0.0.1:6379 is lost.", []),
        (STOPS, "The cluster at 10.0.0.1:6379 is lost.", ["-n", "2"]),
        (UNREADABLE, "The store is gone.", []),
        (UNREADABLE, "The store is gone.", ["-n", "2"]),
        (NO_STORE, "/store cannot be used: runs is no folder.", ["-n", "2"]),
    ],
)
def test_what_cannot_go_on_is_one_sentence(clumsy, broken, said, workers):
    project = clumsy(a_claim())
    (project.path / "conftest.py").write_text(broken)
    if workers:
        (project.path / "test_unit.py").write_text(UNIT)  # claims alone have none
    result = judged(project, *workers, apart=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    shown = result.stdout.str() + result.stderr.str()
    assert said in shown
    assert "Traceback" not in shown
    assert "INTERNALERROR" not in shown


STEERING = "\x1b[2J\x1b]0;owned\x07 \u202e gnp \x9b31m"


def test_what_steers_a_terminal_reaches_none(clumsy):
    text = (
        f"LABEL = {STEERING!r}\n\n"
        + of_an_arm("label = property(lambda self: LABEL)")
        + f"\n@claim({STEERING!r}, source={STEERING!r}, documented={STEERING!r})\n"
        "def test_marked(trials):\n    assert trials(Odd()).slope > 0\n"
        f"\n@claim('it', source='901', only_at={STEERING!r})\n"
        "def test_refused(trials):\n    assert trials(Odd()).slope > 0\n"
    )
    project = clumsy(text)
    result = judged(project, "--report", "written", apart=True)
    names = ("index.html", "summary.md", "claims.csv")
    written = [(project.path / "written" / name).read_text() for name in names]
    for text in (result.stdout.str(), result.stderr.str(), *written):
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)
    assert "owned" in result.stdout.str()


STUDIES = """
import random
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from repro.arm import Metric
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy

VALUE = 1


@dataclass(frozen=True, kw_only=True)
class Arm(OutsideArm):
    study: ClassVar[str] = __name__
    metrics: ClassVar[dict] = {"value": Metric("identity")}
    data: str = "none"


def train(arm, seed):
    quick = Path("quick.py")
    quick.write_text(quick.read_text().replace("VALUE = 1", "VALUE = 102"))
    return {"value": VALUE + random.gauss(0, 0.1)}


STUDY = OutsideStudy(train)
"""
BOTH = """
import quick
import slow
from repro import claim

@claim("the slow study is near one", source="900, Text")
def test_slow(trials):
    assert trials(slow.Arm()).value < 50

@claim("the quick study is near one", source="900, Text")
def test_quick(trials):
    assert trials(quick.Arm()).value < 50
"""


def test_a_study_that_is_edited_while_another_one_trains_is_trained_again(project):
    quick = STUDIES.replace('quick.write_text(quick.read_text().replace("VALUE = 1", ', "str((")
    for path in project.path.glob("*.py"):
        path.unlink()
    project.makepyfile(slow=STUDIES, quick=quick, test_both=BOTH)
    run_apart(project, "-n", "1")
    assert "\nVALUE = 102" in (project.path / "quick.py").read_text()
    project.makepyfile(quick=quick)
    again = run_apart(project, "-n", "1")
    again.assert_outcomes(passed=2)
