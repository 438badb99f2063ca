"""The definitions that a study reaches: what changes a key, and what does not."""

import doctest
import importlib
import sys
import textwrap

import pytest

from repro.code import Modules, Root, digest, reached

SOURCES = {
    "toy/__init__.py": "print('imported')",
    "toy/study.py": """
        '''The study.'''
        import json
        from toy.core import train  # a submodule
        from .sibling import CONSTANT
        from toy import registry as others

        class Base:
            SIZE = 4

            @property
            def label(self):
                return "base"

            def steps(self):
                '''Count the steps.'''
                return CONSTANT

        class Study(Base):
            def run(self, x: "Config"):
                '''Run it.'''
                import toy.late
                if x < 0:
                    raise ValueError(f"{x} is negative")
                assert x, "it is zero"
                return train.step(x) + toy.late.MORE + self.steps() + others.pick("a")

        STUDY = Study()
        ANOTHER = Study()
    """,
    "toy/driver.py": "def train(study): return study.run(1)",
    "toy/sibling.py": "CONSTANT = 1\nUNUSED = 2",
    "toy/late.py": "from . import deeper\nimport toy.outer.inner\nMORE = deeper.VALUE",
    "toy/deeper.py": "VALUE = 3",
    "toy/core/__init__.py": "SETTING = 4",
    "toy/core/train.py": "from ..helpers import *\ndef step(x): return x + HELP",
    "toy/helpers.py": "HELP = 5",
    "toy/outer/__init__.py": "KEPT = 6",
    "toy/outer/inner.py": "import sys\nsys.flag = 1",
    "toy/registry.py": """
        KNOWN = {}

        def register(function):
            KNOWN[function.__name__] = function
            return function

        def pick(name):
            return KNOWN[name]()

        @register
        def a():
            return 1
    """,
    "toy/unreached.py": "OTHER = 7",
    "toy/space/part.py": "from toy.unreached import OTHER\nSTUDY = OTHER",
    "lonely_toy.py": """
        import torch

        class Net(torch.nn.Module):
            def forward(self):
                return 1

        STUDY = Net()
    """,
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    for name, text in SOURCES.items():
        write(name, text)
    return write


def definitions(module="toy.study"):
    return reached([Root(module, "STUDY"), Root("toy.driver", "train")], Modules({"toy"}))


def code(module="toy.study"):
    return digest(definitions(module))


def names(module="toy.study"):
    return set(definitions(module))


def change(write, name, old, new):
    text = textwrap.dedent(SOURCES[name])
    assert old in text
    write(name, text.replace(old, new))


def test_nothing_is_imported(write):
    code()
    assert not [name for name in sys.modules if name.partition(".")[0] == "toy"]


def test_names_imports_and_members_are_followed(write):
    assert names() >= {
        *("toy.study.STUDY", "toy.study.Study", "toy.study.Base", "toy.study.Base.steps"),
        *("toy.sibling.CONSTANT", "toy.late.MORE", "toy.deeper.VALUE", "toy.helpers.HELP"),
        *("toy.core.train.step", "toy.registry.pick", "toy.registry.KNOWN"),
        *("toy.<module>", "toy.outer.inner.<module>", "toy.registry.<module>"),
    }
    assert not names() & {
        *("toy.study.ANOTHER", "toy.study.Base.label", "toy.study.Base.SIZE"),
        *("toy.sibling.UNUSED", "toy.core.SETTING", "toy.unreached.OTHER"),
    }


HARMLESS = [
    ("toy/study.py", "# a submodule", "# another comment"),
    ("toy/study.py", "'''Run it.'''", "'''Run it, once.'''"),
    ("toy/study.py", "'''Run it.'''\n", "\n"),
    ("toy/study.py", "'''The study.'''", "'''A study.'''"),
    ("toy/study.py", "is negative", "is less than zero"),
    ("toy/study.py", ', "it is zero"', ""),
    ("toy/study.py", 'return "base"', "return 'the base'"),
    ("toy/study.py", "SIZE = 4", "SIZE = 5"),
    ("toy/study.py", "ANOTHER = Study()", "ANOTHER = YET_ANOTHER = Study()"),
    ("toy/study.py", "import json\n", ""),
    ("toy/study.py", "return train.step(x) +", "return (train.step(x)\n   ) +"),
    ("toy/study.py", ' x: "Config"', " x"),
    ("toy/sibling.py", "UNUSED = 2", "UNUSED = 3\nNEW = 4"),
    ("toy/sibling.py", "CONSTANT = 1", "'''It is one.'''\nCONSTANT = 1\n'''Always.'''"),
    ("toy/core/__init__.py", "4", "5"),
    ("toy/unreached.py", "7", "8"),
    ("toy/registry.py", "def pick(name):", "def pick(name):\n    # by its name"),
]


def test_a_harmless_edit_keeps_the_key(write):
    before = code()
    changed = []
    for name, old, new in HARMLESS:
        change(write, name, old, new)
        changed += [(name, new)] * (code() != before)
        write(name, SOURCES[name])
    assert changed == []
    change(write, "toy/study.py", "from .sibling import CONSTANT", "from .moved import CONSTANT")
    write("toy/moved.py", "CONSTANT = 1")
    assert code() == before


COMPUTING = [
    ("toy/study.py", "self.steps()", "self.steps() * 2"),
    ("toy/study.py", "if x < 0:", "if x <= 0:"),
    ("toy/study.py", "raise ValueError(", "raise TypeError("),
    ("toy/study.py", "return CONSTANT", "return 1"),
    ("toy/study.py", "class Study(Base)", "class Study(Base, dict)"),
    ("toy/sibling.py", "CONSTANT = 1", "CONSTANT = 1.0"),
    ("toy/sibling.py", "CONSTANT = 1", "CONSTANT = True"),
    ("toy/late.py", "MORE = deeper.VALUE", "MORE = deeper.VALUE + 1"),
    ("toy/deeper.py", "3", "4"),
    ("toy/helpers.py", "5", "6"),
    ("toy/core/train.py", "return x", "return -x"),
    ("toy/__init__.py", "imported", "imported twice"),
    ("toy/outer/inner.py", "flag = 1", "flag = 2"),
    ("toy/registry.py", "return 1", "return 2"),
    ("toy/registry.py", "KNOWN[name]()", "KNOWN[name]() + 1"),
]


def test_whatever_computes_counts(write):
    before = code()
    unnoticed = []
    for name, old, new in COMPUTING:
        change(write, name, old, new)
        unnoticed += [(name, new)] * (code() == before)
        write(name, SOURCES[name])
    assert unnoticed == []


def test_which_of_two_definitions_of_one_name_is_used_counts(write):
    write("toy/one.py", "def f(): return 1")
    write("toy/two.py", "def f(): return 2")
    write("toy/study.py", "from toy import one, two\nSTUDY = [one.f() - two.f()]")
    before = code()
    write("toy/study.py", "from toy import two as one, one as two\nSTUDY = [one.f() - two.f()]")
    assert code() != before


def test_a_member_counts_once_its_name_is_read_as_an_attribute_or_as_text_anywhere(write):
    assert not names() & {"toy.study.Base.label", "toy.study.Base.SIZE"}
    write("toy/helpers.py", "def show(arm): return arm.label\nHELP = show, 'SIZE'")
    assert names() >= {"toy.study.Base.label", "toy.study.Base.SIZE"}


def test_methods_that_a_library_may_call_count_and_the_library_does_not(write):
    assert not [name for name in names("lonely_toy") if name.startswith("torch")]
    before = code("lonely_toy")
    change(write, "lonely_toy.py", "return 1", "return 2")
    assert code("lonely_toy") != before


def test_a_class_may_have_the_name_of_its_base(write):
    text = "from lib import Net\nclass Net(Net):\n    def forward(self): return 1\nSTUDY = Net()"
    write("lonely_toy.py", text)
    assert "lonely_toy.Net.forward" in names("lonely_toy")


def test_a_package_without_init_is_walked_through(write):
    before = code("toy.space.part")
    write("toy/unreached.py", "OTHER = 8")
    assert code("toy.space.part") != before


def test_a_module_handed_on_whole_counts_whole(write):
    write("toy/study.py", "from toy import sibling\nSTUDY = [vars(sibling)]")
    before = code()
    change(write, "toy/sibling.py", "UNUSED = 2", "UNUSED = 3")
    assert code() != before


def test_a_module_without_source_is_named(write):
    for name in ("toy.nowhere", "no_such_toy", "sys", "lonely_toy.inner"):
        says = f"no Python source for the module '{name}'; "
        with pytest.raises(ModuleNotFoundError, match=says):
            code(name)


def test_the_documented_examples_run():
    for name in ("code.meaning", "code.reached", "runs.profiles", "runs.provenance"):
        outcome = doctest.testmod(importlib.import_module(f"repro.{name}"))
        assert outcome.attempted > 0, name
        assert outcome.failed == 0, name


def test_a_name_that_is_imported_or_else_defined_counts_both_ways(write):
    write("toy/fast.py", "def pick(): return 1")
    text = "try:\n    from toy.fast import pick\nexcept ImportError:\n    def pick(): return 2\n"
    write("lonely_toy.py", text + "STUDY = pick()")
    before = code("lonely_toy")
    write("toy/fast.py", "def pick(): return 3")
    assert code("lonely_toy") != before


def test_tests_and_claims_beside_a_study_are_no_part_of_it(write):
    study = "import pytest\nfrom repro import claim\nSTUDY = 1\n"
    write("lonely_toy.py", study)
    before = code("lonely_toy")
    claims = (
        "@pytest.fixture\ndef share(): return 2\n"
        "@claim('it is one', source='900')\ndef test_one(trials): assert trials(1)\n"
        "cases = pytest.mark.parametrize('x', [1])\n"
        "@cases\ndef test_two(trials, x): assert trials(x)\n"
    )
    write("lonely_toy.py", study + claims)
    assert code("lonely_toy") == before


def test_a_module_or_a_member_of_a_class_may_be_a_root(write):
    every = reached([Root("toy.sibling")], Modules())
    assert set(every) >= {"toy.sibling.CONSTANT", "toy.sibling.UNUSED"}
    write("lonely_toy.py", "class Sums:\n    def one(self): return 1\n    def two(self): return 2")
    one = reached([Root("lonely_toy", "Sums.one")], Modules())
    assert {"lonely_toy.Sums", "lonely_toy.Sums.one"} <= set(one)
    assert "lonely_toy.Sums.two" not in one
