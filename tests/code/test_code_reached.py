"""The definitions that a study reaches: what changes a key, and what does not."""

import sys
import textwrap

import pytest

from repro.code import Modules, Root, digest, libraries, reached

SOURCES = {
    "toy/__init__.py": "print('imported')",
    "toy/study.py": """
        from toy.core import train  # a submodule
        from .sibling import CONSTANT
        from toy import registry as others

        class Base:
            SIZE = 4

            def label(self):
                return "base"

            def steps(self):
                return CONSTANT

        class Study(Base):
            scale: int = 1

            def run(self, x: "Config"):
                '''Run it.'''
                import toy.late
                found: list[int] = []
                if x < 0:
                    raise ValueError(f"{x} is negative")
                assert x, "it is zero"
                return train.step(x) + toy.late.MORE + self.steps() + others.pick("a", self.scale)

        STUDY = Study()
        ANOTHER = Study()

        if __name__ == "__main__":
            print(STUDY)
    """,
    "toy/driver.py": "def train(study): return study.run(1)",
    "toy/sibling.py": "CONSTANT = 1\nUNUSED = 2",
    "toy/late.py": "from . import deeper\nimport toy.outer.inner\nMORE = deeper.VALUE[1:]",
    "toy/deeper.py": "from math import sin as f, cos as g\nVALUE = 3, f, g",
    "toy/core/__init__.py": "SETTING = 4",
    "toy/core/train.py": "from ..helpers import *\ndef step(x): return x + HELP",
    "toy/helpers.py": "HELP = 5",
    "toy/outer/inner.py": "import sys\nsys.flag = 1",
    "toy/registry.py": """
        KNOWN = {}

        def register(function):
            KNOWN[function.__name__] = function
            return function

        def pick(name, scale):
            return KNOWN[name]()

        @register
        def a():
            return 1
    """,
    "toy/unreached.py": "OTHER = 7",
    "toy/space/part.py": "from toy.unreached import OTHER\nSTUDY = OTHER",
    "lonely_toy.py": """
        import pytest
        import torch
        from toy import registry
        from lib import Same
        try:
            from toy.unreached import OTHER
        except ImportError:
            OTHER = 8

        class Net(torch.nn.Module):
            def forward(self):
                return 1

        class Same(Same):
            def called(self):
                return 2

        STUDY = Net(), Same(), vars(registry), OTHER

        cases = pytest.mark.parametrize('x', [3])

        @cases
        @claim('it is four', source='900')
        def test_four(trials, x):
            assert trials(4)
    """,
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    for name, text in SOURCES.items():
        write(name, text)
    monkeypatch.syspath_prepend(tmp_path)
    return write


def definitions(module="toy.study"):
    return reached([Root(module, "STUDY"), Root("toy.driver", "train")], Modules({"toy"}))


def kept_by(write, edits, module="toy.study"):
    before, kept = digest(definitions(module)), []
    for name, old, new in edits:
        text = textwrap.dedent(SOURCES[name])
        assert old in text
        write(name, text.replace(old, new))
        kept += [(name, old, new)] * (digest(definitions(module)) == before)
        write(name, text)
    return kept


def test_names_imports_and_members_are_followed_and_nothing_is_imported(write):
    names = set(definitions())
    assert names >= {
        *("toy.study.STUDY", "toy.study.Study", "toy.study.Base", "toy.study.Base.steps"),
        *("toy.sibling.CONSTANT", "toy.late.MORE", "toy.deeper.VALUE", "toy.helpers.HELP"),
        *("toy.core.train.step", "toy.registry.pick", "toy.registry.KNOWN"),
        *("toy.<module>", "toy.outer.inner.<module>", "toy.registry.<module>"),
    }
    assert not names & {
        *("toy.study.ANOTHER", "toy.study.Base.label", "toy.study.Base.SIZE"),
        *("toy.sibling.UNUSED", "toy.core.SETTING", "toy.unreached.OTHER", "toy.study.<module>"),
    }
    write("toy/helpers.py", "def show(arm): return arm.label\nHELP = show, 'SIZE'")
    assert set(definitions()) >= {"toy.study.Base.label", "toy.study.Base.SIZE"}
    assert not [name for name in sys.modules if name.partition(".")[0] == "toy"]


HARMLESS = [  # a module, what stands there, and what replaces it
    ("toy/study.py", "'''Run it.'''\n", "\n"),
    ("toy/study.py", "is negative", "is less than zero"),
    ("toy/study.py", ', "it is zero"', ""),
    ("toy/study.py", ' x: "Config"):', " x) -> int:"),
    ("toy/study.py", "found: list[int]", "found: list[float]"),
    ("toy/study.py", "print(STUDY)", "print(ANOTHER)"),
    ("toy/sibling.py", "UNUSED = 2", "UNUSED = 3\nNEW = 4"),
    ("toy/sibling.py", "CONSTANT = 1", "# a comment\nCONSTANT = 1\n'''Always.'''"),
]


def test_a_harmless_edit_keeps_the_key(write):
    assert kept_by(write, HARMLESS) == HARMLESS


COMPUTING = [
    ("toy/study.py", "self.steps()", "self.steps() * 2"),
    ("toy/study.py", "raise ValueError(", "raise TypeError("),
    ("toy/study.py", "class Study(Base)", "class Study(Base, dict)"),
    ("toy/study.py", "scale: int", "scale: float"),
    ("toy/sibling.py", "CONSTANT = 1", "CONSTANT = True"),
    ("toy/late.py", "deeper.VALUE[1:]", "deeper.VALUE[:1]"),
    ("toy/deeper.py", "sin as f, cos as g", "cos as f, sin as g"),
    ("toy/outer/inner.py", "flag = 1", "flag = 2"),
    ("toy/registry.py", "return 1", "return 2"),
]


def test_whatever_computes_counts(write):
    assert kept_by(write, COMPUTING) == []


LONELY = [
    ("lonely_toy.py", "return 1", "return 3"),  # torch may call it
    ("lonely_toy.py", "return 2", "return 3"),  # a class may have the name of its base
    ("lonely_toy.py", "OTHER = 8", "OTHER = 9"),  # imported, or else defined
    ("toy/unreached.py", "7", "8"),
    ("toy/registry.py", "return function", "return a"),  # the whole module is handed on
]

CLAIMS = [("lonely_toy.py", "[3]", "[4]"), ("lonely_toy.py", "trials(4)", "trials(5)")]


def test_what_a_library_a_whole_module_or_a_namespace_brings_counts_and_no_claim(write):
    assert kept_by(write, LONELY + CLAIMS, "lonely_toy") == CLAIMS
    assert kept_by(write, [("toy/unreached.py", "7", "8")], "toy.space.part") == []
    assert not [name for name in definitions("lonely_toy") if name.startswith("torch")]
    imported = libraries([Root("lonely_toy", "STUDY")], Modules(), besides="toy.")
    assert imported == {"torch", "lib", "pytest"}


INSTALLED = {
    "other-1.0.dist-info/RECORD": "other/__init__.py,sha256=1,2\nother/a.py,,\n",
    "other.egg-info/installed-files.txt": "../other/__init__.py\nPKG-INFO\n",
}


@pytest.mark.parametrize("record", INSTALLED)
def test_what_was_installed_is_a_library_wherever_it_is_and_what_lies_beside_it_is_not(
    write, tmp_path, monkeypatch, record
):
    """A checkout has a folder with its own name in it, too: that is no record of what came."""
    write("uses.py", "from other import VALUE\nimport beside\nSTUDY = VALUE, beside.VALUE")
    write("libs/other/__init__.py", "VALUE = 1")
    write("libs/beside.py", "VALUE = 1")
    write("libs/beside.egg-info/SOURCES.txt", "setup.py\nbeside.py\n")
    write(f"libs/{record}", INSTALLED[record])
    monkeypatch.syspath_prepend(tmp_path / "libs")
    study = [Root("uses", "STUDY")]
    assert reached(study, Modules()).keys() == {"uses.STUDY", "beside.VALUE"}
    assert "other.VALUE" in reached(study, Modules({"other"}))
    assert libraries(study, Modules(), besides="repro.") == {"other"}


BY_NAME = {
    "looked up in the module": "def train(study): return globals()['gain_' + study](1)",
    "looked up in this module among all": (
        "import sys\ndef train(study): return getattr(sys.modules[__name__], 'gain_' + study)(1)"
    ),
    "asked of all modules": (
        "import sys\ndef train(study): return vars(sys.modules.get(__name__))['gain_' + study](1)"
    ),
    "evaluated": "def train(study): return eval('gain_' + study)(1)",
    "one of the subclasses": "def train(study): return Base.__subclasses__()[0]().gain()",
    "a subclass that registered itself": """
        def train(study):
            return Registry.known[0]().gain()
    """,
    "imported by its name": """
        from importlib import import_module
        def train(study):
            return import_module("toy.gains").gain_late(1)
    """,
}


@pytest.mark.parametrize("how", BY_NAME)
def test_what_is_found_by_a_name_counts(write, how):
    """Found by a name that is put together, as a subclass, or as a module that is named."""
    shared = """
        class Base:
            pass

        class Registry:
            known = []

            def __init_subclass__(cls):
                Registry.known.append(cls)

        class Of(Base, Registry):
            def gain(self):
                return GAIN

        def gain_a(x):
            return GAIN * x
    """

    def found(gain):
        write("toy/gains.py", f"def gain_late(x): return {gain} * x")
        text = textwrap.dedent(BY_NAME[how]) + textwrap.dedent(shared)
        write("toy/lookup.py", f"{text}\nGAIN = {gain}\n")
        return digest(reached([Root("toy.lookup", "train")], Modules(["toy"])))

    assert found(1) != found(-1)


def test_modules_that_import_each_other_in_a_long_chain_are_followed(write):
    last = 1200  # more than Python calls one in another
    for number in range(last):
        write(f"chain_{number}.py", f"import chain_{number + 1}\nSTUDY = 1")
    write(f"chain_{last}.py", "import sys\nsys.flag = 1")
    found = reached([Root("chain_0", "STUDY")], Modules())
    assert found.keys() == {"chain_0.STUDY", f"chain_{last}.<module>"}


def test_a_module_without_source_is_named(write):
    for name in ("toy.nowhere", "no_such_toy", "sys", "lonely_toy.inner"):
        with pytest.raises(ModuleNotFoundError, match=f"source for the module '{name}'; "):
            definitions(name)


def test_a_module_or_a_member_of_a_class_may_be_a_root(write):
    every = set(reached([Root("toy.sibling")], Modules()))
    assert every >= {"toy.sibling.CONSTANT", "toy.sibling.UNUSED"}
    one = set(reached([Root("toy.study", "Base.label")], Modules()))
    assert one >= {"toy.study.Base", "toy.study.Base.label"}
    assert "toy.study.Base.steps" not in one
