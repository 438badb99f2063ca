"""Training with shared parameters: families, masks, scores."""

import math

import pytest
import torch

from repro.studies.parameter_sharing import study
from repro.studies.parameter_sharing.arms import (
    BASELINE,
    FAMILIES,
    MODELS,
    ROWS,
    STEPS_AN_EPOCH,
    assigned,
)
from repro.studies.parameter_sharing.data import MASKED, NO_TARGET, masked_positions
from repro.studies.parameter_sharing.model import SharingTransformer
from tests.studies.small import SHARING, first_batch, loaded, model, trained


def test_families_have_six_sets_of_a_width():
    def in_layers(arm):
        with torch.device("meta"):
            module = SharingTransformer(arm, vocabulary=301)
        return sum(p.numel() for p in module.sets.parameters())

    times = {"deep": 1, "very deep": 1, "wide": 1.6, "very wide": 3, "wide deep": 1.6}
    for name, family in FAMILIES.items():
        assert family.sets == 6
        assert in_layers(family) / in_layers(BASELINE) == pytest.approx(times[name], rel=0.03)
        small, usual = family.at("ci"), BASELINE.at("ci")
        assert in_layers(small) / in_layers(usual) == pytest.approx(times[name], rel=0.04)
        assert small.order == family.order


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_a_run_is_trained_scored_and_measured(kind):
    values = trained(SHARING.but(kind=kind), 3)
    measures = values["measures"]
    assert values["steps"] == STEPS_AN_EPOCH
    assert len(measures["paradigms"]) == 6
    assert measures["blimp"] == pytest.approx(sum(measures["paradigms"]) / 6)
    assert 0 <= measures["lambada_accuracy"] <= 1
    assert measures["lambada_perplexity"] > 1
    assert measures["perplexity"] < 300


def test_rows_that_are_one_model_are_one_arm():
    alike = {"wide cycle": "wide seq", "wide rev": "wide seq", "wide deep rev": "wide deep seq"}
    assert [name for name in ROWS if name not in MODELS] == list(alike)
    assert all(ROWS[name] == ROWS[other] for name, other in alike.items())
    assert ROWS["deep rev"].order == assigned("cycle (rev)", layers=12, sets=6)


def test_sharing_divides_the_parameters_in_layers_and_nothing_else():
    def measures(sets):
        one = model(SHARING.but(layers=6, sets=sets))
        with torch.no_grad():
            return one.measure()

    shared, own = measures(2), measures(6)
    assert own["parameters_in_layers"] == 3 * shared["parameters_in_layers"]
    difference = own["parameters_in_layers"] - shared["parameters_in_layers"]
    assert own["parameters"] - shared["parameters"] == difference


def test_weights_start_at_the_scale_that_is_asked_for():
    plain, wider = (
        dict(model(SHARING.but(initial_scale=scale)).module.named_parameters())
        for scale in (1.0, 3.0)
    )
    for name, parameter in plain.items():
        scale = 3.0 if parameter.ndim == 2 else 1.0
        assert torch.equal(wider[name], scale * parameter), name
    assert BASELINE.at("ci").initial_scale == pytest.approx(12**0.5)


def test_the_right_pairs_and_words_are_scored(monkeypatch):
    asked = []

    class Noted(study.Reader):
        def scores(self, texts):
            asked.append([text.tolist() for text in texts])
            return super().scores(texts)

        def last_words(self, contexts, words, *, longest):
            asked.append([word.tolist() for word in words])
            return super().last_words(contexts, words, longest=longest)

    monkeypatch.setattr(study, "Reader", Noted)
    one = model(SHARING)
    with torch.no_grad():
        one.measure()
    good, bad, words = asked
    rows = [200 * paradigm + n for paradigm in range(6) for n in range(3)]
    assert good == [one.data.pairs.good[row].tolist() for row in rows]
    assert bad == [one.data.pairs.bad[row].tolist() for row in rows]
    assert words == [one.data.passages.last[row].tolist() for row in range(5)]


def test_an_encoder_is_asked_for_what_is_masked_and_for_nothing_else():
    data = loaded(SHARING.but(kind="encoder"))
    lines = data.epoch(1, 0)[None, :2]
    x, y = data.batch(lines)
    text = data.train[lines[..., 0]][..., :-1]
    hidden = y != NO_TARGET
    assert (hidden.sum(-1) == round(MASKED * 48)).all()
    assert (x[hidden] == data.mask).all()
    assert torch.equal(y[hidden], text[hidden])
    assert torch.equal(x[~hidden], text[~hidden])
    other, _ = data.batch(data.epoch(1, 1)[None, :2])
    assert not torch.equal(other == data.mask, x == data.mask)


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_the_loss_is_the_mean_log_loss_of_the_targets(kind):
    one = model(SHARING.but(kind=kind), 3)
    x, y = first_batch(one.data, size=2)
    log_p = one.module(x).detach().double().log_softmax(-1)
    losses = [-float(log_p[row, at, y[row, at]]) for row, at in (y != NO_TARGET).nonzero()]
    assert len(losses) == (2 * 48 if kind == "decoder" else 2 * round(MASKED * 48))
    objective, loss = one.loss(x, y)
    assert objective.item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert objective.equal(loss)


def test_masks_are_drawn_evenly():
    positions = masked_positions(torch.arange(2000), 20).double().mean(0)
    assert float((positions - MASKED).abs().max()) < 4 * math.sqrt(MASKED * (1 - MASKED) / 2000)
