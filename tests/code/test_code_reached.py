from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repro.store import code

SOURCES = {
    "toy/__init__.py": "raise RuntimeError('imported')",
    "toy/study.py": """
        '''What is studied.'''
        import json
        from toy.core import train  # a submodule
        from .sibling import CONSTANT

        def run(x):
            '''Run it.'''
            import toy.late
            return train.step(x) + toy.late.MORE
    """,
    "toy/sibling.py": "CONSTANT = 1",
    "toy/late.py": "from . import deeper\nimport toy.outer.inner\nMORE = 2",
    "toy/deeper.py": "VALUE = 3",
    "toy/core/__init__.py": "SETTING = 4",
    "toy/core/train.py": "from ..helpers import *\ndef step(x): return x",
    "toy/helpers.py": "HELP = 5",
    "toy/outer/__init__.py": "KEPT = 6",
    "toy/outer/inner.py": "",
    "toy/unreached.py": "OTHER = 7",
    "toy/space/part.py": "import toy.unreached",
}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    for name, text in SOURCES.items():
        write(name, text)
    return write


@pytest.fixture(autouse=True)
def _as_in_a_fresh_process() -> Iterator[None]:
    yield
    forget()


def forget() -> None:
    for cached in (code.source_fingerprint, code._read, code._source_file):
        cached.cache_clear()


def fingerprint(module: str = "toy.study") -> str:
    forget()
    return code.source_fingerprint(module)


def test_nothing_is_imported(write: Callable[[str, str], None]) -> None:
    fingerprint()
    assert not [name for name in sys.modules if name.partition(".")[0] == "toy"]


@pytest.mark.parametrize(
    "same",
    [
        """
        import json  # a comment
        from toy.core import train
        from .sibling import CONSTANT
        def run(x):
            import toy.late


            return (train.step(x)
                    + toy.late.MORE)
        """,
        """
        '''Another docstring.'''
        import json
        from toy.core import (
            train,
        )
        from .sibling import CONSTANT

        def run(x):
            '''Another one, of

            several lines.'''
            import toy.late
            return train.step(x) + toy.late.MORE
        """,
    ],
)
def test_prose_and_formatting_do_not_count(write: Callable[[str, str], None], same: str) -> None:
    before = fingerprint()
    write("toy/study.py", same)
    assert fingerprint() == before


def test_the_prose_of_attributes_does_not_count(write: Callable[[str, str], None]) -> None:
    write("toy/sibling.py", "class A:\n    x: int = 1\n    '''What x is.'''\nCONSTANT = 1")
    before = fingerprint()
    write("toy/sibling.py", "class A:\n    x: int = 1\n    '''Said better.'''\nCONSTANT = 1")
    assert fingerprint() == before


@pytest.mark.parametrize(
    "name",
    [
        "toy/__init__.py",
        "toy/study.py",
        "toy/sibling.py",
        "toy/late.py",
        "toy/deeper.py",
        "toy/core/__init__.py",
        "toy/core/train.py",
        "toy/helpers.py",
        "toy/outer/__init__.py",
        "toy/outer/inner.py",
    ],
)
def test_whatever_is_reached_counts(write: Callable[[str, str], None], name: str) -> None:
    before = fingerprint()
    write(name, textwrap.dedent(SOURCES[name]) + "\nNEW = 1")
    changed = fingerprint()
    assert changed != before
    write(name, textwrap.dedent(SOURCES[name]) + "\nNEW = 2")
    assert fingerprint() not in (before, changed)
    write(name, SOURCES[name])
    assert fingerprint() == before


def test_what_is_not_reached_does_not_count(write: Callable[[str, str], None]) -> None:
    before = fingerprint()
    write("toy/unreached.py", "OTHER = 8")
    write("toy/new.py", "")
    assert fingerprint() == before


def test_a_package_without_init_is_walked_through(write: Callable[[str, str], None]) -> None:
    before = fingerprint("toy.space.part")
    write("toy/unreached.py", "OTHER = 8")
    assert fingerprint("toy.space.part") != before


def test_numbers_of_different_type_count(write: Callable[[str, str], None]) -> None:
    before = fingerprint()
    write("toy/sibling.py", "CONSTANT = 1.0")
    assert fingerprint() != before


def test_it_is_computed_once_a_process(write: Callable[[str, str], None]) -> None:
    before = fingerprint()
    write("toy/sibling.py", "CONSTANT = 8")
    assert code.source_fingerprint("toy.study") == before


def test_a_single_file_module_is_enough(write: Callable[[str, str], None]) -> None:
    write("lonely_toy.py", "X = 1")
    before = fingerprint("lonely_toy")
    write("lonely_toy.py", "X = 2")
    assert fingerprint("lonely_toy") != before


@pytest.mark.parametrize("name", ["toy.nowhere", "no_such_toy", "sys", "lonely_toy.inner"])
def test_a_module_without_source_is_named(write: Callable[[str, str], None], name: str) -> None:
    write("lonely_toy.py", "X = 1")
    with pytest.raises(ModuleNotFoundError, match=f"no Python source for the module '{name}'; "):
        fingerprint(name)
