"""Ways in which a finding could be lost in a green build: none of them is green."""

import shutil
from pathlib import Path

import pytest

from tests.evidence.packs import FILE, packed
from tests.plugin.sessions import change, run, run_apart

pytestmark = pytest.mark.thorough

CLAIM = """
import pytest
from repro import claim
from line import Line

{above}
@claim("a steeper target gives a steeper line", source="900")
{mark}
def test_steeper(trials{fixtures}):
    {first}
    steep, flat = trials(Line(target=4.0), Line(target=1.0))
    assert steep.slope > flat.slope
"""

CONFTEST = "import pytest\n"


PLAIN = {"above": "", "mark": "", "fixtures": "", "first": "pass"}


def claim(**given):
    return {"test_lines.py": CLAIM.format(**PLAIN | given)}


def settings(addopts):
    return {"pytest.ini": f"[pytest]\naddopts = {addopts}\n"}


def conftest(text):
    return {"conftest.py": CONFTEST + text}


def moved(*pairs):
    """Move files and folders of the project."""

    def move(project):
        for old, new in pairs:
            path = project.path / new
            path.parent.mkdir(parents=True, exist_ok=True)
            (project.path / old).rename(path)

    return {"moved": move}


def linked(project):
    """Put the claims into a folder elsewhere that a link of the project leads to."""
    elsewhere = project.path.parent / f"{project.path.name}-elsewhere"
    moved(*((x, f"{elsewhere}/{x}") for x in ("test_lines.py", "ledger")))["moved"](project)
    (project.path / "claims").symlink_to(elsewhere)


def dangling(project):
    (project.path / "ledger" / "test_lines.toml").symlink_to("nowhere.toml")


def dangling_folder(project):
    moved(("ledger", "kept"))["moved"](project)
    (project.path / "ledger").symlink_to("nowhere")


def failed_last(project):
    """Leave pytest's note that the claim, which is gone now, failed last."""
    folder = project.path / ".pytest_cache" / "v" / "cache"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lastfailed").write_text('{"test_lines.py::test_steeper": true}')
    (folder / "stepwise").write_text('"test_lines.py::test_steeper"')


CUT = {"test_lines.py": "def test_else():\n    pass\n"}
"""The claim is taken out of its file."""

GONE = {"test_lines.py": None}
ELSEWHERE = {
    "test_lines.py": ('source="900"', 'source="900", only_at="paper"'),
    "ledger/test_lines.toml": None,
}
"""The claim is judged at another size alone, and no ledger has it."""


DESELECTED = settings("--gate --deselect test_lines.py::test_steeper")
WORSE = {"line.py": ("arm.target *", "-arm.target *")}
IN_A_CLASS = """
import pytest
from repro import claim
from line import Line

class TestLines:
    @pytest.mark.parametrize('', [pytest.param(id='one')])
    @claim("a steeper target gives a steeper line", source="900")
    def test_steeper(self, trials):
        steep, flat = trials(Line(target=4.0), Line(target=1.0))
        assert steep.slope > flat.slope
"""
CASES = "@pytest.mark.parametrize('', [pytest.param(id='one')])"
OTHER_CASE = {"ledger/test_lines.toml": ("900/steeper", "900/steeper[two]")}

HOOK = """
import os

def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if "steeper" in item.name]
    if {where}:
        items[:] = [item for item in items if item not in left_out]
        {say}
"""
SAID, SILENT = "config.hook.pytest_deselected(items=left_out)", "pass"
IN_WORKERS = "'PYTEST_XDIST_WORKER' in os.environ"

PASSES = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.outcome, report.longrepr = "passed", None
    return report
"""

PRETENDS = """
def pytest_runtest_protocol(item, nextitem):
    for when in ("setup", "call", "teardown"):
        report = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, when)
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""

LEAVES = "def pytest_{}():\n    pytest.exit('enough', returncode=0)\n"
GREEN = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"

SPOILT = """
from pathlib import Path

def pytest_sessionstart():
    Path("ledger", "test_lines.toml").write_text("<<<<")
"""

BROKEN = "from repro import claim\n\n@claim('a line', source='')\ndef test_broken(): pass\n"
ENDS = "import os\n\ndef test_other():\n    os._exit(0)\n"
IN_A_THREAD = """
import os, threading

def test_other():
    thread = threading.Thread(target=os._exit, args=[0])
    thread.start()
    thread.join()
"""


