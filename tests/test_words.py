"""Every word of a claim, as docs/words.md lists them, has an example, and the example runs.

The examples of some rooms run as well.
"""

import doctest
import importlib
import inspect
import pkgutil
import re
import zipfile

import pytest

from tests.example_arms import FIXTURES, PAGE, scope

MARK = re.compile(
    r"^<!-- (words|class|function) of (\S+):(\w+)(?: only ([\w ]+))?: begin -->$", re.M
)


def entries():
    """Yield the name and the docstring of all that the page lists, as scripts/reference does."""
    for kind, module, name, only in MARK.findall(PAGE):
        value = getattr(importlib.import_module(module), name)
        yield f"{module}:{name}", inspect.getdoc(value)
        for word, method in vars(value).items() if kind == "words" else ():
            is_wanted = word in only.split() if only else not word.startswith("_")
            function = getattr(method, "fget", method)
            if is_wanted and inspect.isfunction(function) and inspect.getdoc(function):
                yield f"{module}:{name}.{word}", inspect.getdoc(function)


ENTRIES = dict(entries())


def failures(text, names):
    """Run the examples of a text, and the tests that they define; return what was wrong."""
    test = doctest.DocTestParser().get_doctest(text, names, "an example", None, None)
    said = []
    result = doctest.DocTestRunner().run(test, out=said.append, clear_globs=False)
    for name, function in test.globs.items():
        if name.startswith("test_"):
            function(*(FIXTURES[each]() for each in inspect.signature(function).parameters))
    return "".join(said) if result.failed else ""


def test_the_page_lists_what_there_is():
    assert len(ENTRIES) > 70
    assert "repro.judge:Measured.is_at_most_times" in ENTRIES


def test_every_word_has_an_example_that_runs():
    wrong = {}
    for name, text in ENTRIES.items():
        examples = doctest.DocTestParser().get_examples(text)
        if not examples or any(doctest.SKIP in each.options for each in examples):
            wrong[name] = "it has no example that runs"
        elif said := failures(text, scope()):
            wrong[name] = said
    assert wrong == {}


ROOMS = [
    *(
        *(f"commands.{x}" for x in ("answers", "decide", "judge", "sentence", "table")),
        "recorded.deciding",
        "code.units",
        "document",
        "files",
        "recipe",
        "recorded.rows",
        "recorded.runs",
    ),
    *("runs.profiles", "runs.provenance", "store"),
]
LARGE = [pytest.param(room, marks=pytest.mark.thorough) for room in ("data", "judge")]
"""Rooms, and modules of others, of which all examples can be run as they stand."""


@pytest.mark.parametrize("room", ROOMS + LARGE)
def test_the_examples_of_a_room_run(room, tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    (tmp_path / "five.txt").write_text("words")
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.writestr("in/a/folder/five.txt", "words")
    names = {**scope(), "folder": tmp_path}
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    module = importlib.import_module(f"repro.{room}")
    inner = pkgutil.walk_packages(getattr(module, "__path__", []), f"{module.__name__}.")
    run = {
        each.__name__: doctest.testmod(each, extraglobs=dict(names), optionflags=options)
        for each in [module, *(importlib.import_module(x.name) for x in inner)]
    }
    assert sum(result.attempted for result in run.values()) > 0
    assert [name for name, result in run.items() if result.failed] == []
