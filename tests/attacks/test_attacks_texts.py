"""Hostile texts: nothing that is shown steers a terminal, forges a line, computes or injects."""

import csv
import io
import json
import re
import sys
import tempfile
import unicodedata
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from repro.__main__ import main
from repro.arm import Run
from repro.judge import Outcome
from repro.ledger import Entry, Ledger
from repro.own.arm import OutsideArm
from repro.report import svg
from repro.report.curves import LONGEST_NAME, write_figure
from repro.report.ending import summary, verdict_table
from repro.report.lines import ClaimLine, counted_line, progress_line, verdict_line
from repro.report.page import render
from repro.report.plan_text import plan_text
from repro.report.records import ArmData, JudgedClaim, from_json
from repro.report.results_file import ResultsDocument, results_of
from repro.report.stored_runs import ArmRuns
from repro.report.write import CLAIM_COLUMNS, write_data, write_results
from repro.runs.profiles import profile_named
from repro.runs.time_left import Status
from repro.text import HIDDEN, LONGEST, shown
from scripts.plain_markdown import as_code, as_text
from tests.attacks.strategies import FORMULAS, MARKUP, SETTINGS, STEERING, TEXTS, is_calm
from tests.report.records import depth_ladder, record
from tests.report.test_report_page import Reader

PIECES = [*STEERING, *MARKUP, *FORMULAS]
LONG = 10_000_000


def each_piece(test):
    """Run a property on every piece by itself too."""
    for piece in PIECES:
        test = example(f"a{piece}b {piece}")(test)
    return pytest.mark.thorough(settings(max_examples=25)(test))  # docs/reliability.md counts them


def claims_of(words):
    """One claim of each verdict, with these words wherever somebody chooses them."""
    chosen = dict.fromkeys(
        ("sentence", "about", "documented", "data", "measured", "text", "file", "command"), words
    )
    return [
        record(f"004/{place}{words}", verdict, source=f"004 {words}, 1", change=words, **chosen)
        for place, verdict in enumerate(Outcome)
    ]


def documents_of(words):
    return results_of([JudgedClaim(record=each, arms={}) for each in claims_of(words)], [])


@pytest.mark.thorough
def test_every_character_that_steers_or_hides_is_written_out():
    for first in range(0, sys.maxunicode + 1, 256):
        characters = [chr(code) for code in range(first, first + 256)]
        assert is_calm(shown("".join(characters))), hex(first)
        calm = "".join(c for c in characters if is_calm(c) and unicodedata.category(c) != "Cn")
        assert shown(calm) == calm  # others may be of no meaning yet


def test_a_text_of_ten_megabytes_is_cut():
    for piece in ("x", "\n", "\x1b", "\ud800"):
        cut = shown(piece * LONG)
        assert len(cut) <= 6 * LONGEST + 10
        assert cut.endswith("… (cut)")
    assert shown("x" * LONGEST) == "x" * LONGEST


def test_every_piece_is_shown_on_one_calm_line():
    """A few quick ones; the thorough tests draw more, for every place where a text is shown."""
    assert [piece for piece in PIECES if not is_calm(shown(f"a{piece}b {piece}"))] == []
    everything = " ".join(PIECES)
    assert all(map(is_calm, summary(documents_of(everything)).split("\n")))
    assert all(is_calm(line) for line, _ in verdict_table(claims_of(everything)))


@each_piece
@given(TEXTS)
def test_the_table_has_one_verdict_a_claim(words):
    lines = verdict_table(claims_of(words))
    heads = [line for line, _ in lines if not line.startswith(" " * 13)]
    assert [verdict for _, verdict in lines if verdict is not None] == list(Outcome)
    assert len(heads) == len(Outcome)
    for head, verdict in zip(heads, Outcome, strict=True):
        assert head.startswith(f"{verdict.upper():13}004/")
    assert all(is_calm(line) for line, _ in lines)


def test_a_sentence_of_several_lines_stays_readable():
    lines = [line for line, _ in verdict_table([record(sentence="rises\nand\tfalls\r\nagain")])]
    assert "             “rises and falls again”" in lines


@dataclass(frozen=True, kw_only=True)
class Labelled(OutsideArm):
    study: ClassVar[str] = "none"
    text: str

    @property
    def label(self):
        return self.text


def planned(arm):
    return plan_text(1, 1, [Run(arm, 1)], profile_named("ci", budget=None))


@each_piece
@given(TEXTS)
def test_the_lines_of_a_session_are_lines(words):
    status = Status(claims=1, open=1, requested=1, missing=1, under_way=words)
    assert is_calm(progress_line(status, {}, width=10_000))
    settled = ClaimLine(name=words, verdict="refuted", measured=words, change=words)
    assert is_calm(verdict_line(settled, width=10_000))
    assert is_calm(counted_line([settled]))
    text, calm = (planned(Labelled(data="none", text=each)) for each in (words, "x"))
    assert text.count("\n") == calm.count("\n")
    assert all(is_calm(line) for line in text.split("\n"))


@each_piece
@given(TEXTS)
def test_the_summary_has_its_own_markup_alone(words):
    """What somebody chose stands in indented code, which nothing in it can end."""
    text, calm = (
        summary(ResultsDocument(claims=claims_of(each), arms={}, figures=[]))
        for each in (words, "calm")
    )
    assert is_calm(text.replace("\n", ""))
    own, calm_own = (
        [line for line in each.split("\n") if line and not line.startswith("    ")]
        for each in (text, calm)
    )
    assert own == calm_own