WAYS = {
    "a mark skips it": claim(mark="@pytest.mark.skip(reason='slow')"),
    "its test skips itself": claim(first="pytest.skip('later')"),
    "a fixture skips it": conftest(
        "@pytest.fixture(autouse=True)\ndef cold(): pytest.skip('cold')\n"
    ),
    "it is not to be run": claim(mark="@pytest.mark.xfail(run=False)"),
    "its error is expected": claim(mark="@pytest.mark.xfail", first="raise RuntimeError('gone')"),
    "an error of its fixture is expected": claim(
        above="@pytest.fixture\ndef broken(): raise RuntimeError('gone')\n",
        mark="@pytest.mark.xfail",
        fixtures=", broken",
    ),
    "it needs something": claim(
        above="from repro.arm import Needs\n", first="raise Needs('needs a faster machine')"
    ),
    "it ends its process": claim(above="import os\n", first="os._exit(0)"),
    "its file is gone": GONE,
    "its module skips itself": claim(above="pytest.skip('later', allow_module_level=True)\n"),
    "a conftest ignores its file": {"conftest.py": "collect_ignore = ['test_lines.py']\n"},
    "settings look for other files": {"pytest.ini": "[pytest]\npython_files = test_other*.py\n"},
    "settings ignore its file": settings("--ignore test_lines.py"),
    "settings deselect it": DESELECTED,
    "settings select another": settings("--gate -k other"),
    "a hook takes it out": conftest(HOOK.format(where=True, say=SILENT)),
    "settings accept whatever comes": settings("--update-ledger"),
    "a mark skips it, and settings allow that": {
        **claim(mark="@pytest.mark.skip(reason='slow')"),
        **settings("--allow-not-run"),
    },
    "its file is not looked for, and an empty session is green": {
        "pytest.ini": "[pytest]\npython_files = nothing*.py\n",
        "conftest.py": "def pytest_sessionfinish(session, exitstatus):\n"
        "    session.exitstatus = 0 if exitstatus == 5 else exitstatus\n",
    },
    "the effect is gone": WORSE,
    "it changes a constant of its study": claim(
        above="import line\n",
        fixtures=", monkeypatch",
        first="monkeypatch.setattr(line, 'SCALE', -1.0)",
    ),
    "a conftest changes a constant of its study": conftest("import line\nline.SCALE = -1.0\n"),
    "a conftest changes a function of its study": conftest(
        "import line\nline.train = lambda arm, seed: {'slope': 1.0}\n"
    ),
}


SECOND = """
@claim("a line rises", source="900")
def test_steeper(trials):
    assert trials(Line(target=4.0)).slope > 0
"""

WAYS |= {
    "a second test of its name shadows it": {"test_lines.py": CLAIM.format(**PLAIN) + SECOND},
    "it says something else": {"test_lines.py": ("steeper line", "longer line")},
    "it is about other data": {
        "test_lines.py": ("=4.0), Line(", "=4.0, data='b'), Line(data='b', ")
    },
}

