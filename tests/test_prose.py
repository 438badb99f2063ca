"""README, docs and help texts are plain: no headless sentences, plain words, short sentences."""

import argparse
import re
from pathlib import Path

import pytest

from repro.__main__ import command_line
from repro.help_texts import COMMANDS
from repro.plugin.command_line import OPTIONS
from tests.test_words import ENTRIES

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    ROOT / "benchmarks" / "NOTES.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
AVERAGE = 20
"""The words that the sentences of a page may have in the mean."""

LONGEST = 40
"""The words that a sentence may have."""

LONGEST_HELP = 20
"""The words that the help of an option or a command may have in its list."""

HEADLESS = re.compile(
    r"(?:What|Whatever|Who|Whoever|Whichever)\b(?! (?:is|are|was|were)\b.*\?).*[^?]$"
    r"|(?:That (?:an?|the|all|no|its|two|one|arms|seeds|runs)|Whether|How (?:much|many|often))\b"
    r"[^,]*\b(?:is|are|was|were|says|stays|depends)\b[^,]*\.$"
)
"""A sentence whose subject is a clause, such as `What is refuted there is refuted there.`"""

INVERTED = re.compile(
    r"(?:Nor|Neither (?:do|does|is|are|did|was|were|can|has|have)|Never (?:is|are|does|do)"
    r"|Not only|Only then|Hence|Thus|So (?:is|are|do|does|did|was|were|has|have|can))\b"
)
"""A sentence whose verb comes before its subject, such as `Nor does it warn.`"""

AVOIDED = re.compile(
    r"\b(?:simply|obviously|clearly shows|of course|leverag\w+|utili[sz]\w+|facilitat\w+"
    r"|in order to|please note|needless to say|as such|thereof|therein|wherein|aforementioned"
    r"|whereby|hereby|herein|hitherto|inasmuch|albeit|notwithstanding|heretofore"
    r"|state-of-the-art|seamless\w*|robustly|powerful|cutting-edge|delve\w*)\b",
    re.IGNORECASE,
)


def sentences_of(text):
    """Return the sentences of a page; code, tables, headings and addresses are none."""
    text = re.sub(r"^ *```.*?^ *```|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(?:\||#).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\*\*\w[\w ]*\*\* \[.*$", "", text, flags=re.MULTILINE)  # a list of links
    text = re.sub(r"`[^`]*`", "Code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"[*_]{1,2}(\S[^*_]*)[*_]{1,2}", r"\1", text)
    blocks = re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.)\s+", text, flags=re.MULTILINE)
    found = []
    for block in blocks:
        joined = " ".join(block.split())
        found += [s for s in re.split(r"(?<=[.?!])[)”]? (?=[A-Z(“]|repro\b|torch\b)", joined) if s]
    return found


def helps():
    """Yield every text of a help: of pytest's options, and of all commands and their options."""
    yield from ((f"--{name}", how["help"]) for name, how in OPTIONS.items())
    yield from ((name, description) for name, (description, _) in COMMANDS.items())
    waiting = [("", command_line())]
    while waiting:
        name, parser = waiting.pop()
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from ((f"{name} {each.dest}", each.help) for each in action._choices_actions)
                waiting += [(f"{name} {each}", of_it) for each, of_it in action.choices.items()]
            elif action.help:
                yield f"{name} {action.dest}", action.help


HELPS = list(helps())
PROSE = {
    **{str(page.relative_to(ROOT)): page.read_text() for page in PAGES},
    "the docstrings of words": "\n\n".join(
        part
        for text in ENTRIES.values()
        for part in text.split("\n\n")
        if not part.lstrip().startswith(">>>")
    ),
    "descriptions of commands": "\n\n".join(description for description, _ in COMMANDS.values()),
}


def odd(text):
    """Return the sentences that are headless, inverted, too long, or not plain."""
    return [
        s
        for s in sentences_of(text)
        if HEADLESS.match(s) or INVERTED.match(s) or AVOIDED.search(s) or len(s.split()) > LONGEST
    ]


def test_sentences_are_told_from_code_and_tables():
    text = "# What\n\nOne `a. B`. Two, [a link](x.md). Three?\n\n- Four\n| What | is |\n"
    text += "```\nWhat.\n```\n"
    assert sentences_of(text) == ["One Code.", "Two, a link.", "Three?", "Four"]


@pytest.mark.parametrize(
    "text",
    [
        "What is refuted there is refuted there.",
        "Whoever has the file can judge.",
        "That arms are alike is no finding.",
        "Whether it holds is asked later.",
        "Nor does it warn.",
        "So are all others.",
        "We utilise it.",
        "It is " + "very " * LONGEST + "long.",
    ],
)
def test_odd_sentences_are_found(text):
    assert odd(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "What is a run? It is an arm and a seed.",
        "It says what was measured.",
        "That is the gate.",
        "So the claim is open.",
        "Whether it is so, the report says.",
    ],
)
def test_plain_sentences_are_none_of_them(text):
    assert odd(text) == []


@pytest.mark.parametrize("name", PROSE)
def test_sentences_are_plain(name):
    assert odd(PROSE[name]) == []


@pytest.mark.parametrize("name", PROSE)
def test_sentences_are_short_in_the_mean(name):
    sentences = sentences_of(PROSE[name])
    assert sum(len(s.split()) for s in sentences) / len(sentences) < AVERAGE


@pytest.mark.parametrize(("name", "text"), HELPS, ids=[name.strip() for name, _ in HELPS])
def test_helps_are_short_and_plain(name, text):
    is_description = name in COMMANDS
    assert is_description or max(len(part.split()) for part in text.split(";")) <= LONGEST_HELP
    assert odd(text[0].upper() + text[1:]) == []