@each_piece
@given(TEXTS)
def test_the_pages_of_findings_show_words_as_words(words):
    text = as_text(words)
    assert is_calm(text.replace("\u200b", ""))
    for active in (r"<", r"@\w", r"(?<!\\)[\]\[*_~`$|]", r"://", r"www\.", r"#\d", r"\bGH-\d"):
        assert not re.search(active, text), active
    assert as_code(words).count("`") == 2


@each_piece
@given(TEXTS)
def test_what_is_written_for_programs_is_whole_and_calm(words):
    results = documents_of(words)
    with tempfile.TemporaryDirectory() as name:
        write_results(Path(name), results)
        raw = (Path(name) / "results.json").read_text(encoding="utf-8")
        table = (Path(name) / "claims.csv").read_text(encoding="utf-8")
    assert is_calm(raw.replace("\n", ""))
    if "\ud83d\udfff" not in words:  # two halves that follow each other are one in JSON
        assert from_json(ResultsDocument, json.loads(raw)) == results
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) == len(Outcome)
    for row in rows:
        assert set(row) == set(CLAIM_COLUMNS)
        for name in ("sentence", "documented", "measured", "change", "data", "command"):
            assert is_calm(row[name])
            assert not row[name].strip().startswith(("=", "+", "-", "@", "＝"))


@pytest.mark.thorough
def test_a_sentence_of_ten_megabytes_is_whole_in_the_results_alone(tmp_path):
    results = documents_of("a sentence of ten megabytes")
    results.claims[0] = replace(results.claims[0], sentence="x" * LONG)
    write_data(tmp_path, results)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sizes.pop("results.json") > LONG
    assert max(sizes.values()) < 100_000
    assert len(render(results, {})) < 200_000
    assert sum(len(line) for line, _ in verdict_table(results.claims)) < 20_000


def page_of_arms(every):
    """A page of one claim whose arms have these settings."""
    made = [ArmData(label="arm", study="s", settings=each, seeds=[1], keys=[]) for each in every]
    arms = {str(place): arm for place, arm in enumerate(made)}
    claim = JudgedClaim(record=record(arms={key: [1] for key in arms}), arms=arms)
    return render(results_of([claim], []), dict.fromkeys(arms, ArmRuns()))


@pytest.mark.thorough
@settings(max_examples=25)  # as docs/reliability.md says
@example([{"a": [{"b": [None, {}]}]}, {}])
@given(st.lists(SETTINGS, min_size=1, max_size=2))
def test_settings_of_any_form_are_shown(every):
    page = page_of_arms(every)
    assert not HIDDEN.search(page)
    calm = Reader(page_of_arms([{"a": 1, "b": 2}, {"a": 2, "b": 2}]))
    assert set(Reader(page).elements) <= set(calm.elements)


@each_piece
@given(TEXTS)
def test_the_words_of_a_plot_are_words(words):
    drawn = svg.text(0, 0, words) + svg.PagePlot(words, 1, 1, "").__html__()
    root = ET.fromstring(f"<x>{drawn}</x>")
    assert [each.tag for each in root.iter()] == ["x", "text", "svg"]
    assert is_calm(drawn)


@pytest.mark.thorough
@pytest.mark.parametrize("words", ["".join(STEERING), "".join(MARKUP), "\x1b" * 300 + "--><x>"])
def test_a_figure_is_drawn_into_its_folder(words, tmp_path):
    figure = depth_ladder()
    [panel] = figure.panels
    lines = [replace(line, label=words) for line in panel.lines]
    (tmp_path / "report").mkdir()
    path = write_figure(
        replace(figure, name=f"../{words}", title=words, source=words, x=words, y=words,
                data=[words], panels=[replace(panel, title=words, lines=lines)]),
        tmp_path / "report",
    )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
    assert len(path.stem) <= LONGEST_NAME + 9
    assert is_calm(path.read_text(encoding="utf-8").replace("\n", ""))
    ET.parse(path)


@each_piece
@given(TEXTS)
def test_a_ledger_is_calm_and_reads_as_it_was_written(words):
    words = re.sub("[\ud800-\udfff]", "?", words)  # refused in a sentence
    entry = Entry(words, "ci", "data", "refuted", words, words, words, machine=words)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.toml"
        Ledger(path, []).accept([entry])
        assert is_calm(path.read_text(encoding="utf-8").replace("\n", ""))
        [read] = Ledger.read(path).entries.values()
    assert vars(read) == vars(entry)


def test_the_commands_write_calm_lines(tmp_path, monkeypatch, capsys):
    piece = "".join(p for p in STEERING if p.isascii() and not {"\0", "/"} & {*p})
    folder = tmp_path / f"data{piece}\udcff"  # a byte that is no UTF-8
    folder.mkdir()
    monkeypatch.setenv("REPRO_DATA", str(folder))
    assert main(["data"]) == 0
    assert all(is_calm(line) for line in capsys.readouterr().out.split("\n"))
    monkeypatch.setenv("REPRO_DATA", str(folder / "none"))
    for asked in (["data"], ["data", "fetch", piece], ["evidence", "add", f"{folder}/none"]):
        assert main(asked) == 1
        assert is_calm(capsys.readouterr().err.rstrip("\n"))