GATE = ("--gate",)
COMMANDS = {
    "its file is named": (CUT, ["test_lines.py"]),
    "its file is named, and the ledger is an old one": (
        {**CUT, **moved(("ledger/test_lines.toml", "ledger.toml"))},
        ["test_lines.py"],
    ),
    "another test of its file is named": (CUT, ["test_lines.py::test_else"]),
    "its file is gone, and others beside it are named": (GONE, ["test_other.py"]),
    "its file is gone, and a test of another one is named": (GONE, ["test_other.py::test_other"]),
    "nothing is judged": (ELSEWHERE, GATE),
    "nothing is judged of the folder that is named": (ELSEWHERE, [".", "test_other.py", "--gate"]),
    "a case of it is gone": ({**claim(mark=CASES), **OTHER_CASE}, ["test_lines.py"]),
    "a case of it is gone, and its test is named": (
        {**claim(mark=CASES), **OTHER_CASE},
        ["test_lines.py::test_steeper"],
    ),
    "a folder is ignored": (CUT, ["--ignore", "elsewhere"]),
    "a pattern is ignored": (CUT, ["--ignore-glob", "*.txt"]),
    "another file is ignored": (CUT, ["--ignore", "test_other.py"]),
    "settings deselect it, beside a mark": (DESELECTED, ["-m", "not slow"]),
    "settings deselect it, beside a name": (DESELECTED, ["-k", "steeper or other"]),
    "settings deselect it, beside another test": (
        DESELECTED,
        ["test_lines.py", "test_other.py::test_other"],
    ),
    "settings deselect it, beside two colons": (DESELECTED, ["-W", "error::UserWarning"]),
    "other settings deselect it": (
        {"other.ini": DESELECTED["pytest.ini"]},
        ["-c", "other.ini"],
    ),
    "a hook deselects it, beside a mark": (
        conftest(HOOK.format(where=True, say=SAID)),
        ["--gate", "-m", "not slow"],
    ),
    "settings name another file": (settings("test_other.py"), GATE),
    "settings look for tests in another file": (
        {"pytest.ini": "[pytest]\ntestpaths = test_other.py\n"},
        GATE,
    ),
    "its folder is the store": ({}, ["--store", "."]),
    "its folder is below the store": (
        moved(("test_lines.py", "store/a/test_lines.py"), ("ledger", "store/a/ledger")),
        [],
    ),
    "a module hides the ledger": ({**CUT, "ledger/helper.py": ""}, []),
    "its folder is a link": ({**CUT, "link": linked}, []),
    "its folder is one of builds": (
        moved(("test_lines.py", "build/test_lines.py"), ("ledger", "build/ledger")),
        [],
    ),
    "its ledger is a link that leads nowhere": (
        {**CUT, **moved(("ledger/test_lines.toml", "a/b.toml")), "link": dangling},
        [],
    ),
    "its folder is far below": (
        {**CUT, **moved(("test_lines.py", "a/b/test_lines.py"), ("ledger", "a/b/ledger"))},
        [],
    ),
    "its folder is not walked": (
        {
            **moved(("test_lines.py", "a/test_lines.py"), ("ledger", "a/ledger")),
            "pytest.ini": "[pytest]\nnorecursedirs = a\n",
        },
        [],
    ),
    "a broken claim is deselected": ({"test_lines.py": BROKEN}, ["-k", "other"]),
    "its ledger is spoilt": ({**CUT, **conftest(SPOILT)}, []),
    "it is only set up": ({}, ["--setup-only"]),
    "a hook makes its report pass": ({**WORSE, **conftest(PASSES)}, []),
    "a hook makes up its report": ({**WORSE, **conftest(PRETENDS)}, []),
    "a hook runs nothing": (
        conftest("def pytest_runtest_protocol(item, nextitem):\n    return True\n"),
        [],
    ),
    "a hook makes the session pass": ({**WORSE, **conftest(GREEN)}, []),
    "a case of it is gone, and its test is named beside the folder": (
        {**claim(mark=CASES), **OTHER_CASE},
        ["test_other.py::test_other", "."],
    ),
    "its name is left in a comment": (
        {"test_lines.py": "# test_steeper was here\ndef test_else(): pass\n"},
        ["test_lines.py::test_else"],
    ),
    "its class is named, and a case of it is gone": (
        {
            "test_lines.py": IN_A_CLASS,
            "ledger/test_lines.toml": ("900/steeper", "900/steeper[two]"),
        },
        ["test_lines.py::TestLines"],
    ),
    "its ledger has no entries": ({**CUT, "ledger/test_lines.toml": ""}, []),
    "its ledger has another ending": (
        {**CUT, **moved(("ledger/test_lines.toml", "ledger/test_lines.TOML"))},
        [],
    ),
    "its ledger is in a folder below": (
        {**CUT, **moved(("ledger/test_lines.toml", "ledger/old/test_lines.toml"))},
        [],
    ),
    "its folder of ledgers is a link that leads nowhere": (
        {**CUT, "link": dangling_folder},
        [],
    ),
    "a hook names another file": (
        conftest("def pytest_configure(config):\n    config.args[:] = ['test_other.py']\n"),
        ["."],
    ),
    "evidence has it": ({"pack": packed, **CUT}, ["--evidence", FILE]),
    "another size is judged": (CUT, ["--profile", "paper"]),
}
"""Ways beside a command line: files, and arguments."""

LOOKS = ("--plan", "--collect-only", "--setup-plan", "--setup-only", "--fixtures", "--help")
COMMANDS |= {f"settings say {option}": (settings(option), []) for option in LOOKS}

