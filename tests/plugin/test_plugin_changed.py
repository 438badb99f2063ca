"""Sessions that judge the claims which reach a change, in projects with a history."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from repro.code.before import Changes
from repro.plugin.affected import Affected
from repro.plugin.changed import SHOWN
from repro.plugin.claims import mark_of
from repro.plugin.reading import with_claims
from repro.plugin.survey import survey_of
from tests.plugin.sessions import run, run_apart

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from faults import FAULTS  # noqa: E402

OTHER = """
import pytest
from repro import claim
from repro.recorded import recorded
from repro.arm import Metric
from other import Curve

RUNS = recorded("runs.csv", arm="arm", seed="seed", metrics={"score": Metric("identity")})
CASES = [1.0, 2.0]
each_case = pytest.mark.parametrize("target", CASES)

@claim("curves bend", source="901, Text")
@each_case
def test_bends(trials, target):
    assert trials(Curve(target=target)).slope > 0

@claim("a beats b", source="902, Text")
def test_recorded(trials):
    a, b = trials(RUNS(arm="a"), RUNS(arm="b"))
    assert a.score > b.score

@claim("parts add up", source="903, Text")
def test_parts(document):
    assert document("40%").is_share_of(5)
"""
LINES = """
from repro import claim
from line import Line

@claim("lines rise", source="900, Text")
def test_rises(trials):
    assert trials(Line()).slope > 0

def test_the_line_itself():
    assert Line().target == 1.0
