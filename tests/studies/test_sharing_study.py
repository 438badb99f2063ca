"""Training with shared parameters: families, masks, distillation, pruning, halting."""

import math

import pytest
import torch
import torch.nn.functional as F

from repro.arm import Run
from repro.core.train import train
from repro.core.weights import to_file
from repro.studies.parameter_sharing import study
from repro.studies.parameter_sharing.arms import (
    BASELINE,
    FAMILIES,
    LONG,
    MODELS,
    ROWS,
    SHORT,
    STEPS_AN_EPOCH,
    assigned,
    at,
    untrained,
)
from repro.studies.parameter_sharing.data import MASKED, NO_TARGET, SharingData, masked_places
from repro.studies.parameter_sharing.model import Halting, SharingTransformer, prune
from repro.studies.parameter_sharing.study import STUDY
from tests.run_files import KeptFiles
from tests.studies.small import (
    CPU,
    PARTIAL,
    SHARING,
    first_batch,
    loaded,
    model,
    trained,
)


def test_families_have_six_sets_of_a_width():
    def in_layers(arm):
        with torch.device("meta"):
            module = SharingTransformer(arm, vocabulary=301)
        return sum(p.numel() for p in module.sets.parameters())

    times = {"deep": 1, "very deep": 1, "wide": 1.6, "very wide": 3, "wide deep": 1.6}
    for name, family in FAMILIES.items():
        assert family.sets == 6
        assert in_layers(family) / in_layers(BASELINE) == pytest.approx(times[name], rel=0.03)
        small, usual = untrained(family).at("ci"), untrained(BASELINE).at("ci")
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
    assert at("decoder 25k", "deep").steps == 25_000
    assert at("encoder 10k", "deep cycle").steps == 10_000


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


def test_ci_trains_two_fifths_of_the_steps():
    assert LONG.epochs / SHORT.epochs == 2.5
    assert at("decoder 10k", "deep cycle").at("ci").steps == 100
    assert at("decoder 25k", "very wide").at("ci").steps == 250
    assert untrained(at("decoder 25k", "deep")).at("ci").steps == 0


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
    x, y, _ = data.batch(lines)
    text = data.train[lines[..., 0]][..., :-1]
    hidden = y != NO_TARGET
    assert (hidden.sum(-1) == round(MASKED * 48)).all()
    assert (x[hidden] == data.mask).all()
    assert torch.equal(y[hidden], text[hidden])
    assert torch.equal(x[~hidden], text[~hidden])
    other, _, _ = data.batch(data.epoch(1, 1)[None, :2])
    assert not torch.equal(other == data.mask, x == data.mask)


def test_masks_are_drawn_evenly():
    places = masked_places(torch.arange(2000), 20).double().mean(0)
    assert float((places - MASKED).abs().max()) < 4 * math.sqrt(MASKED * (1 - MASKED) / 2000)


def test_a_pupil_learns_from_its_teacher_and_from_the_text():
    arm = SHARING.but(teacher_width=32)
    base = arm.starts_from
    assert base.arm.width == 32
    assert base.arm.keeps_weights
    teacher = model(base.arm, base.seed).module
    given = {name: p.detach() for name, p in teacher.named_parameters()}
    pupil = STUDY.reference(Run(arm, 1), SharingData(arm, given, CPU), CPU)
    x, y, epochs = first_batch(pupil.data, size=2)
    objective, loss = pupil.loss(x, y, epochs)
    with torch.no_grad():
        ours, theirs = (module(x).flatten(0, 1) for module in (pupil.module, teacher))
    softened = F.kl_div((ours / 2).log_softmax(-1), (theirs / 2).softmax(-1), reduction="batchmean")
    plain = F.cross_entropy(ours, y.flatten())
    torch.testing.assert_close(loss.detach(), plain)
    torch.testing.assert_close(objective.detach(), 0.5 * plain + 0.5 * 4 * softened)
    objective.backward()
    assert all(p.grad is None for p in pupil.teacher.parameters())
    files = KeptFiles(lambda run: to_file(given) if run == base else None)
    [(_, values)] = train(STUDY, [Run(arm, 3)], engine="loop", device=CPU, files=files)
    assert values["steps"] == STEPS_AN_EPOCH


def test_pruning_sets_the_smallest_to_zero_and_keeps_them_there():
    weight = torch.nn.Linear(10, 10)
    before = weight.weight.detach().clone()
    prune(weight, share=0.3)
    gone = weight.weight == 0
    assert int(gone.sum()) == 30
    assert before[gone].abs().max() <= before[~gone].abs().min()
    assert torch.equal(weight.weight[~gone], before[~gone])
    one = model(SHARING.but(pruned=0.5))
    assert [one.share_pruned(n) for n in (0, 1)] == [0.0, 0.5]
    with torch.no_grad():
        one.measure()
    for name, parameter in one.module.sets.named_parameters():
        if parameter.ndim == 2:
            assert int((parameter == 0).sum()) == parameter.numel() // 2, name


def test_places_halt_when_they_are_sure_enough():
    halting = Halting(4)
    torch.nn.init.zeros_(halting.likely.weight)
    for share, taken in ((0.999, 1), (0.6, 2), (0.3, 4), (0.01, 5)):
        torch.nn.init.constant_(halting.likely.bias, math.log(share / (1 - share)))
        mixture, cost = halting(torch.zeros(2, 3, 4), [lambda x: x + 1.0] * 5)
        shares = [share] * (taken - 1)
        shares.append(1 - sum(shares))
        expected = sum(s * (n + 1) for n, s in enumerate(shares))
        close = {"rtol": 1e-4, "atol": 1e-4}
        torch.testing.assert_close(mixture, torch.full((2, 3, 4), float(expected)), **close)
        torch.testing.assert_close(cost, torch.full((2, 3), float(taken + shares[-1])), **close)


def test_a_halting_model_repeats_one_set_and_pays_for_each_layer():
    arm = SHARING.but(halting=True, sets=1)
    one = model(arm)
    batch = first_batch(one.data, size=2)
    objective, loss = one.loss(*batch)
    cost = one.module.with_cost(batch[0])[1].mean()
    torch.testing.assert_close(objective, loss + 0.01 * cost)
    assert len(one.module.sets) == 1
    objective.backward()
    assert one.module.halting.likely.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("part", ["feed-forward", "block"])
def test_a_shared_part_is_one_and_the_rest_is_each_layers_own(part):
    own = model(SHARING.but(layers=4, sets=4)).module
    for among, sharing in (("first half", 2), ("last half", 2), ("all", 4)):
        arm = PARTIAL.but(part=part, among=among)
        shared = model(arm).module
        fewer = sum(p.numel() for p in shared.parameters())
        saved = sum(p.numel() for p in own.parameters()) - fewer
        layer = shared.sets[0]
        once = layer if part == "block" else torch.nn.ModuleList([layer.up, layer.down])
        assert saved == (sharing - 1) * sum(p.numel() for p in once.parameters())
        first = arm.sharing[0]
        for place in arm.sharing:
            assert shared.sets[place].up is shared.sets[first].up
            assert (shared.sets[place].attention is shared.sets[first].attention) == (
                part == "block" or place == first
            )
        for name, parameter in shared.named_parameters():
            assert torch.equal(parameter, own.get_parameter(name)), name
