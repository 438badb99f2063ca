"""A small GPT of letters, as nanoGPT writes one: a plain training loop that knows nothing of repro.

Each text goes up or down the alphabet, mostly, so that the letters before tell which way it goes.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import nn

from repro import Metric, OutsideArm, OutsideStudy

LETTERS, CONTEXT, STEPS = 8, 12, 150


@dataclass(frozen=True, kw_only=True)
class Letters(OutsideArm):
    study: ClassVar[str] = "letters"  # this module: it holds STUDY
    metrics: ClassVar[dict[str, Metric]] = {"val/loss": Metric("log")}

    width: int = 32
    dropout: float = 0.2
    attends: bool = True
    data: str = "letters that go up or down"


class Gpt(nn.Module):
    def __init__(self, arm):
        super().__init__()
        self.attends = arm.attends
        self.tokens = nn.Embedding(LETTERS, arm.width)
        self.places = nn.Embedding(CONTEXT, arm.width)
        self.qkv = nn.Linear(arm.width, 3 * arm.width)
        self.up, self.down = nn.Linear(arm.width, 2 * arm.width), nn.Linear(2 * arm.width, LETTERS)
        self.drop = nn.Dropout(arm.dropout)

    def forward(self, x):  # [B, T] -> logits [B, T, letters]
        h = self.drop(self.tokens(x) + self.places.weight)
        if self.attends:
            q, k, v = self.qkv(h).chunk(3, dim=-1)
            h = h + self.drop(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return self.down(self.drop(F.gelu(self.up(h))))

    def loss(self, x, y):
        return F.cross_entropy(self(x).flatten(0, 1), y.flatten())


def texts(size, generator):
    """Letters [B, T], and those that follow them."""
    up = torch.where(torch.rand(size, 1, generator=generator) < 0.5, 0.9, 0.1)
    steps = torch.where(torch.rand(size, CONTEXT + 1, generator=generator) < up, 1, -1)
    letters = (torch.randint(LETTERS, (size, 1), generator=generator) + steps.cumsum(1)) % LETTERS
    return letters[:, :-1], letters[:, 1:]


def train(arm, seed):
    model = Gpt(arm)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    own = torch.Generator().manual_seed(seed)
    for _ in range(STEPS):
        optimiser.zero_grad()
        model.loss(*texts(32, own)).backward()
        optimiser.step()
    model.eval()
    with torch.no_grad():
        return {"val/loss": model.loss(*texts(500, torch.Generator().manual_seed(0))).item()}


STUDY = OutsideStudy(train)
