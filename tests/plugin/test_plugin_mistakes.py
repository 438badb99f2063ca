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


def test_a_kind_that_there_is_not_is_refused_before_anything_trains(project):
    claims = (
        '@claim("x", source="900", kind="sauce")\ndef test_it(trials):\n'
        "    assert trials(Line()).slope > 0\n"
    )
    result = run(project, claims)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*kind is 'sauce'; write kind= one of 'source', 'question', 'control'*"]
    )
    assert not list(project.path.glob("store/runs/*"))


@pytest.mark.parametrize(
    "documented", ["{slop}", "{}", "{", "{slope:x}", "{slope.of}", "{slope[0]}"]
)
def test_what_cannot_be_filled_in_is_refused_before_anything_trains(project, documented):
    claims = (
        f'@claim("x", source="900", documented="{documented}")\n'
        '@pytest.mark.parametrize("slope", [0.5])\n'
        "def test_it(trials, slope):\n    assert trials(Line()).slope > slope\n"
    )
    result = run(project, claims)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*documented is *cannot be filled in (*parameters (slope)*twice*"])
    assert not list(project.path.glob("store/runs/*"))


def test_controls_and_questions_are_counted_apart_and_said_in_the_ledger(project):
    claims = "".join(
        f'@claim("{name}", source="900"{kind})\ndef test_{name}(trials):\n'
        f"    assert trials(Line()).slope > {bound}\n\n"
        for name, kind, bound in (
            ("theirs", "", 0),
            ("asked", ', kind="question"', 9),
            ("ours", ', kind="control"', 0),
        )
    )
    (project.path / "test_lines.py").write_text(HEAD + claims)
    result = project.runpytest_inprocess("-p", "no:cacheprovider", "--update-ledger")
    result.stdout.fnmatch_lines(["900 *1 *·*", "our questions *· *1 *", "our controls *1 *·*"])
    ledger = (project.path / "ledger" / "test_lines.toml").read_text()
    assert ledger.count("kind = ") == 2


def test_an_exact_metric_is_trained_once_and_matches_without_a_tolerance(project):
    study = project.path / "line.py"
    text = study.read_text().replace(
        'Metric("identity")}', 'Metric("identity"), "weights": Metric("log", exact=True)}'
    )
    study.write_text(text.replace('return {"slope":', 'return {"weights": 25_450, "slope":'))
    claims = (
        '@claim("x", source="900")\ndef test_it(trials):\n'
        "    assert trials(Line()).weights.matches(25_450)\n"
    )
    result = run(project, claims)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 distinct run needed: 1 trained now*"])


def test_a_metric_that_seeds_change_matches_nothing_without_a_tolerance(project):
    claims = (
        '@claim("x", source="900")\ndef test_it(trials):\n'
        "    assert trials(Line()).slope.matches(1.0)\n"
    )
    result = run(project, claims)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*slope of line 1.0 differs between seeds*tolerance=*exact=True*"])


CASES = (
    '@claim("x", source="900")\n@pytest.mark.parametrize("arm", [{arms}])\n'
    "def test_it(trials, arm):\n    assert trials(arm).slope > 0\n"
)


def test_cases_are_named_by_their_arms_and_not_by_their_places(project):
    for arms in ("Line(target=1.0), Line(target=2.0)", "Line(target=2.0), Line(target=1.0)"):
        result = run(project, CASES.format(arms=arms))
        result.assert_outcomes(passed=2)
        for target in (1.0, 2.0):
            result.stdout.fnmatch_lines([f"*900/it[[]line {target}] (new)  line {target} - 0 = *"])


def test_arms_that_are_called_the_same_are_no_cases(project):
    study = project.path / "line.py"
    study.write_text(study.read_text().replace('f"line {self.target}"', '"line"'))
    result = run(project, CASES.format(arms="Line(target=1.0), Line(target=2.0)"))
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*Two arms of test_it are called 'line': *or name the cases*"])


def test_sources_of_two_years_are_two(project):
    claims = "".join(
        f'@claim("x", source="Smith, {year}, Table 1")\ndef test_it{n}(trials):\n'
        "    assert trials(Line()).slope > 0\n"
        for n, year in enumerate(("2023", "2024"))
    )
    result = run(project, claims)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["Smith, 2023 *", "Smith, 2024 *"])


def test_a_profile_that_there_is_not_is_no_reason_to_skip(project):
    claims = (
        '@claim("x", source="900", only_at="papr")\ndef test_it(trials):\n'
        "    assert trials(Line()).slope > 0\n"
    )
    result = run(project, claims)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*for the profile 'papr', which there is not*"])


def test_arms_of_other_seeds_are_not_paired_by_their_places(project):
    study = project.path / "line.py"
    other = "\n\nclass Other(Line):\n    documented_seeds = (42,)\n"
    study.write_text(study.read_text() + other)
    claims = (
        "from line import Other\n"
        '@claim("x", source="900")\ndef test_it(trials):\n'
        "    ours, theirs = trials(Line(target=4.0), Other())\n"
        "    assert ours.slope > theirs.slope\n"
    )
    result = run(project, claims)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*documented_seeds differ (Line none, Other [[]42]): give all*"])
