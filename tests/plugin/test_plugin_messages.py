"""What is easily written in a first hour, and what is said of it."""

import pytest

from tests.plugin.sessions import run

HEAD = """
import numpy as np
from pathlib import Path
from repro import claim
from line import Line, Share

@claim("x", source="900")
def test_it(trials):
"""

ONE, TWO = "    a = trials(Line())\n", "    a, b = trials(Line(), Line(target=2.0))\n"
SHARES = "    a, b = trials(Share(), Share(target=2.0))\n"


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        (TWO + "    assert a > b", "is an arm, and claims compare metrics: write a.slope > b.s"),
        (TWO + "    assert a.slope > b", "a Trial, which is neither a number nor a metric: name"),
        (TWO + "    assert a.slope < b", "a Trial, which is neither a number nor a metric: name"),
        (TWO + "    assert a.slope >= b.slope", "claim a > b, or a.is_at_most(margin, below=b)"),
        (TWO + "    assert a.slope > 1.01 * b.slope", "a.exceeds(b, by_ratio=1.01) for a factor"),
        (TWO + "    assert a.slope > b.slope + 1", "a.exceeds(b, by_at_least=0.01) for an amount"),
        (TWO + "    assert a.slope - 1 > b.slope", "a.exceeds(b, by_at_least=0.01) for an amount"),
        (TWO + "    assert a.diverges > b.diverges", "a.diverges.more_often_than(b.diverges)"),
        (SHARES + "    assert a.right > 50", "50 is none: write 0.5 for 50 %"),
        (SHARES + "    assert a.right.is_within(2, of=b.right)", "write 0.02 for 2 %"),
        (SHARES + "    assert a.right.exceeds(b.right, by_at_least=2)", "write 0.02 for 2 %"),
        (SHARES + "    assert a.right.matches(61.7, tolerance=0.01)", "write 0.617 for 61.7 %"),
        (
            '    a, b = trials(Line(), Line(data="others"))\n    assert a.slope > b.slope',
            "judge each data set in a case of its own",
        ),
        ("    trials(Line(target=np.float32(2)))", "give its number with .item()"),
        ("    trials(Line(target=Path('x')))", "is no plain data; give str(path)"),
    ],
)
def test_it_says_what_to_write_instead(project, claim, sentence):
    share = (
        "\n\nclass Share(Line):\n"
        '    metrics = {"slope": Metric("identity"), "right": Metric("log-odds", examples=9)}\n'
    )
    study = project.path / "line.py"
    study.write_text(study.read_text() + share)
    (project.path / "test_lines.py").write_text(HEAD + claim + "\n")
    result = run(project)
    assert result.ret == 1
    assert sentence in result.stdout.str().replace("\n", "")
    assert not list(project.path.glob("store/runs/*/*"))
