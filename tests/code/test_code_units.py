"""The units of a module: which edits change a digest that counts, and which change none."""

import textwrap

import pytest

from repro.code.trace import counted
from repro.code.units import parse

STUDY = """
    from dataclasses import dataclass
    from math import sin as f, cos as g
    from typing import ClassVar
    import pytest
    try:
        from fast import SPEED
    except ImportError:
        SPEED = 8

    VALUE = 3, f, g
    USED = 5

    @dataclass(frozen=True)
    class Line(Arm):
        study: ClassVar[str] = "line"
        metrics: ClassVar[dict] = {"slope": Metric("identity")}
        documented_seeds: ClassVar[tuple] = (1,)
        scale: int = 1
        rate: float = 0.5

        @property
        def steps(self):
            return self.scale

        @property
        def label(self):
            return "line"

    class Net(Base):
        depth: int = 2

        def forward(self, x: "Config"):
            '''Run it.'''
            found: list[int] = []
            if x < 0:
                raise ValueError(f"{x} is negative")
            assert x, "it is zero"
            return VALUE[1:], USED

    PRESET = Line(scale=3)
    OTHER = PRESET.but(scale=4)
    cases = pytest.mark.parametrize('x', [3])

    @cases
    @claim('it is four', source='900')
    def test_four(trials, x):
        assert trials(4)
"""
RAN = ["Line.steps", "Net.forward"]
EDITS = [  # what stands there, what replaces it, and whether it computes
    ("'''Run it.'''\n", "\n", False),
    ("is negative", "is less than zero", False),
    (', "it is zero"', "", False),
    (' x: "Config"):', " x) -> int:", False),
    ("list[int]", "list[float]", False),
    ("Line(scale=3)", "Line(scale=5)", False),
    ("PRESET.but(scale=4)", "PRESET.but(rate=1.0)\n    NEW = Line(scale=9)", False),
    ("[3]", "[4]", False),
    ("trials(4)", "trials(5)", False),
    ("scale: int = 1", "scale: int = 2", False),  # a result has it by value
    ("rate: float = 0.5", "rate: float = 0.5\n        width: int = 8", False),
    ('Metric("identity")', 'Metric("log")', False),
    ("documented_seeds: ClassVar[tuple] = (1,)", "", False),
    ('return "line"', 'return "Line"', False),
    ("raise ValueError(", "raise TypeError(", True),
    ("class Net(Base)", "class Net(Base, dict)", True),
    ("depth: int = 2", "depth: int = 3", True),  # of no arm
    ("depth: int", "depth: float", True),
    ("return self.scale", "return self.scale + 1", True),
    ("sin as f, cos as g", "cos as f, sin as g", True),
    ("VALUE = 3", "VALUE = 3.0", True),
    ("VALUE[1:]", "VALUE[:1]", True),
    ("USED = 5", "USED = True", True),
    ("SPEED = 8", "SPEED = 9", True),
    ('"line"\n        metrics', '"lines"\n        metrics', True),
    ("(frozen=True)", "(frozen=False)", True),
    ("'x', [3])", "'x', [3])\n    register(cases)", True),
]


def digests(text):
    return counted({"toy": parse(textwrap.dedent(text))}, {"toy": RAN}, ["toy.Line"])


@pytest.mark.parametrize(("old", "new", "computes"), EDITS)
def test_what_computes_counts_and_nothing_else(old, new, computes):
    assert STUDY.count(old) >= 1
    assert (digests(STUDY.replace(old, new, 1)) != digests(STUDY)) == computes