IN_PROCESSES = {
    "its file is named, with workers": (CUT, ["test_lines.py", "-n", "2"]),
    "its module is named": (CUT, ["--pyargs", "test_lines"]),
    "a hook deselects it in workers": (
        conftest(HOOK.format(where=IN_WORKERS, say=SAID)),
        ["--gate", "-n", "2"],
    ),
    "a hook takes it out in workers": (
        conftest(HOOK.format(where=IN_WORKERS, say=SILENT)),
        ["-n", "2"],
    ),
    "a hook makes its report pass in workers": ({**WORSE, **conftest(PASSES)}, ["-n", "2"]),
    "its file ends the process": ({"test_lines.py": "import os\nos._exit(0)\n"}, []),
    "a conftest ends the process": ({**CUT, "conftest.py": "import os\nos._exit(0)\n"}, []),
    "a conftest leaves": ({**CUT, "conftest.py": "import sys\nsys.exit(0)\n"}, []),
    "a conftest leaves pytest as it begins": (conftest(LEAVES.format("sessionstart")), []),
    "a conftest leaves pytest as it collects": (conftest(LEAVES.format("collection")), []),
    "a conftest leaves pytest as it runs": (conftest(LEAVES.format("runtestloop")), []),
    "a conftest leaves pytest before it begins": (
        conftest("def pytest_configure(config):\n    pytest.exit('enough', returncode=0)\n"),
        [],
    ),
    "a conftest takes the place of pytest": (
        conftest("def pytest_cmdline_main(config):\n    return 0\n"),
        [],
    ),
    "a conftest leaves in the place of pytest": (
        conftest("import sys\ndef pytest_cmdline_main(config):\n    sys.exit(0)\n"),
        [],
    ),
    "it failed last, and is gone": ({**CUT, "cache": failed_last}, ["-p", "cacheprovider", "--lf"]),
    "it stopped the last session, and is gone": (
        {**CUT, "cache": failed_last},
        ["-p", "cacheprovider", "-p", "stepwise", "--sw"],
    ),
    "another test ends the process": ({**CUT, "test_other.py": ENDS}, []),
    "a thread ends the process": ({**CUT, "test_other.py": IN_A_THREAD}, []),
}
"""The same, in processes of their own."""


@pytest.fixture
def project(outside_project):
    """One claim, which the ledger has as reproduced, and an ordinary test beside it."""
    change(outside_project, "gauss(0.4, 0.3)", "gauss(0.4, 0.05) * SCALE")
    change(outside_project, "def train(arm", "SCALE = 1.0\n\n\ndef train(arm")
    write(outside_project, {**claim(), "test_other.py": "def test_other():\n    pass\n"})
    run(outside_project, "--update-ledger").assert_outcomes(passed=2)
    assert "reproduced" in (outside_project.path / "ledger" / "test_lines.toml").read_text()
    return outside_project


def write(project, files):
    for name, content in files.items():
        path = project.path / name
        if content is None:
            path.unlink()
        elif callable(content):
            content(project)
        elif isinstance(content, tuple):
            path.write_text(path.read_text().replace(*content))
        else:
            path.write_text(content)


@pytest.mark.parametrize("way", WAYS)
def test_no_way_is_green(project, way):
    write(project, WAYS[way])
    require_red(run(project))


@pytest.mark.parametrize("way", COMMANDS)
def test_no_way_is_green_beside_a_command_line(project, way):
    files, arguments = COMMANDS[way]
    write(project, files)
    require_red(run(project, *arguments))


@pytest.mark.parametrize("way", IN_PROCESSES)
def test_no_way_is_green_in_processes_of_their_own(project, way):
    files, arguments = IN_PROCESSES[way]
    write(project, files)
    require_red(run_apart(project, *arguments))


@pytest.mark.parametrize("option", ["--lf", "--sw"])
def test_what_failed_last_excuses_nothing_where_nothing_failed(project, option):
    assert project.runpytest_inprocess("-n", "0", option).ret == pytest.ExitCode.OK
    write(project, DESELECTED)
    require_red(project.runpytest_inprocess("-n", "0", option))


def test_the_gate_looks_at_the_whole_project_from_any_of_its_folders(project, monkeypatch):
    (units := project.mkdir("units")).joinpath("test_units.py").write_text("def test_it(): pass")
    project.makeini("[pytest]")
    monkeypatch.chdir(units)
    require_red(run(project, "--gate"))
    assert run(project).ret == pytest.ExitCode.OK


