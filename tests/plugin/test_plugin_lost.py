"""Ways in which a finding could be lost in a green build: none of them is green."""

import pytest

from tests.evidence.packs import read_code_again
from tests.plugin.sessions import change, run

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


def claim(*, above="", mark="", fixtures="", first="pass"):
    return {"test_lines.py": CLAIM.format(above=above, mark=mark, fixtures=fixtures, first=first)}


def settings(addopts):
    return {"pytest.ini": f"[pytest]\naddopts = {addopts}\n"}


WAYS = {
    "a mark skips it": claim(mark="@pytest.mark.skip(reason='slow')"),
    "a condition skips it": claim(mark="@pytest.mark.skipif(True, reason='no card')"),
    "its test skips itself": claim(first="pytest.skip('later')"),
    "a fixture skips it": {
        "conftest.py": CONFTEST + "@pytest.fixture(autouse=True)\ndef cold(): pytest.skip('cold')\n"
    },
    "a hook skips it": {
        "conftest.py": CONFTEST + "def pytest_runtest_setup(item):\n    pytest.skip('no time')\n"
    },
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
    "its file is gone": {"test_lines.py": None},
    "its module skips itself": claim(above="pytest.skip('later', allow_module_level=True)\n"),
    "its module wants a library": claim(above="pytest.importorskip('no_such_library')\n"),
    "a conftest ignores its file": {"conftest.py": "collect_ignore = ['test_lines.py']\n"},
    "settings look for other files": {"pytest.ini": "[pytest]\npython_files = test_other*.py\n"},
    "settings ignore its file": settings("--ignore test_lines.py"),
    "settings deselect it": settings("--gate --deselect test_lines.py::test_steeper"),
    "settings select another": settings("--gate -k other"),
    "a hook takes it out": {
        "conftest.py": "def pytest_collection_modifyitems(items):\n"
        "    items[:] = [x for x in items if 'steeper' not in x.name]\n"
    },
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
    "the effect is gone": {"line.py": ("arm.target *", "-arm.target *")},
    "it changes a constant of its study": claim(
        above="import line\n",
        fixtures=", monkeypatch",
        first="monkeypatch.setattr(line, 'SCALE', -1.0)",
    ),
    "a conftest changes a constant of its study": {
        "conftest.py": "import line\nline.SCALE = -1.0\n"
    },
    "a conftest changes a function of its study": {
        "conftest.py": "import line\nline.train = lambda arm, seed: {'slope': 1.0}\n"
    },
}


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
    read_code_again()
    for name, content in files.items():
        path = project.path / name
        if content is None:
            path.unlink()
        elif isinstance(content, tuple):
            path.write_text(path.read_text().replace(*content))
        else:
            path.write_text(content)


@pytest.mark.parametrize("way", WAYS)
def test_no_way_is_green(project, way):
    write(project, WAYS[way])
    done = run(project)
    assert done.ret not in (pytest.ExitCode.OK, pytest.ExitCode.INTERNAL_ERROR), done.outlines
    said = "\n".join([*done.outlines, *done.errlines])
    assert "steeper" in said or "is for the command line" in said


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