"""


def git(project, *arguments):
    identity = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run(
        ["git", *identity, *arguments], cwd=project.path, check=True, capture_output=True
    )


def commit(project):
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--allow-empty", "-m", "a commit")


@pytest.fixture
def history(outside_project):
    """A project of two studies, recorded runs and a document, on a branch of `main`."""
    study = (outside_project.path / "line.py").read_text()
    helper = "def times(target, factor):\n    return target * factor\n"
    study = study.replace("arm.target * random", "times(arm.target, 1) * random")
    study = study.replace("import random\n", "import random\nfrom helper import times\n")
    other = study.replace("class Line", "class Curve").replace('"line"', '"other"')
    rows = "arm,seed,score\n" + "".join(f"a,{n},{n}.5\nb,{n},{n}\n" for n in range(9))
    outside_project.makepyfile(line=study, other=other, helper=helper)
    outside_project.makepyfile(test_lines=LINES, test_other=OTHER)
    outside_project.makefile(".csv", runs=rows)
    (outside_project.path / "README.md").write_text("Lines.")
    (outside_project.path / ".gitignore").write_text("__pycache__\nstore\n")
    (outside_project.path / "conftest.py").write_text("import pytest\n")
    git(outside_project, "init", "--quiet", "--initial-branch=main")
    commit(outside_project)
    git(outside_project, "checkout", "--quiet", "-b", "branch")
    return outside_project


def selected(project, *arguments, since="main"):
    """Return the tests that a session has left, without their files, and what it says of them."""
    result = run(project, "--changed-since", since, *arguments)
    shown = result.stdout.str()
    assert result.ret in (0, 1), shown + result.stderr.str()
    names = re.findall(r"^(?:repro/)?\w+\.py::(\w+)", shown, re.MULTILINE)
    return sorted(set(names)), shown


def edit(project, file, old, new):
    path = project.path / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))


def test_without_a_change_only_other_tests_are_left(history):
    names, shown = selected(history)
    assert names == ["test_the_line_itself"]
    assert re.search(r"main \(\w{9}\): 0 of 5 claims reach what changed, 5 are left out", shown)


EVERY = ["test_bends", "test_parts", "test_recorded", "test_rises"]


@pytest.mark.parametrize(
    ("file", "old", "new", "names", "reason"),
    [
        ("line.py", "gauss(0.4", "gauss(0.5", ["test_rises"], "line.train (1)"),
        ("other.py", "gauss(0.4", "gauss(0.5", ["test_bends"], "other.train (2)"),
        ("helper.py", "* factor", "* factor * 1", ["test_bends", "test_rises"], "helper.times (3)"),
        ("line.py", '"""The same', '"""Quite the same', [], "0 of 5"),
        ("line.py", "# longer", "# much longer", [], "0 of 5"),
        ("README.md", "Lines", "Curves", [], "0 of 5"),
        ("runs.csv", "a,1,", "a,1,1", ["test_recorded"], "runs.csv (1)"),
        ("test_other.py", "[1.0, 2.0]", "[1.0, 3.0]", ["test_bends"], "test_other.CASES (2)"),
        ("test_other.py", '"40%"', '"60%"', ["test_parts"], "test_other.test_parts (1)"),
        ("test_lines.py", "lines rise", "all lines rise", ["test_rises"], ".test_rises (1)"),
        ("test_lines.py", "== 1.0", "== 1", [], "0 of 5"),
        ("conftest.py", "import pytest", "import pytest\nx = 1", EVERY, "conftest#0.x (5)"),
    ],
)
def test_a_change_selects_the_claims_that_reach_it(history, file, old, new, names, reason):
    edit(history, file, old, new)
    found, shown = selected(history)
    assert found == sorted([*names, "test_the_line_itself"]), shown
    assert reason in shown


def test_a_change_may_be_committed_and_main_may_go_on(history):
    edit(history, "line.py", "gauss(0.4", "gauss(0.5")
    commit(history)
    git(history, "checkout", "--quiet", "main")
    edit(history, "other.py", "gauss(0.4", "gauss(0.5")
    commit(history)
    git(history, "checkout", "--quiet", "branch")
    assert selected(history)[0] == ["test_rises", "test_the_line_itself"]


def test_settings_of_the_project_select_every_claim(history):
    (history.path / "requirements-dev.txt").write_text("torch\n")
    names, shown = selected(history)
    assert names == [*EVERY, "test_the_line_itself"]
    assert "requirements-dev.txt (5)" in shown


def test_files_that_git_does_not_know_count_where_they_are_named(history):
    edit(history, "test_other.py", '"runs.csv"', '"{part}.csv"')
    commit(history)
    git(history, "branch", "--force", "main")
    (history.path / "notes.txt").write_text("what a shell wrote")
    (history.path / "more.csv").write_text("arm,seed,score\na,9,9.5\nb,9,9\n")
    names, shown = selected(history)
    assert names == ["test_recorded", "test_the_line_itself"]
    assert "more.csv (1)" in shown


def test_a_new_claim_and_a_new_file_are_selected(history):
    with (history.path / "test_lines.py").open("a") as file:
        file.write("\n" + LINES.partition("from line import Line")[2].replace("_rises", "_grows"))
    history.makepyfile(test_new=LINES.replace("900", "904").replace("rises", "climbs"))
    assert selected(history)[0] == ["test_climbs", "test_grows", "test_the_line_itself"]


def test_a_module_that_is_gone_counts(history):
    use = "try:\n    from extra import factor\nexcept ImportError:\n    factor = 1\n"
    edit(history, "helper.py", "def times", use + "def times")
    history.makepyfile(extra="factor = 2")
    edit(history, "helper.py", "def times(target, factor)", "def times(target, by, factor=factor)")
    commit(history)
    git(history, "branch", "--force", "main")
    (history.path / "extra.py").unlink()
    names, shown = selected(history)
    assert names == [*EVERY, "test_the_line_itself"]  # both files of claims import it
    assert "extra.factor (5)" in shown


def test_a_changed_entry_of_the_ledger_selects_its_claim(history):
    run(history, "--update-ledger", "--reference-seeds", "0")
    commit(history)
    git(history, "branch", "--force", "main")
    edit(history, "ledger.toml", "parts add up", "all parts add up")
    names, shown = selected(history)
    assert names == ["test_parts", "test_the_line_itself"]
    assert "the ledger's entry of 903/parts (1)" in shown


def test_a_file_that_an_arm_reads_selects_its_claims(history):
    reads = 'data: str = "points"\n    reads: ClassVar[tuple] = ("fit.py",)'
    edit(history, "line.py", 'data: str = "points"', reads)
    history.makepyfile(fit="print(1)")
    commit(history)
    git(history, "branch", "--force", "main")
    history.makepyfile(fit="print(2)")
    names, shown = selected(history)
    assert names == ["test_rises", "test_the_line_itself"]
    assert "fit.py (1)" in shown


def test_data_beside_a_study_selects_its_claims(history):
    folder = history.path / "study"
    folder.mkdir()
    (history.path / "line.py").rename(folder / "line.py")
    history.makepyfile(
        test_lines="import study.line\n" + LINES.replace("line import", "study.line import")
    )
    edit(history, "study/line.py", '"line"', '"study.line"')
    (folder / "data").mkdir()
    (folder / "data" / "points.json").write_text("[]")
    commit(history)
    git(history, "branch", "--force", "main")
    (folder / "data" / "points.json").write_text("[1]")
    names, shown = selected(history)
    assert names == ["test_rises", "test_the_line_itself"]
    assert "study/data/points.json (1)" in shown


def test_arms_that_cannot_be_read_ahead_are_always_judged(history):
    claims = """
    from repro import claim
    from line import Line

    @claim("takes a folder", source="904, Text")
    def test_folder(trials, tmp_path):
        assert trials(Line()).slope > 0

    @claim("looks at what came out", source="904, Text")
    def test_looks(trials):
        shift = trials(Line()).slope.mean.real
        assert trials(Line(target=round(shift) + 2.0)).slope > 0
    """
    history.makepyfile(test_unusual=claims)
    commit(history)
    git(history, "branch", "--force", "main")
    names, shown = selected(history)
    assert names == ["test_folder", "test_looks", "test_the_line_itself"]
    assert "arms that depend on tmp_path (1)" in shown
    assert "arms behind " in shown


def test_a_fixture_of_the_claims_file_counts(history):
    claims = """
    import pytest
    from repro import claim

    @pytest.fixture
    def share():
        return "40%"

    @claim("parts add up", source="904, Text")
    def test_shares(document, share):
        assert document(share).is_share_of(5)
    """
    history.makepyfile(test_fixtures=claims)
    commit(history)
    git(history, "branch", "--force", "main")
    assert selected(history)[0] == ["test_the_line_itself"]
    edit(history, "test_fixtures.py", "40%", "60%")
    assert selected(history)[0] == ["test_shares", "test_the_line_itself"]


def test_a_method_of_a_class_counts_alone(history):
    claims = """
    from repro import claim

    class TestShares:
        @claim("fifths", source="904, Text")
        def test_fifths(self, document):
            assert document("40%").is_share_of(5)

        @claim("quarters", source="904, Text")
        def test_quarters(self, document):
            assert document("25%").is_share_of(4)
    """
    history.makepyfile(test_methods=claims)
    commit(history)
    git(history, "branch", "--force", "main")
    edit(history, "test_methods.py", "25%", "75%")
    shown = run(history, "--changed-since", "main", "test_methods.py").stdout.str()
    assert "1 of 2 claims" in shown
    assert "TestShares.test_quarters (1)" in shown


def test_many_changes_are_counted(history):
    case = """
    @claim("a share", source="904, Text")
    def test_{n}(document):
        assert document("4%").is_share_of(25)
    """
    claims = "".join(case.format(n=n) for n in range(12))
    history.makepyfile(test_many="    from repro import claim\n" + claims)
    commit(history)
    git(history, "branch", "--force", "main")
    text = (history.path / "test_many.py").read_text()
    (history.path / "test_many.py").write_text(text.replace("4%", "8%"))
    shown = selected(history)[1]
    assert "12 of 17 claims reach what changed" in shown
    assert len(re.findall(r"^  test_many.test_\d+ \(1\)$", shown, re.MULTILINE)) == SHOWN
    assert f"and {12 - SHOWN} more" in shown


@pytest.mark.parametrize("importing", ["prepend", "importlib"])
def test_claims_are_found_however_pytest_imports_them(history, importing):
    edit(history, "test_lines.py", "lines rise", "all lines rise")
    names, _ = selected(history, f"--import-mode={importing}", "-o", "pythonpath=.")
    assert names == ["test_rises", "test_the_line_itself"]


def test_a_commit_that_is_not_there_ends_the_session_with_a_sentence(history):
    result = run(history, "--changed-since", "nowhere")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--changed-since nowhere: There is no commit nowhere here*"])
    git(history, "checkout", "--quiet", "--orphan", "alone")
    edit(history, "README.md", "Lines", "Curves")  # else it would be the same commit
    commit(history)
    result = run(history, "--changed-since", "main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*main and HEAD have no commit in common here: fetch*"])


def test_where_there_is_no_repository_the_session_ends_with_a_sentence(outside_project):
    result = run(outside_project, "--changed-since", "main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--changed-since main: git rev-parse failed: *not a git repo*"])


def test_a_shard_takes_its_part_of_what_is_selected(history):
    edit(history, "helper.py", "* factor", "* factor * 1")
    shown = [run(history, "--changed-since=main", f"--shard={n}/2").stdout.str() for n in (1, 2)]
    counts = [re.search(r"shard . of 2: (\d) of (\d) claims", text).groups() for text in shown]
    assert [int(total) for _, total in counts] == [3, 3]
    assert sum(int(here) for here, _ in counts) == 3


@pytest.mark.thorough
def test_workers_select_the_same_and_the_controller_says_it_once(history):
    edit(history, "line.py", "gauss(0.4", "gauss(0.5")
    result = run_apart(history, "-n", "2", "--changed-since", "main")
    shown = result.stdout.str()
    assert result.ret == 0, shown
    assert shown.count("1 of 5 claims reach what changed, 4 are left out") == 1
    assert "line.train (1)" in shown
    git(history, "checkout", "--quiet", ".")
    (history.path / "test_lines.py").write_text(LINES.partition("def test_the")[0])
    result = run_apart(history, "-n", "2", "--changed-since", "main")
    assert result.ret == 0, result.stdout.str()  # nothing is left to test
    assert "0 of 5 claims reach what changed" in result.stdout.str()


@pytest.fixture(scope="module")
def claims_of_the_project():
    """The claims of this project, and what is needed to tell which of them a change reaches."""
    evidence = [f"--repro-evidence={ROOT / 'evidence' / 'ci-generated.jsonl.gz'}"]

    def taken(session):
        return session.items, survey_of(session.config)

    return with_claims([str(ROOT / "claims")], evidence, taken)


@pytest.mark.parametrize(
    ("folder", "source"),
    [
        ("early_exit", "000"),
        ("context_vector", "001"),
        ("finetuning", "003"),
        ("depth_ladder", "004"),
    ],
)
def test_a_change_of_one_study_selects_claims_of_its_source_alone(
    folder, source, claims_of_the_project, monkeypatch
):
    """The bar: a pull request that touches one study judges that study's claims only."""
    fault = next(each for each in FAULTS if f"studies/{folder}/" in each.path)
    path = ROOT / fault.path
    changes = Changes(ROOT, "HEAD", frozenset([path]))
    text = path.read_text()
    assert fault.old in text
    faulty = text.replace(fault.old, fault.new).encode()
    monkeypatch.setattr(Changes, "text", lambda changes, path: faulty)
    claims, survey = claims_of_the_project
    affected = Affected(changes, claims, survey, project=ROOT, conftests=[])
    sources = Counter(mark_of(item).source[:3] for item in claims if affected.by(item))
    assert list(sources) == [source]
    assert sources[source] > 10
