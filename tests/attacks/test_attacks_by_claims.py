"""Claims by clumsy authors: each costs itself alone, in one process and under xdist."""

import pytest

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

"""
MARKED = '@claim("it holds", source="901, Text")\n'
BODY = "def test_clumsy(trials):\n    assert trials(Line()).slope > 0\n"


def arm(member):
    return (
        "@dataclass(frozen=True, kw_only=True)\nclass Odd(Line):\n"
        f"    {member}\n\n{MARKED}"
        "def test_clumsy(trials):\n    assert trials(Odd()).slope > 0\n"
    )


CLUMSY = {
    "documented is no text": '@claim("it", source="901", documented=float("nan"))\n' + BODY,
    "no sentence": '@claim("", source="901")\n' + BODY,
    "a sentence that is no text": '@claim(3, source="901")\n' + BODY,
    "an unknown profile": '@claim("it", source="901", only_at="papr")\n' + BODY,
    "a bare mark": "@pytest.mark.claim\n" + BODY,
    "a mark with too much": '@pytest.mark.claim("it", source="901", more=1)\n' + BODY,
    "a lone surrogate": '@claim("half \\ud83d", source="901")\n' + BODY,
    "sys.exit": MARKED + "def test_clumsy(trials):\n    sys.exit(3)\n",
    "an error before any arm": MARKED + "def test_clumsy(trials):\n    1 / 0\n",
    "a misspelt metric": MARKED + "def test_clumsy(trials):\n    assert trials(Line()).slop > 0\n",
    "matches nan": MARKED + "def test_clumsy(trials):\n"
    "    assert trials(Line()).slope.matches(float('nan'), tolerance=1)\n",
    "a study that is not there": arm('study: ClassVar[str] = "no_such_study"'),
    "a study without STUDY": arm('study: ClassVar[str] = "line_without"'),
    "content that fails": arm('def content(self): raise OSError("no data today")'),
    "content that ends the process": arm("def content(self): sys.exit(0)"),
    "settings that fail": arm('def settings(self): raise KeyError("settings")'),
    "settings that are no data": arm('def settings(self): return {"x": object()}'),
    "steps that fail": arm("steps = property(lambda self: 1 / 0)"),
    "effort that fails": arm("effort = property(lambda self: 1 / 0)"),
    "a label that fails": arm("label = property(lambda self: 1 / 0)"),
    "at that fails": arm("def at(self, profile): raise KeyError(profile)"),
    "located that fails": arm('def located(self): raise RuntimeError("lost")'),
    "a start that fails": arm("starts_from = property(lambda self: 1 / 0)"),
    "settings that cannot be hashed": arm("more: list = None\n    def __post_init__(self):"
                                          " object.__setattr__(self, 'more', [])"),
    "training that fails": arm("recipe = None"),
}  # fmt: skip


in_one_process_and_under_xdist = pytest.mark.parametrize(
    "workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.thorough)]
)


@pytest.fixture
def clumsy(project):
    (project.path / "test_lines.py").unlink()
    (project.path / "line_without.py").write_text("")
    project.syspathinsert()

    def write(text):
        for folder, content in (("sound", SOUND), ("clumsy", HEAD + text)):
            (project.path / folder).mkdir()
            (project.path / folder / f"test_{folder}.py").write_text(content)
        return project

    return write


def judged(project, *options, apart):
    start = project.runpytest_subprocess if apart else project.runpytest_inprocess
    return start("-p", "no:cacheprovider", "--seed-budget", "2", *options)


@pytest.mark.parametrize("text", CLUMSY.values(), ids=CLUMSY)
def test_what_one_claim_does_wrong_costs_that_claim_alone(clumsy, text):
    result = judged(clumsy(text), apart=False)
    outcomes = result.parseoutcomes()
    assert outcomes.get("failed", 0) + outcomes.get("errors", 0) == 2  # the sound one is open
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    shown = result.stdout.str()
    assert "900/sound" in shown
    assert "test_clumsy" in shown
    assert "INTERNALERROR" not in shown + result.stderr.str()


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [["-n", "2"], ["-n", "2", "--dist", "loadfile"]])
def test_all_of_them_at_once_cost_no_other_claim(clumsy, workers):
    project = clumsy(MARKED + BODY)
    for number, text in enumerate(CLUMSY.values()):
        own = text.replace("test_clumsy", f"test_clumsy_{number}")
        (project.path / "clumsy" / f"test_clumsy_{number}.py").write_text(HEAD + own)
    result = judged(project, *workers, apart=True)
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] + outcomes["errors"] == len(CLUMSY) + 2  # two sound ones are open
    shown = result.stdout.str()
    assert "900/sound" in shown
    assert "901/clumsy " in shown
    assert all(f"test_clumsy_{number}" in shown for number in range(len(CLUMSY)))
    assert "INTERNALERROR" not in shown + result.stderr.str()


LEDGERS = {
    "a merge marker": "<<<<<<< HEAD\n",
    "a misspelt table": "[[claims]]\n",
    "an unknown verdict": "Reproduced",
    "an unknown key": 'colour = "red"\n',
    "two entries of one claim": "twice",
    "no text": b"\xff\xfe",
    "a format from the future": "format = 9\n",
    "a number for a text": "sentence = 3\n",
}
ENTRY = """
[[claim]]
claim = "900/sound"
profile = "ci"
data = "points"
verdict = "{verdict}"
sentence = "it"
documented = ""
measured = ""
"""


def ledger_of(kind):
    sound, what = ENTRY.format(verdict="refuted"), LEDGERS[kind]
    if isinstance(what, bytes):
        return what
    texts = {
        "an unknown verdict": ENTRY.format(verdict=what),
        "an unknown key": sound + what,
        "two entries of one claim": sound + sound,
        "a number for a text": sound.replace('sentence = "it"\n', what),
    }
    return texts.get(kind, what + sound).encode()


@in_one_process_and_under_xdist
@pytest.mark.parametrize("kind", LEDGERS)
def test_a_bad_ledger_is_one_sentence_before_anything_trains(clumsy, kind, workers):
    project = clumsy(MARKED + BODY)
    (project.path / "sound" / "ledger.toml").write_bytes(ledger_of(kind))
    result = judged(project, *workers, apart=bool(workers))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    shown = result.stdout.str() + result.stderr.str()
    assert "ledger.toml cannot be read" in shown
    assert "restore it from version control" in shown
    assert len(shown.splitlines()) < 12
    assert not list(project.path.glob("store/runs/*/*"))


def test_a_folder_in_the_place_of_a_ledger_is_said(clumsy):
    project = clumsy(MARKED + BODY)
    (project.path / "sound" / "ledger.toml").mkdir()
    result = judged(project, apart=False)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ledger.toml cannot be read*"])


def test_a_ledger_that_goes_bad_while_claims_train_costs_its_claims_alone(clumsy):
    project = clumsy(MARKED + BODY)
    (project.path / "conftest.py").write_text(
        "import pytest\nfrom pathlib import Path\n\n"
        "def pytest_sessionstart(session):\n"
        "    Path(__file__).parent.joinpath('sound', 'ledger.toml').write_text('<<<<')\n"
    )
    result = judged(project, apart=False)
    assert result.parseoutcomes()["errors"] == 1
    result.stdout.fnmatch_lines(["*ledger.toml cannot be read*"])
    assert "901/clumsy" in result.stdout.str()


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [["-n", "2"], ["-n", "1"], []])
def test_a_claim_that_nobody_reports_fails_the_session(clumsy, workers):
    project = clumsy(MARKED + BODY)
    (project.path / "conftest.py").write_text(
        "import pytest\n\n@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_runtest_protocol(item):\n"
        "    return True if 'sound' in item.nodeid else None\n"
    )
    result = judged(project, *workers, apart=True)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*claims were collected and never judged: *test_sound*"])


@pytest.mark.parametrize("mark", ["skip", "skipif(True, reason='no')", "xfail(run=False)"])
def test_a_claim_that_is_skipped_by_a_mark_trains_nothing(clumsy, mark):
    project = clumsy(f"@pytest.mark.{mark}\n{MARKED}{BODY}")
    result = judged(project, "-k", "clumsy", apart=False)
    assert result.ret == pytest.ExitCode.OK
    assert not list(project.path.glob("store/runs/*/*"))


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only", "--collect-only", "--plan"])
def test_what_only_looks_trains_nothing(clumsy, option):
    project = clumsy(MARKED + BODY)
    assert judged(project, option, apart=False).ret == pytest.ExitCode.OK
    assert not list(project.path.glob("store/runs/*/*"))


OPTIONS = {
    "There is no profile 'huge'": ["--profile", "huge"],
    "too few to compare": ["--seed-budget", "1"],
    "There is no engine 'warp'": ["--engine", "warp"],
    "There is no device 'abacus'": ["--device", "abacus"],
    "There is no executor 'moon'": ["--executor", "moon"],
    "is not a folder": ["--store", "line.py"],
    "--report line.py": ["--report", "line.py"],
    "give one of them": ["--gate", "--require-verdict"],
}


@in_one_process_and_under_xdist
@pytest.mark.parametrize("sentence", OPTIONS)
def test_a_bad_option_is_one_sentence(clumsy, sentence, workers):
    project = clumsy(MARKED + BODY)
    result = judged(project, *OPTIONS[sentence], *workers, apart=bool(workers))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    shown = result.stdout.str() + result.stderr.str()
    assert sentence in shown
    assert len(shown.splitlines()) < 12


def test_settings_that_python_calls_equal_are_two_arms(clumsy):
    project = clumsy(
        "@dataclass(frozen=True, kw_only=True)\nclass Odd(Line):\n    bend: object = 0\n\n"
        f"{MARKED}"
        "def test_clumsy(trials):\n"
        "    arms = Odd(bend=1), Odd(bend=True), Odd(bend=1.0), Odd(bend=0.0), Odd(bend=-0.0)\n"
        "    assert len(set(arms)) == 5\n"
        "    one, true, *_ = trials(*arms)\n"
        "    assert one.slope > 0\n"
    )
    judged(project, "-k", "clumsy", apart=False)
    assert len(list(project.path.glob("store/runs/*/*"))) == 10


def test_an_arm_is_not_compared_with_itself_in_two_calls(clumsy):
    project = clumsy(
        MARKED + "def test_clumsy(trials):\n"
        "    assert trials(Line()).slope > trials(Line()).slope\n"
    )
    result = judged(project, "-k", "clumsy", apart=False)
    result.stdout.fnmatch_lines(["*compares * with itself*"])


STOPS = """
import pytest
from repro.backends.local import LocalBackend
from repro.runs.backend import TrainingStopped
from repro.runs.events import Trained

