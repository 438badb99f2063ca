"""Draws that would make a result depend on what else was trained are refused, with what to do."""

import pytest
import torch

from repro.arm import Run
from repro.core.randomness import BadRandomness, no_global_draws
from repro.core.streams import stream
from repro.core.train import train
from tests.own.modules import Small

CPU = torch.device("cpu")


class Lines:
    def __init__(self, seeded):
        self.seeded = seeded

    def epoch(self, seed, number):
        order = stream(seed if self.seeded else 0, f"order/{number}")
        return torch.randperm(16, generator=order)[:, None]

    def batch(self, lines):
        return (lines[..., 0].float(),)


class Line:
    """A line that draws where it is told to."""

    def __init__(self, run, draws):
        self.draws = draws
        self.module = torch.nn.Linear(1, 1)
        if draws != "initial":
            for parameter in self.module.parameters():
                own = stream(run.seed if draws != "alike" else 0, "initial")
                torch.nn.init.normal_(parameter, generator=own)

    def lr_scales(self):
        return {}

    def loss(self, x):
        noise = torch.rand(()) if self.draws == "training" else 0.0
        loss = (self.module(x[:, None]) + noise).square().mean()
        return loss, loss

    def measure(self):
        noise = float(torch.rand(())) if self.draws == "measuring" else 0.0
        return {"error": float(self.module.weight.detach().abs()) + noise}


class Study:
    monitor = None

    def __init__(self, draws):
        self.draws = draws

    def load(self, arm, device):
        return Lines(seeded=self.draws != "alike")

    def reference(self, run, data, device):
        return Line(run, self.draws)


def trained(draws):
    arm = Small(kind=draws)  # a program of its own, since each is looked at once
    return list(train(Study(draws), [Run(arm, 1)], engine="loop", device=CPU))


def test_what_is_drawn_in_the_wrong_place_is_refused():
    for draws, sentence in {
        "training": "global generators while training.*draw from stream",
        "measuring": "global generators while measuring.*draw from stream",
        "initial": "initialises its parameters from torch's global generator",
        "alike": "trains every seed alike",
    }.items():
        for _ in range(2):  # a program that was refused is refused again
            with pytest.raises(BadRandomness, match=sentence):
                trained(draws)


def test_what_is_drawn_from_streams_is_not():
    assert trained("nowhere")


def test_a_draw_on_the_card_alone_is_seen_too(monkeypatch):
    states = iter([torch.zeros(16), torch.ones(16)])
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: next(states))
    with (
        pytest.raises(BadRandomness, match="global generators while training"),
        no_global_draws(Small(), "training", torch.device("cuda")),
    ):
        pass