def test_recorded_runs_that_are_lost_are_named(project):
    example = Path(__file__).parents[2] / "examples" / "recorded"
    shutil.copytree(example, project.path / "digits")
    rows = project.path / "digits" / "results.csv"
    head, *others = rows.read_text().splitlines()
    assert run(project, "digits").ret == pytest.ExitCode.OK
    for seeds, code in ((19, pytest.ExitCode.OK), (2, pytest.ExitCode.TESTS_FAILED)):
        few = [row for row in others if int(row.split(",")[1]) <= seeds]
        assert len(few) in range(2, len(others))
        rows.write_text("\n".join([head, *few]))
        result = run(project, "digits")
        assert result.ret == code
        result.stdout.fnmatch_lines([f"*the ledger had 20 seeds, {seeds} are recorded*"])


def test_recorded_runs_that_begin_to_repeat_others_fail(project):
    example = Path(__file__).parents[2] / "examples" / "recorded"
    shutil.copytree(example, project.path / "digits")
    rows = project.path / "digits" / "results.csv"
    head, *others = rows.read_text().splitlines()
    values = {tuple(row.split(",")[:2]): row.split(",")[2] for row in others}

    seeds = list(values)
    values["rbf", "ceiling"] = "0.998745"

    def judged(like):  # with the values of other seeds
        copied = [",".join([arm, seed, values[arm, like(arm, seed)]]) for arm, seed in seeds]
        rows.write_text("\n".join([head, *copied]))
        return run(project, "digits", "--gate")

    ceiling = judged(lambda arm, seed: "ceiling" if arm == "rbf" and int(seed) < 16 else seed)
    assert ceiling.ret == pytest.ExitCode.OK
    ceiling.stdout.fnmatch_lines(
        ["digits/kernel_is_best: 14 of 20 runs of rbf repeat another*ceiling*"]
    )
    for like, count in (
        (lambda arm, seed: str(2 + int(seed) % 2), 18),
        (lambda arm, seed: "3" if arm == "rbf" else seed, 19),
    ):
        copies = judged(like)
        assert copies.ret == pytest.ExitCode.TESTS_FAILED
        said = f"*{count} of 20 runs of * repeat another*Those of the ledger did not*"
        copies.stdout.fnmatch_lines([said])
    judged(lambda arm, seed: str(2 + int(seed) % 2))
    run(project, "digits", "--update-ledger")
    assert run(project, "digits", "--gate").ret == pytest.ExitCode.OK


def require_red(done):
    assert done.ret not in (pytest.ExitCode.OK, pytest.ExitCode.INTERNAL_ERROR), done.outlines
    said = "\n".join([*done.outlines, *done.errlines])
    names = ("steeper", "is for the command line", "The store", "beside ledgers", "cannot be read")
    names = (*names, "leads nowhere", "is not read", "os._exit(0)", "calls sys.exit")
    names = (*names, "nothing is judged")
    assert any(name in said for name in names)


def test_a_file_whose_claims_are_of_another_size_may_be_named(project):
    write(project, ELSEWHERE)
    for arguments in (["--gate", "test_lines.py"], ["--gate", "--allow-not-run"], []):
        assert run(project, *arguments).ret == pytest.ExitCode.OK
    shown = run(project, "--gate").stdout.str()
    assert "1 claim selected and none judged: --gate asks for a verdict" in shown


@pytest.mark.parametrize(
    ("way", "options"),
    [
        ("a mark skips it", ["--allow-not-run"]),
        ("it needs something", ["--allow-not-run"]),
        ("settings deselect it", ["-k", "other"]),
    ],
)
def test_what_somebody_asks_for_is_green(project, way, options):
    write(project, WAYS[way])
    assert run(project, *options).ret == pytest.ExitCode.OK


def test_a_file_that_skips_itself_keeps_its_entries_while_others_are_accepted(project):
    write(project, WAYS["its module skips itself"])
    run(project, "--update-ledger")
    assert "reproduced" in (project.path / "ledger" / "test_lines.toml").read_text()
    write(project, WAYS["its file is gone"])
    run(project, "--update-ledger")
    assert not (project.path / "ledger" / "test_lines.toml").exists()
