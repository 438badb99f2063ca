"""Draws that would make a result depend on what else was trained are refused, with what to do."""

import pytest
import torch

from repro.arm import Run
from repro.core.randomness import BadRandomness, no_global_draws
from repro.core.train import train
from repro.studies.depth_ladder.study import STUDY
from tests.studies.small import CPU, LADDER, changed

REFUSED = {
    "training": "global generators while training.*draw from stream",
    "measuring": "global generators while measuring.*draw from stream",
    "initial": "initialises its parameters from torch's global generator",
    "alike": "trains every seed alike",
}


def drawing(where):
    """The ladder's study, which draws in the wrong place, or alike for all seeds."""

    def load(arm, device):
        data = STUDY.load(arm, device)
        epoch = data.epoch
        if where == "alike":
            data.epoch = lambda seed, number: epoch(0, number)
        return data

    def reference(run, data, device):
        model = STUDY.reference(Run(run.arm, 0) if where == "alike" else run, data, device)
        loss, measure = model.loss, model.measure
        if where == "initial":
            torch.nn.init.normal_(model.module.head.weight)
        if where == "training":
            model.loss = lambda *batch: (torch.rand(()), loss(*batch))[1]
        if where == "measuring":
            model.measure = lambda: (torch.rand(()), measure())[1]
        return model

    return changed(STUDY, load=load, reference=reference)


@pytest.mark.parametrize("where", REFUSED)
def test_what_is_drawn_in_the_wrong_place_is_refused(where):
    of_its_own = 0.1 + [*REFUSED].index(where)  # since each arm is looked at once
    runs = [Run(LADDER.but(images=64, embedding_std=of_its_own), 1)]
    for _ in range(2):  # what was refused is refused again
        with pytest.raises(BadRandomness, match=REFUSED[where]):
            list(train(drawing(where), runs, engine="loop", device=CPU))


def test_a_draw_on_the_card_alone_is_seen_too(monkeypatch):
    states = iter([torch.zeros(16), torch.ones(16)])
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: next(states))
    with (
        pytest.raises(BadRandomness, match="global generators while training"),
        no_global_draws(LADDER, "training", torch.device("cuda")),
    ):
        pass
