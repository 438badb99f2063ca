"""What a claim's decorator may say, and how a claim is called."""

import inspect

import pytest

from repro import claim
from repro.marks import figure
from repro.plugin.claims import (
    BadClaim,
    cases_alike,
    claim_id,
    mark_of,
    namesakes,
    with_other_fixtures,
)
from repro.plugin.plugin import MARKERS

HEAD = """
import pytest
from repro import claim
from line import Line

class Same(Line):
    label = "same"

class Turned(Line):
    label = "turned \u202e"
"""

BAD = {
    '@claim("it", source="900", documented=float("nan"))': "documented is nan; write it as text",
    '@claim("", source="900")': "no sentence or no source",
    '@claim(3, source="900")': "sentence is 3; write it as text",
    "@pytest.mark.claim": "decorator cannot be read",
    '@pytest.mark.claim("it", source="900", more=1)': "decorator cannot be read",
    '@claim("half \\ud83d", source="900")': "which is no Unicode text",
    '@claim("it", source="900", kind="sauce")': "kind is 'sauce'; write kind= one of 'source', 'r",
    '@claim("it", source="900", only_at="papr")': "only_at is 'papr', which is no profile",
    **{
        f'@claim("it", source="900", looks={looks})': "write growing numbers of seeds"
        for looks in ("(8, 5)", "(1, 5)", "(5, 5)", "()", "5", "[5, 8]", "(5.0,)", "(5, 10**9)")
    },
    '@claim("it", source="900", after=-1)': "write a number of seeds: after=20",
    '@claim("it", source="900", looks={"papr": (3, 5)})': "looks for 'papr', which is no profile",
    **{
        f'@claim("it", source="900", documented="{braces}")': "cannot be filled in"
        for braces in ("{slop}", "{}", "{", "{slope:x}", "{slope.of}", "{slope[0]}")
    },
}


def claims_of(project, text):
    return project.getitems(HEAD + text)


def test_a_mark_that_cannot_be_meant_is_refused_in_a_sentence(outside_project):
    tests = [f"{mark}\ndef test_it{n}(trials): pass\n" for n, mark in enumerate(BAD)]
    wrong = {}
    for item, (mark, sentence) in zip(
        claims_of(outside_project, "\n".join(tests)), BAD.items(), strict=True
    ):
        try:
            wrong[mark] = str(mark_of(item))
        except BadClaim as refused:
            if sentence not in str(refused):
                wrong[mark] = str(refused)
    assert wrong == {}


NAMED = """
@claim("x", source="Smith, 2023, Table 1")
def test_it(trials): pass

@claim("x", source="Smith, 2024, Table 1", documented="{name}: {perplexity:.2f} {{sic}}")
@pytest.mark.parametrize(("name", "perplexity"), [("a", 22.4)])
def test_it_2(document, name, perplexity): pass

@claim("x", source="900")
@pytest.mark.parametrize("arm", [Line(target=2.0), Line(target=3.0), Turned()])
def test_arms(trials, arm): pass
"""


def test_a_claim_is_called_by_its_source_its_test_and_its_arms(outside_project):
    items = claims_of(outside_project, NAMED)
    names = [claim_id(item) for item in items]
    assert names == [
        *("Smith, 2023/it", "Smith, 2024/it_2[a-22.4]"),
        *("900/arms[line target 2.0]", "900/arms[line target 3.0]"),
        "900/arms[turned \\u202e]",
    ]
    assert mark_of(items[1]).documented == "a: 22.40 {sic}"
    items[0].add_marker(pytest.mark.claim("y", source="902, Figure 3"), append=False)
    assert claim_id(items[0]) == "902/it"  # as a conftest file may have it


ALIKE = """
class TestOne:
    @claim("x", source="900")
    def test_it(self, trials): pass

class TestOther:
    @claim("x", source="900")
    def test_it(self, trials): pass

@claim("x", source="900")
@pytest.mark.parametrize("arm", [Same(target=2.0), Same(target=1.0)])
def test_arms(trials, arm): pass

@claim("x", source="900")
def test_alone(trials): pass
"""

HIDES = """
@claim("x", source="900")
def test_merged(trials): pass

class TestMerged:
    @claim("x", source="901")
    def test_merged(self, trials): pass

    @pytest.mark.parametrize("arm", [1])
    @claim("x", source="901")
    def test_merged(self, trials, arm): pass

@pytest.mark.parametrize("arm", [1, 2])
@claim("x", source="900")
def test_merged(trials, arm): pass

for n in (1, 2):
    @claim("x", source="902")
    def test_of_a_loop(trials): pass

    globals()[f"test_of_a_loop_{n}"] = test_of_a_loop

def test_twice(trials): pass

test_twice = claim("x", source="903")(claim("y", source="903")(test_twice))
"""


def test_claims_of_one_name_and_arms_of_one_label_are_refused(outside_project):
    items = claims_of(outside_project, ALIKE)
    same, arms = namesakes(items), cases_alike(items)
    assert list(same) == items[:2]
    assert all("Two claims are called 900/it: " in why for why in same.values())
    assert list(arms) == items[2:4]
    assert all("Two arms of test_arms are called 'same'" in why for why in arms.values())


def test_a_claim_that_hides_another_one_of_its_file_is_refused(outside_project):
    """As where a merge keeps two tests of one name: Python keeps the second, on other arms."""
    hiding = namesakes(claims_of(outside_project, HIDES))
    names = [item.nodeid.partition("::")[2] for item in hiding]
    assert names == ["test_merged[1]", "test_merged[2]", "TestMerged::test_merged[1]"]
    lines = next(iter(hiding)).path.read_text().splitlines()
    of_file = lines.index("def test_merged(trials): pass")  # its decorator's line, from 1
    of_class = lines.index("    def test_merged(self, trials): pass")
    said = "are called test_merged, and this one hides that of line"
    for why, line in zip(hiding.values(), (of_file, of_file, of_class), strict=True):
        assert f"{said} {line}: rename one of them." in why


OWN = """
@pytest.fixture
def trials(): return 29

@claim("x", source="900")
def test_own(trials): pass

@claim("x", source="900")
@pytest.mark.parametrize("document", [1])
def test_parameter(document): pass

@claim("x", source="900")
def test_ours(document): pass
"""


def test_claims_that_get_a_fixture_of_the_project_in_place_of_ours_are_refused(outside_project):
    items = claims_of(outside_project, OWN)
    own, parameter = with_other_fixtures(items).items()
    assert [own[0], parameter[0]] == items[:2]
    assert own[1].startswith("test_own is a claim, and its `trials` is not the fixture of repro")
    assert "its `document` is not the fixture of repro" in parameter[1]


@pytest.mark.parametrize("function", [claim, figure])
def test_pytest_tells_of_every_word_of_a_marker(function):
    [line] = [each for each in MARKERS if each.startswith(f"{function.__name__}(")]
    given = line[: line.index(")")].partition("(")[2].replace(" ", "").split(",")
    words = [part.split("=")[0] for part in given if part != "*"]
    assert words == list(inspect.signature(function).parameters)
