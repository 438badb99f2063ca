"""README and docs are plain: no headless sentences, none of some words, and short sentences."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
AVERAGE = 30
"""The words that the sentences of a page may have in the mean."""

HEADLESS = re.compile(r"(?:What|Whatever|Who|Whoever)\b(?! (?:is|are|was|were)\b.*\?).*[^?]$")
"""A sentence whose subject is a clause, such as `What is refuted there is refuted there.`"""

AVOIDED = re.compile(
    r"\b(?:simply|obviously|clearly shows|of course|leverag\w+|utili[sz]\w+|facilitat\w+"
    r"|in order to|please note|needless to say|as such|thereof|therein|wherein|aforementioned"
    r"|state-of-the-art|seamless\w*|robustly|powerful|cutting-edge|delve\w*)\b",
    re.IGNORECASE,
)


def sentences_of(text):
    """Return the sentences of a page; code, tables, headings and addresses are none."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(?:\||#).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"[*_]{1,2}(\S[^*_]*)[*_]{1,2}", r"\1", text)
    blocks = re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.)\s+", text, flags=re.MULTILINE)
    found = []
    for block in blocks:
        joined = " ".join(block.split())
        found += [s for s in re.split(r"(?<=[.?!])\)? (?=[A-Z(“])", joined) if s]
    return found


def headless(text):
    return [s for s in sentences_of(text) if HEADLESS.match(s)]


def test_sentences_are_told_from_code_and_tables():
    text = "# What\n\nOne `a. B`. Two, [a link](x.md). Three?\n\n- Four\n| What | is |\n"
    text += "```\nWhat.\n```\n"
    assert sentences_of(text) == ["One code.", "Two, a link.", "Three?", "Four"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What is refuted there is refuted there.", 1),
        ("Whoever has the file can judge.", 1),
        ("What is a run? It is an arm and a seed.", 0),
        ("It says what was measured.", 0),
    ],
)
def test_headless_sentences_are_found(text, found):
    assert len(headless(text)) == found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_sentences_have_a_head(page):
    assert headless(page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_sentences_are_short_in_the_mean(page):
    sentences = sentences_of(page.read_text())
    assert sum(len(s.split()) for s in sentences) / len(sentences) < AVERAGE


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_words_are_plain(page):
    assert [s for s in sentences_of(page.read_text()) if AVOIDED.search(s)] == []
