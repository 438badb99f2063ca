"""What hits all arms alike changes no claim: the level of their metric says it."""

import pytest

from repro.ledger import Ledger
from tests.evidence.packs import read_code_again
from tests.plugin.sessions import run

pytestmark = pytest.mark.thorough

STUDY = '''
"""A small GPT of letters, as nanoGPT writes it."""
from dataclasses import dataclass
from typing import ClassVar
import torch
import torch.nn.functional as F
from torch import nn
from repro import Metric, OutsideArm, OutsideStudy

LETTERS, CONTEXT = 8, 12


@dataclass(frozen=True, kw_only=True)
class Small(OutsideArm):
    study: ClassVar[str] = "letters"
    metrics: ClassVar[dict] = {"val": Metric("log")}
    width: int = 16
    data: str = "letters"


class Gpt(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.tokens = nn.Embedding(LETTERS, width)
        self.places = nn.Embedding(CONTEXT, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, LETTERS)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        h = self.drop(self.tokens(x) + self.places.weight)
        q, k, v = self.qkv(h).chunk(3, dim=-1)
        h = h + self.drop(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return self.out(h)


def batch(size, generator):
    """Texts that go up or down by one, mostly."""
    steps = torch.where(torch.rand(size, CONTEXT + 1, generator=generator) < 0.8, 1, -1)
    text = (torch.randint(LETTERS, (size, 1), generator=generator) + steps.cumsum(1)) % LETTERS
    return text[:, :-1], text[:, 1:]


def loss(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def train(arm, seed):
    model = Gpt(arm.width)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    own = torch.Generator().manual_seed(seed)
    for _ in range(150):
        optimiser.zero_grad()
        loss(model, *batch(32, own)).backward()
        optimiser.step()
    model.eval()
    return {"val": loss(model, *batch(500, torch.Generator().manual_seed(0))).item()}


STUDY = OutsideStudy(train)
'''

CLAIMS = """
from repro import claim
from letters import Small

@claim("wider is better", source="910, Text")
def test_wider(trials):
    wide, narrow = trials(Small(width=32), Small(width=6))
    assert wide.val < narrow.val
"""


@pytest.fixture
def letters(project):
    project.makepyfile(letters=STUDY, test_lines=CLAIMS)
    result = run(project, "--update-ledger", "--reference-seeds", "0")
    result.assert_outcomes(passed=1)
    [path] = project.path.rglob("ledger/*.toml")
    [entry] = Ledger.read(path).entries.values()
    assert [level[1] for level in entry.levels] == ["val", "val"]
    return project


def rewrite(letters, right, wrong):
    """Change the training."""
    assert STUDY.count(right) == 1
    letters.makepyfile(letters=STUDY.replace(right, wrong))
    read_code_again()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("    model.eval()\n", ""), ("is_causal=True", "is_causal=False")],
    ids=["no eval", "no mask"],
)
def test_a_fault_that_hits_all_arms_is_seen(letters, right, wrong):
    run(letters, "--gate-levels").assert_outcomes(passed=1)
    rewrite(letters, right, wrong)
    warned = run(letters)
    warned.assert_outcomes(passed=1)
    warned.stdout.fnmatch_lines(["moved since the ledger, *: 910 val of all 2 arms: *"])
    assert (warned.ret, run(letters, "--gate-levels").ret) == (0, 1)


def test_new_seeds_of_the_same_training_have_moved_nothing(letters):
    rewrite(letters, "manual_seed(seed)", "manual_seed(100 + seed)")
    result = run(letters, "--gate-levels")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("moved since*")
