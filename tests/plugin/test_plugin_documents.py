"""Claims that a document alone decides: recorded, gated, the same at every profile, and light."""

import json
import tomllib

import pytest

CLAIMS = """
import sys
from repro import claim
from repro.document import percent_drop

@claim("46.9% better", source="900, Table", documented="46.9%")
def test_better(document):
    assert document("46.9%").agrees_with(percent_drop("34.86", "18.52"))

@claim("99.81% of 149", source="900, Table", documented="99.81%")
def test_share(document):
    assert document("99.81%").is_share_of(149)

def test_that_this_session_is_light():
    assert "torch" not in sys.modules
"""


@pytest.fixture
def documents(pytester, monkeypatch):
    """A claim that is consistent and one that is not."""
    pytester.makepyfile(test_documents=CLAIMS)
    monkeypatch.setenv("REPRO_STORE", str(pytester.path / "store"))
    return pytester


def run(project, *arguments):
    return project.runpytest_inprocess("-p", "no:cacheprovider", "-k", "not light", *arguments)


def test_a_contradiction_fails_and_shows_its_arithmetic(documents):
    result = run(documents)
    result.assert_outcomes(passed=1, failed=1, deselected=1)
    result.stdout.fnmatch_lines(
        [
            "claimed (900, Table): 99.81% of 149",
            "99.81% of 149 printed; nearest are 148 / 149 = 99.329% and 149 / 149 =*: impossible",
            "data: the document; profile: any; not in the ledger yet",
            'reproduce with: pytest "test_documents.py::test_share"',
        ]
    )


def test_the_ledger_gates_at_every_profile_alike(documents):
    run(documents, "--update-ledger").assert_outcomes(passed=1, xfailed=1, deselected=1)
    entries = tomllib.loads((documents.path / "ledger" / "test_documents.toml").read_text())[
        "claim"
    ]
    assert [(each["claim"], each["verdict"]) for each in entries] == [
        ("900/better", "reproduced"),
        ("900/share", "refuted"),
    ]
    assert {(each["profile"], each["data"]) for each in entries} == {("any", "the document")}
    accepted = run(documents, "--profile", "paper")
    accepted.assert_outcomes(passed=1, xfailed=1, deselected=1)

    claims = documents.path / "test_documents.py"
    claims.write_text(CLAIMS.replace('"34.86", "18.52"', '"34.86", "18.25"'))
    worse = run(documents)
    worse.assert_outcomes(failed=1, xfailed=1, deselected=1)
    worse.stdout.fnmatch_lines(["*worse (was reproduced)*", "*accepted in the ledger: reproduced*"])


def test_a_check_that_nobody_asserts_is_an_error(documents):
    claims = documents.path / "test_documents.py"
    claims.write_text(CLAIMS.replace("    assert document", "    document"))
    run(documents).assert_outcomes(failed=2, deselected=1)


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        ("(document): pass", "*passed without judging anything: assert what*"),
        ("(document, trials): pass", "*takes trials or document, not both: make two claims*"),
    ],
)
def test_a_claim_without_evidence_fails(documents, test, sentence):
    text = f'from repro import claim\n\n@claim("x", source="900")\ndef test_it{test}\n'
    (documents.path / "test_documents.py").write_text(text)
    result = run(documents)
    assert result.ret == 1
    result.stdout.fnmatch_lines([sentence])


def test_a_session_of_documents_plans_nothing_and_leaves_torch_alone(documents):
    result = documents.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=1)
    result = run(documents, "--plan")
    result.stdout.fnmatch_lines(["2 claims at profile ci, 0 distinct runs*"])


def test_a_case_says_the_number_that_is_documented_of_it(pytester, monkeypatch):
    pytester.makepyfile(
        test_cases="""
        import pytest
        from repro import claim

        @claim("as much", source="900", documented="{name}: {perplexity:.2f} {{sic}}")
        @pytest.mark.parametrize(("name", "perplexity"), [("a", 22.4), ("b", 22.95)])
        def test_as_much(document, name, perplexity):
            assert document("46.9%") < 1
        """
    )
    monkeypatch.setenv("REPRO_STORE", str(pytester.path / "store"))
    pytester.runpytest_inprocess("-p", "no:cacheprovider", "--report", "written")
    claims = json.loads((pytester.path / "written" / "results.json").read_text())["claims"]
    assert [each["documented"] for each in claims] == ["a: 22.40 {sic}", "b: 22.95 {sic}"]


MANY = """
import pytest
from repro import claim

@claim("{share} of 4", source="900, Table")
@pytest.mark.parametrize("share", ["25%", "30%", "50%", "60%", "75%", "100%"])
def test_share(document, share):
    assert document(share).is_share_of(4)
"""


def test_statements_that_hold_share_a_line_and_a_file_is_named_once(pytester, monkeypatch):
    monkeypatch.setenv("REPRO_STORE", str(pytester.path / "store"))
    pytester.makepyfile(test_many=MANY)
    shown = run(pytester).stdout.str()
    assert "reproduced    4 statements of documents that agree with themselves (900: 4)" in shown
    assert shown.count("statements of documents") == 1
    before = shown.partition("= FAILURES =")[0]
    assert before.count("test_many.py") == 1
    assert [line.split()[1] for line in before.split("\n") if line.startswith("refuted ")] == [
        "900/share[30%]",
        "900/share[60%]",
    ]
    assert "[100%]" in before
