"""Mistakes of newcomers end in a sentence that says what to do."""

import pytest

HEAD = "import pytest\nfrom repro import claim\nfrom line import Line\n\n"


def run(project, claims):
    (project.path / "test_lines.py").write_text(HEAD + claims)
    return project.runpytest_inprocess("-p", "no:cacheprovider")


@pytest.mark.parametrize(
    "arms", ["Line(), Line()", "[Line(), Line(target=2.0), Line()]", "Line(target=1.0), Line()"]
)
def test_an_arm_is_not_compared_with_itself(project, arms):
    claims = f'@claim("x", source="900")\ndef test_it(trials):\n    trials({arms})\n'
    result = run(project, claims)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*asked to compare line 1* with itself: two of its arms*differ*"])


def test_an_arm_of_what_can_change_is_refused(project):
    claims = (
        '@claim("x", source="900")\ndef test_it(trials):\n'
        "    assert trials(Line(target=[1.0])).slope > 0\n"
    )
    result = run(project, claims)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*Line(target=[[]1.0]) cannot be hashed: a list*give a tuple.*"])


def test_two_claims_of_one_name_are_refused(project):
    claims = '@claim("x", source="900")\ndef test_it(trials):\n    pass\n'
    (project.path / "test_others.py").write_text(HEAD + claims)
    result = run(project, claims)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        ["*Two claims are called 900/it: *test_lines.py::test_it and test_others.py::test_it*"]
    )


def test_a_metric_that_an_arm_lacks_is_named(project):
    claims = '@claim("x", source="900")\ndef test_it(trials):\n    assert trials(Line()).slop > 0\n'
    result = run(project, claims)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*Line has no metric 'slop'; it has *slope*"])


def test_a_study_that_draws_globally_is_refused(project):
    study = project.path / "line.py"
    study.write_text(study.read_text().replace("self.arm.target * x)", "torch.rand(()) * x)"))
    claims = (
        '@claim("x", source="900")\ndef test_it(trials):\n    assert trials(Line()).slope > 0\n'
    )
    result = run(project, claims)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*line draws from torch's global generator while training*"])
