"""Traces against the code of today: where modules are found, and what a process has changed."""

import sys
from importlib import import_module

import pytest

from repro.code.trace import Today, _Texts, counted, joined
from repro.code.units import parse

EARLIER = {
    "old_toy.Net": "be13a8a73a909aec",
    "old_toy.Net.forward": "88d34d221e693590",
    "old_toy.RATE": "428bfcf0241e8ff1",
    "old_toy.train": "d6b9861ce53e0645",
}
"""The digests of this module's definitions, by the version before traces."""
OLD_TOY = '''"""Doc."""
RATE = 0.1


class Net:
    """Doc."""

    def forward(self, x: int):
        if x < 0:
            raise ValueError(f"{x} is negative")
        return x * RATE


def train(arm, seed):
    return Net().forward(seed)
'''
TOY = """
from functools import wraps

RATE, FLAG = 0.1, True
SIZE = 3
COUNT = 0

def count():
    global COUNT
    COUNT += 1

def help():
    return 1

def wrapped(function):
    @wraps(function)
    def inner():
        return function()
    return inner

@wrapped
def decorated():
    return 1

class Net:
    depth = 4

    def forward(self):
        return self.depth

    def grow(self):
        self.SIZE = 5

STEP = 1
STEP += 1

def widened(cls):
    cls.width = 9
    return cls

@widened
class Wide:
    width = 1
"""


@pytest.fixture
def today(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "old_toy.py").write_text(OLD_TOY)
    (tmp_path / "a_toy.py").write_text(TOY)
    yield Today(tmp_path)
    sys.modules.pop("a_toy", None)


def test_definitions_of_an_earlier_version_hold_until_they_are_edited(today, tmp_path):
    assert today.changes({"definitions": EARLIER}, digest="1") == []
    (tmp_path / "old_toy.py").write_text(OLD_TOY.replace("x * RATE", "x + RATE"))
    edited = Today(tmp_path).changes({"definitions": {**EARLIER, "old_toy.gone": "1"}}, digest="1")
    assert edited == ["old_toy.Net.forward", "old_toy.gone"]


PATCHES = [
    (lambda toy, set_: set_(toy, "help", lambda: 2), "a_toy.help is another function here"),
    (lambda toy, set_: set_(toy.Net, "forward", lambda self: 2), "a_toy.Net.forward is another"),
    (lambda toy, set_: set_(toy, "SIZE", 4), "a_toy.SIZE is 4 here"),
    (lambda toy, set_: set_(toy, "SIZE", 3.0), "a_toy.SIZE is 3.0 here"),
    (lambda toy, set_: set_(toy.Net, "depth", None), "a_toy.Net.depth is None here"),
    (lambda toy, set_: set_(toy, "count", len), ""),  # which did not run
    (lambda toy, set_: toy.count(), ""),  # as the code itself does
    (lambda toy, set_: None, ""),
]


@pytest.mark.parametrize(("patch", "said"), PATCHES)
def test_what_this_process_has_changed_is_named(today, monkeypatch, patch, said):
    sources, ran = {"a_toy": parse(TOY)}, ["help", "decorated", "Net.forward"]
    trace = {"modules": counted(sources, {"a_toy": ran}, [])}
    assert today.patched(trace) == ""  # it is not imported
    patch(import_module("a_toy"), monkeypatch.setattr)
    found = Today(today.project).patched(trace)
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_a_module_is_found_without_being_imported(today, tmp_path):
    for name in ("space/part.py", "pack/__init__.py", "pack/inner.py", "plain.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1 / 0")
    for name, file in (
        ("plain", "plain.py"),
        ("pack", "pack/__init__.py"),
        ("pack.inner", "pack/inner.py"),
        ("space", "space"),
        ("space.part", "space/part.py"),
    ):
        assert today.file_of(name) == str(tmp_path / file)
    for missing in ("no_such", "plain.inner", "pack.no_such", "sys", ""):
        assert today.file_of(missing) == ""


def test_the_names_of_files_are_those_of_any_checkout(today, tmp_path):
    for path, name in (
        (str(tmp_path / "a/b.csv"), "project:a/b.csv"),
        (Today("/").placed("fixtures:names.txt"), "fixtures:names.txt"),
        ("/data/x.csv", "/data/x.csv"),
    ):
        assert today.name_of(path) == name
        assert today.placed(name) == path


def test_a_joined_trace_holds_while_both_do(today):
    small = {"arms": ["x"], "modules": {"a_toy": {"f": "1"}}, "missing": ["no_such"]}
    large = {"arms": ["x"], "modules": {"a_toy": {"f": "1", "g": "2"}}, "missing": ["no_such"]}
    assert joined(small, large) == joined(large, small) == large
    others = [
        {**large, "arms": ["y"]},  # fields of other classes count
        {**large, "modules": {"a_toy": {"f": "3"}}},
        {**large, "salt": "s", "variables": {"A": "1"}},
    ]
    for other in others:
        both = joined(small, joined(other, large))
        assert both == joined(large, joined(small, other))
        assert sorted(map(repr, both["parts"])) == sorted(map(repr, [large, other]))
    holds, gone = {"missing": ["no_such"]}, {"missing": ["json"]}
    assert today.changes(joined(holds, {"arms": ["x"]}), digest="1") == []
    assert today.changes(joined(gone, {"arms": ["x"]}), digest="2") == [
        "json, which was not there,"
    ]


def test_a_module_that_was_read_twice_with_an_edit_between_is_known(today, tmp_path):
    texts, file = _Texts(today._places or sys.path), str(tmp_path / "other.py")
    for text in (b"X = 1\n", b"X = 1\n", b"X = 2\n"):
        assert not texts.twice
        key = texts.add("other", file, text)
    assert texts.twice == {key}


ARM = """
from dataclasses import InitVar
from typing import ClassVar as Fixed

class A:
    metrics = {"loss": 1}
    rate: int = 2
    size: Fixed[int] = 3
    seen: InitVar[int] = 4

def train(arm):
    return arm.rate
"""


def test_of_an_arm_its_settings_count_by_value_and_its_metrics_where_training_reads_them():
    for text, of_metrics in ((ARM, set()), (ARM.replace("arm.rate", "arm.metrics"), {"A.metrics"})):
        found = counted({"a": parse(text)}, {"a": ["train"]}, ["a.A"])["a"]
        members = {name for name in found if name.startswith("A.")}
        assert members == {"A.size", "A.seen"} | of_metrics


def test_the_names_that_the_code_of_a_trace_knows(today):
    trace = {"modules": {"a_toy": {"Net.forward()": "1", "SIZE": "1"}}}
    assert today.mentioned(trace, {"depth", "RATE", "gone"}) == ["depth"]