whole = LocalBackend.events

def events(self):
    for event in whole(self):
        yield event
        if isinstance(event, Trained):
            raise TrainingStopped("The cluster at 10.0.0.1:6379 is lost.")

LocalBackend.events = events
"""


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_training_that_cannot_go_on_is_one_sentence(clumsy, workers):
    project = clumsy(MARKED + BODY)
    (project.path / "conftest.py").write_text(STOPS)
    result = judged(project, *workers, apart=True)
    assert result.ret in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.TESTS_FAILED)
    shown = result.stdout.str() + result.stderr.str()
    assert "The cluster at 10.0.0.1:6379 is lost." in shown
    assert "Traceback" not in shown
    assert "INTERNALERROR" not in shown


@pytest.mark.thorough
def test_a_store_that_cannot_be_read_while_claims_are_planned_is_one_sentence(clumsy):
    project = clumsy(MARKED + BODY)
    (project.path / "conftest.py").write_text(
        "from repro.runs.results import Results\nfrom repro.store import StoreError\n\n"
        "def of(self, arm, seeds):\n    raise StoreError('The store is gone.')\n\nResults.of = of\n"
    )
    result = judged(project, apart=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    shown = result.stdout.str() + result.stderr.str()
    assert "The store is gone." in shown
    assert "Traceback" not in shown


STEERING = "\x1b[2J\x1b]0;owned\x07 \u202e gnp \x9b31m"


@pytest.mark.thorough
def test_what_steers_a_terminal_reaches_none(clumsy):
    text = (
        f"LABEL = {STEERING!r}\n\n"
        + arm("label = property(lambda self: LABEL)")
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
