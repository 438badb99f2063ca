"""`--report` of a whole session: the page has claims that workers judged, with their runs."""

import json

import jsonschema
import pytest

import repro
from repro.store import Store
from tests.plugin.sessions import change, run

FIGURE = """
from repro.marks import figure

@figure("Slopes", source="900, Figure 1", x="target", y="slope")
def test_slopes(plot):
    lines = [Line(target=target) for target in (1.0, 4.0)]
    plot.panel("all").line("line", lines, at=[1, 4], documented=[1.0, 4.0])
"""


@pytest.mark.thorough
def test_a_report_of_two_workers(project):
    claims = project.path / "test_lines.py"
    change(project, "epochs=1", "epochs=3")
    claims.write_text('"""How steep lines are."""\n' + claims.read_text() + FIGURE)
    result = project.runpytest_subprocess("-n", "2", "--report", "report", "-p", "no:cacheprovider")
    folder = project.path / "report"
    result.stdout.fnmatch_lines([f"the report is {folder.name}/index.html"])

    results = json.loads((folder / "results.json").read_text())
    schema = json.loads((folder / "results.schema.json").read_text())
    jsonschema.validate(results, schema)
    assert results["session"]["version"] == repro.__version__
    steeper = next(c for c in results["claims"] if c["claim"] == "900/steeper[1.0]")
    (finding,) = steeper["findings"]
    (effect,) = finding["effects"]
    assert len(effect["per_seed"]) == effect["seeds"] == 5
    assert (steeper["about"], steeper["metrics"]) == ("How steep lines are.", ["slope"])
    keys = [key for arm in results["arms"].values() for key in arm["keys"]]
    store = Store(project.path / "store")
    assert len(keys) >= 20
    assert all(store.at(key) for key in keys)

    page = (folder / "index.html").read_text()
    assert page.count("<symbol") == 2  # the curves of two pairs of arms, one of them in two claims
    assert page.count("4 claims") or page.count("claims were trained")
    assert "Slopes" in page
    assert (folder / "slopes.svg").exists()
    summary = (folder / "summary.md").read_text()
    assert "| `900/flatter` | new | refuted |" in summary


@pytest.mark.parametrize("options", [(), ("--report", "report")])
def test_what_only_a_report_shows_is_told_only_where_one_is_written(project, options):
    reports = run(project, *options).reprec.getreports("pytest_runtest_logreport")
    told = [dict(report.user_properties).get("repro.record") for report in reports]
    judged = [json.loads(text) for text in told if text]
    assert {claim["record"]["verdict"] for claim in judged} == {"reproduced", "refuted", "not run"}
    has_details = [bool(c["arms"] and c["record"]["findings"]) for c in judged]
    assert any(has_details) == bool(options)
    assert all(claim["record"]["text"] and "metrics" in claim["record"] for claim in judged)
