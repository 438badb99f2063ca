"""Options have two names, of which the short one is ours where nobody else has it."""

from pathlib import Path

import pytest

from repro.plugin.command_line import option, set_option
from repro.plugin.options import ABOUT_TRAINING, check_evidence, check_options, reference_of
from tests.plugin.sessions import run, run_apart

OTHER = """
    def pytest_addoption(parser):
        parser.addoption("--profile", action="store_true")
        parser.addoption("--device", default=None)

    def pytest_report_header(config):
        return f"theirs: {config.getoption('profile')} {config.getoption('device')}"
"""
"""Options of these names are those of pytest-profiling and pytest-playwright."""


@pytest.fixture
def with_other_plugin(outside_project):
    outside_project.makepyfile(other=OTHER)
    return outside_project


@pytest.mark.thorough
def test_another_plugin_keeps_its_options(with_other_plugin, monkeypatch):
    mine = ("--repro-profile", "ci", "--repro-device", "cpu")
    theirs = ("--profile", "--device", "iPhone 13")
    result = run_apart(with_other_plugin, "-p", "other", *mine, *theirs)
    result.stdout.fnmatch_lines(["theirs: True iPhone 13"])
    result.assert_outcomes(passed=2, skipped=1, failed=1)


@pytest.mark.thorough
def test_an_option_of_a_conftest_file_is_not_ours(outside_project):
    outside_project.makeconftest(OTHER)
    result = run(outside_project, "--device", "iPhone 13", "--seed-budget", "5")
    result.stdout.fnmatch_lines(["theirs: False iPhone 13"])
    result.assert_outcomes(passed=2, skipped=1, failed=1)


@pytest.mark.thorough
def test_the_value_of_a_short_option_is_no_folder_to_look_into(outside_project):
    elsewhere = outside_project.mkdir("paper")
    (elsewhere / "conftest.py").write_text("raise RuntimeError('read')")
    result = run(outside_project, "--profile", "paper", "--plan", "test_lines.py")
    result.stdout.fnmatch_lines(["* claims at profile paper, *"])


@pytest.mark.thorough
def test_the_project_sets_options_by_addopts(outside_project):
    outside_project.makeini("[pytest]\naddopts = --profile paper\n")
    result = run(outside_project, "--plan")
    result.stdout.fnmatch_lines(["* claims at profile paper, *"])


def test_a_bad_number_of_seeds_for_the_ledger_is_one_sentence(outside_project):
    config = outside_project.parseconfig("--update-ledger")
    set_option(config, "update-ledger", False)
    set_option(config, "reference-seeds", 3)
    with pytest.raises(pytest.UsageError, match="give --update-ledger too"):
        check_options(config)
    set_option(config, "update-ledger", True)
    check_options(config)
    assert reference_of(config) == 3
    set_option(config, "reference-seeds", -1)
    with pytest.raises(pytest.UsageError, match="-1 is out of range"):
        check_options(config)


def test_a_folder_that_cannot_be_written_to_is_named_in_a_sentence(outside_project, monkeypatch):
    config = outside_project.parseconfig()
    monkeypatch.setattr("os.access", lambda place, mode: place != Path("/usr"))
    for name in ("store", "report"):
        before = option(config, name)
        set_option(config, name, "/usr/there")
        with pytest.raises(pytest.UsageError, match=f"--{name} .*: /usr may not be written to"):
            check_options(config)
        set_option(config, name, before)


def test_a_path_that_pytest_takes_for_its_root_is_refused(outside_project, tmp_path_factory):
    """It knows no options of plugins when it looks for its configuration."""
    elsewhere = str(tmp_path_factory.mktemp("elsewhere"))
    inside = outside_project.mkdir("inside")
    for name, path in (
        ("--store", elsewhere),
        ("--repro-report", elsewhere),
        ("--store", f"{elsewhere}/new"),  # which pytest would take for its root the next time
    ):
        result = run(outside_project, "--collect-only", name, path)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*write {name}={path}"])
    for sound in (
        [f"--store={elsewhere}"],
        ["--store", str(inside)],
        ["test_lines.py", "--store", elsewhere],
    ):
        assert run(outside_project, "--collect-only", *sound).ret == pytest.ExitCode.OK


def test_evidence_goes_with_no_option_of_training(outside_project):
    config = outside_project.parseconfig()
    set_option(config, "evidence", ["results.jsonl.gz"])
    for name in ABOUT_TRAINING:
        usual = option(config, name)
        set_option(config, name, "another value than the usual one")
        with pytest.raises(ValueError, match=f"leave out --{name}, or"):
            check_evidence(config)
        set_option(config, name, usual)
    with pytest.raises(ValueError, match=r"results\.jsonl\.gz"):
        check_evidence(config)  # there is no such file
