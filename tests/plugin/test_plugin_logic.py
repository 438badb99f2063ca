"""Python's logic around findings: what contradicts them is an error, and never a verdict."""

import re

import pytest

HEAD = """
import re

import pytest
from repro import claim
from repro.judge import conjunction, either
from line import Line

@claim("x", source="900")
def test_it(trials):
    hi, lo = (trial.slope for trial in trials(Line(target=2.0), Line(target=1.0)))
"""


def run(project, *lines):
    body = "".join(f"    {line}\n" for line in lines)
    (project.path / "test_lines.py").write_text(HEAD + body)
    return project.runpytest_inprocess("-v", "-p", "no:cacheprovider", "--seed-budget", "5")


@pytest.mark.parametrize(
    "line",
    [
        "assert lo > hi or hi > lo",
        "assert any([lo > hi, hi > lo])",
        "assert not (lo > hi)",
        "assert not (hi > lo)",
        "assert (0 if lo > hi else 1)",
        "found = lo > hi; assert hi > lo",
        "found = lo > hi; assert 1 + 1 == 3",
        "assert 1 + 1 == 3",
        "assert lo > hi or hi < lo",
        "assert (hi > lo) and 1 + 1 == 3",
        "assert all([lo > hi, hi < lo])",
        "assert (hi > lo) != (hi > 0)",
        "assert (hi > lo) is not None",
        "assert [hi > lo]",
        "hi > lo",
        "assert hi > lo; hi > 0",
    ],
)
def test_what_contradicts_the_findings_is_an_error_with_a_sentence(project, line):
    result = run(project, line)
    assert result.ret == 1
    text = result.stdout.str()
    assert "Assert each finding by itself" in text.replace("\n", " ")
    assert "1 failed" in text


@pytest.mark.parametrize("end", ['pytest.skip("why")', 'pytest.xfail("why")'])
@pytest.mark.parametrize("before", ["found = hi > lo", "assert hi > lo"])
def test_a_claim_that_has_judged_something_is_not_left_out(project, before, end):
    result = run(project, before, end)
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    text = " ".join(result.stdout.str().split())
    assert "The test was left out after it had judged something" in text


def test_a_claim_that_is_expected_to_fail_fails_by_its_verdict_all_the_same(project):
    head = HEAD.replace("def test_it", "@pytest.mark.xfail\ndef test_it")
    for body, text in (("assert lo > hi", "REFUTED"), ("pass", "without judging anything")):
        (project.path / "test_lines.py").write_text(f"{head}    {body}\n")
        result = project.runpytest_inprocess("-p", "no:cacheprovider", "--seed-budget", "5")
        assert result.ret == 1
        result.assert_outcomes(failed=1)
        assert text in result.stdout.str()


def test_a_claim_that_has_judged_nothing_may_be_left_out(project):
    run(project, 'pytest.skip("why")').assert_outcomes(skipped=1)
    run(project, 'pytest.xfail("why")').assert_outcomes(xfailed=1)


def test_a_finding_is_not_compared_with_true(project):
    result = run(project, "assert (hi > lo) != True")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*A verdict is compared with True: assert the finding itself*"])


@pytest.mark.parametrize(
    "line",
    [
        "assert (hi > lo) | (lo > hi)",
        "assert (hi > lo) ^ (lo > hi)",
        "assert ~(lo > hi)",
        "assert max(hi > lo, lo > hi)",
        "assert sum([hi > lo, lo > hi]) == 1",
    ],
)
def test_an_operator_that_findings_do_not_have_says_what_to_write(project, line):
    text = run(project, line).stdout.str()
    assert "findings have no other operators than `&`: write either(a > b, c > d)" in text
    assert "1 failed" in text


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("assert hi > lo", "reproduced"),
        ("assert hi > lo; assert lo > hi", "refuted"),
        ("assert hi > lo or lo > hi", "reproduced"),
        ("assert (hi > lo) & (hi > 0)", "reproduced"),
        ("assert (hi > lo) & (lo > hi)", "refuted"),
        ("assert either(lo > hi, hi > lo)", "reproduced"),
        ("assert either(lo > hi, hi < lo)", "refuted"),
        ("trials.require(hi > lo, 'a rise'); assert hi > 0", "reproduced"),
        ("assert either(lo > hi, hi > lo) & (hi > 0)", "reproduced"),
        ("assert either(lo > hi, hi > lo) & (lo > hi)", "refuted"),
        ("assert conjunction(hi > lo, hi > 0)", "reproduced"),
        ("assert conjunction(hi > lo, lo > hi)", "refuted"),
        ("assert conjunction(lo > hi, hi < lo)", "refuted"),
        ("assert conjunction(either(lo > hi, hi > lo), hi > 0)", "reproduced"),
        ("assert all(a > b for a, b in [(hi, lo), (lo, hi), (hi, lo)])", "refuted"),
    ],
)
def test_what_agrees_with_the_findings_is_a_verdict(project, line, verdict):
    text = run(project, line).stdout.str()
    assert "Assert each finding" not in text
    assert re.search(rf"{verdict.upper()} +900/it", text)
