"""Exact properties of finetuning: GPT-2 itself, frozen parts, places that are read, adapters."""

import copy
import dataclasses
import math
import runpy
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from repro.arm import Run
from repro.core.program import LoopProgram
from repro.data.corpus import load_byte_pairs
from repro.data.messages import load_messages
from repro.evidence.reader import EvidenceResults
from repro.studies.finetuning import data as finetune_data
from repro.studies.finetuning.arms import (
    BY_ONE,
    FIRST_ROW,
    LATER_ROWS,
    ROWS,
    PretrainArm,
)
from repro.studies.finetuning.baselines import by_first_token, by_length, by_words
from repro.studies.finetuning.data import renumbered
from repro.studies.finetuning.gpt2 import SHAPES, Shape, renamed
from repro.studies.finetuning.model import Adapted, AttentionMask, Classifier, Gpt, draw_adapters
from repro.studies.finetuning.split_arms import SplitArm
from tests.oracles import oracle
from tests.studies.small import (
    FROZEN,
    any_frozen,
    first_batch,
    loaded,
    model,
    of_noise,
    of_torchs_own_layers,
    pretrained,
    started,
    stepped,
    trained,
)
from tests.studies.small import finetuning as small

PUBLIC = [SHAPES[size] for size in ("small", "medium", "large", "xl")]
LENGTH = 20
"""The longest text where that does not matter: some messages are longer, and some are shorter."""


def gpt_of(**parameters):
    """The pretrained network, with some of its parameters changed."""
    gpt = Gpt(SHAPES["tiny"], vocabulary=1024)
    gpt.load_state_dict({**pretrained(), **parameters})
    return gpt


def finetuned(module):
    """The pretrained network with what a classifier has of its own."""
    own = module.state_dict().items()
    return gpt_of(**{name: p for name, p in own if not name.startswith("head.")})


@pytest.mark.thorough
def test_logits_are_those_of_transformers_for_the_same_weights():
    transformers = oracle("transformers")
    for shape in (Shape(32, 3, 4, context=24), *(Shape(s.width, 1, s.heads, 24) for s in PUBLIC)):
        torch.manual_seed(1)
        config = transformers.GPT2Config(
            vocab_size=50, n_positions=24, n_embd=shape.width, n_layer=shape.layers,
            n_head=shape.heads, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        )  # fmt: skip
        theirs = transformers.GPT2LMHeadModel(config).eval()
        for parameter in theirs.parameters():
            parameter.data.add_(0.1 * torch.randn(parameter.shape))
        ours = Gpt(shape, vocabulary=50)
        ours.load_state_dict(renamed(theirs.transformer.state_dict(), shape))
        tokens = torch.randint(50, (3, 20))
        with torch.no_grad():
            expected = theirs(tokens).logits
            torch.testing.assert_close(ours.next_tokens(tokens), expected, rtol=1e-4, atol=1e-4)


def test_the_network_is_gpt2_of_torchs_own_layers():
    gpt = Gpt(Shape(16, 2, 2, context=12), vocabulary=20)
    tokens = torch.randint(20, (3, 9), generator=torch.Generator().manual_seed(1))
    expected = of_torchs_own_layers(
        of_noise(gpt), tokens, ["blocks.0", "blocks.1"],
        query_key_value=[f"attention.{part}." for part in ("query", "key", "value")],
        activation=partial(F.gelu, approximate="tanh"), causal=True,
    )  # fmt: skip
    torch.testing.assert_close(gpt.next_tokens(tokens), expected, rtol=1e-5, atol=1e-5)


def test_the_sizes_are_gpt2s():
    with torch.device("meta"):
        for shape, millions in zip(PUBLIC, (124, 355, 774, 1558), strict=True):
            gpt = Gpt(dataclasses.replace(shape, layers=1), vocabulary=50257)
            block = sum(p.numel() for p in gpt.blocks.parameters())
            count = sum(p.numel() for p in gpt.parameters()) + (shape.layers - 1) * block
            assert round(count / 1e6) == millions
        for trained, count in (
            ("last layer", 1_538), ("last block", 7_090_946), ("last two blocks", 14_178_818),
        ):  # fmt: skip
            module = Classifier(FIRST_ROW.but(trained=trained), 50257)
            assert sum(p.numel() for p in module.parameters()) == count


@pytest.mark.parametrize(
    "settings",
    [st.sampled_from(FROZEN), pytest.param(any_frozen, marks=pytest.mark.thorough)],
    ids=["each depth", "any"],
)
@given(data=st.data())
def test_what_is_computed_once_changes_nothing(settings, data):
    """A classifier on features has the loss and the gradients of a whole network."""
    arm = small(FIRST_ROW, longest=LENGTH, **data.draw(settings))
    one = model(arm, 3)
    rows = slice(40, 52)
    loss, _ = one.loss(*one.data.train.rows(rows))
    loss.backward()

    whole = loaded(small(FIRST_ROW, trained="all", token="last word", longest=LENGTH)).train
    length, ends = whole.x.shape[1], whole.read[rows]
    words = None if arm.attends_padding else torch.arange(length) <= ends[:, None]
    gpt, head = finetuned(one.module), copy.deepcopy(one.module.head)
    head.zero_grad()
    h = gpt(whole.x[rows], AttentionMask(arm.causal, words))
    if arm.token == "mean":
        answers = head(h).mean(1)
    else:
        at = {"last": torch.full_like(ends, length - 1), "first": torch.zeros_like(ends)}
        answers = head(h)[torch.arange(12), at.get(arm.token, ends)]
    expected = F.cross_entropy(answers, whole.is_spam[rows])
    expected.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-6)
    theirs = torch.nn.ModuleDict({"gpt": gpt, "head": head})
    for name, p in one.module.named_parameters():
        name = name if name.startswith("head.") else f"gpt.{name}"
        torch.testing.assert_close(p.grad, theirs.get_parameter(name).grad, rtol=1e-3, atol=1e-6)


@given(position=st.integers(0, 9), causal=st.booleans(), seed=st.integers(0, 99))
def test_a_position_depends_on_what_comes_after_it_only_without_the_mask(position, causal, seed):
    gpt = gpt_of()
    tokens = torch.randint(1024, (2, 12), generator=torch.Generator().manual_seed(seed))
    changed = tokens.clone()
    changed[:, position + 1 :] = (changed[:, position + 1 :] + 7) % 1024
    with torch.no_grad():
        mask = AttentionMask(causal)
        before, after = (gpt(x, mask)[:, : position + 1] for x in (tokens, changed))
    assert torch.equal(before, after) == causal


@pytest.mark.parametrize(
    ("trained", "causal"), [("last block", True), ("all", True), ("last block", False)]
)
def test_no_padding_is_the_text_alone(trained, causal):
    arm = small(LATER_ROWS[15], trained=trained, causal=causal)
    one = model(arm, 3)
    messages = load_messages(arm.data, tokenizer=arm.tokenizer).test
    x, read, _, *words = one.data.test.rows(slice(0, 8))
    gpt = finetuned(one.module)
    with torch.no_grad():
        ours = one.module(x, read, words[0] if words else None, causal)
        for row in range(8):
            tokens = torch.from_numpy(messages.tokens[row].astype("int64"))[None]
            alone = one.module.head(gpt(tokens, AttentionMask(causal, None)))[0, -1]
            torch.testing.assert_close(ours[row], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("trained", ["last block", "all", "lora"])
def test_accumulated_messages_are_a_batch(trained):
    one = model(small(LATER_ROWS[15], trained=trained), 3)
    rows = first_batch(one.data, size=8)
    one.loss(*rows)[0].backward()
    together = {name: p.grad.clone() for name, p in one.module.named_parameters()}
    one.module.zero_grad()
    for row in range(8):
        (one.loss(*(x[row : row + 1] for x in rows))[0] / 8).backward()
    for name, parameter in one.module.named_parameters():
        torch.testing.assert_close(parameter.grad, together[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["last block", "lora"])
def test_what_is_frozen_is_unchanged_to_the_bit(kind):
    arm = small(FIRST_ROW, trained=kind, longest=LENGTH)
    before = {name: p.clone() for name, p in pretrained().items()}
    program, data = started(LoopProgram, [Run(arm, 3)])
    stepped(program, data)
    assert all(torch.equal(pretrained()[name], p) for name, p in before.items())
    module = program.model.module
    if kind == "lora":
        for name, was in before.items():
            path, _, last = name.rpartition(".")
            part = module.get_submodule(path)
            assert torch.equal(getattr(getattr(part, "linear", part), last), was), name
    for name, parameter in model(arm, 3).module.named_parameters():
        assert not torch.equal(parameter, module.get_parameter(name)), name


def merged(adapted):
    """A plain layer with the output of an adapted one."""
    plain = copy.deepcopy(adapted.linear)
    plain.weight += adapted.alpha * (adapted.a @ adapted.b).T
    return plain


def test_adapters_change_nothing_at_first_and_then_add_their_product():
    arm = small(ROWS[9], rank=3)
    program, data = started(LoopProgram, [Run(arm, 3)])
    module = program.model.module
    x, read, *_ = data.test.rows(slice(0, 8))
    untouched = model(arm.but(trained="all"), 3).module
    with torch.no_grad():
        at_first = untouched(x, read, None, True)
        assert torch.equal(module(x, read, None, True), at_first)
    stepped(program, data, 4)
    with torch.no_grad():
        adapted = module(x, read, None, True)
        assert not torch.allclose(adapted, at_first, atol=1e-3)
        for part in module.modules():
            for name, child in list(part.named_children()):
                if isinstance(child, Adapted):
                    setattr(part, name, merged(child))
        torch.testing.assert_close(module(x, read, None, True), adapted, rtol=1e-4, atol=1e-5)


@pytest.mark.thorough
@given(
    rank=st.integers(1, 4),
    alpha=st.floats(0.5, 32),
    reads=st.integers(1, 8),
    gives=st.integers(1, 8),
    seed=st.integers(0, 99),
)
def test_adapters_are_those_of_peft(rank, alpha, reads, gives, seed):
    peft = oracle("peft")
    torch.manual_seed(seed)
    theirs = peft.get_peft_model(
        torch.nn.Sequential(torch.nn.Linear(reads, gives)),
        peft.LoraConfig(r=rank, lora_alpha=alpha * rank, target_modules=["0"], lora_dropout=0.0),
    )
    layer = theirs.base_model.model[0]
    plain = torch.nn.Linear(reads, gives)
    plain.load_state_dict(layer.base_layer.state_dict())
    ours = Adapted(plain, rank=rank, alpha=alpha)
    with torch.no_grad():
        for mine, its in ((ours.a, layer.lora_A["default"]), (ours.b, layer.lora_B["default"])):
            mine.normal_()
            its.weight.copy_(mine.T)
    x = torch.randn(5, reads)
    close = {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(ours(x), theirs(x), **close)
    ours(x).square().sum().backward()
    theirs(x).square().sum().backward()
    scale = max(1.0, float(layer.lora_A["default"].weight.grad.abs().max()))
    for mine, its in ((ours.a, layer.lora_A["default"]), (ours.b, layer.lora_B["default"])):
        torch.testing.assert_close(mine.grad / scale, its.weight.grad.T / scale, **close)


@pytest.mark.parametrize(
    ("adapted", "count"), [("every layer", 4 * 6 + 1), ("attention", 4 * 4), ("head", 1)]
)
def test_adapters_stand_where_the_arm_says(adapted, count):
    module = model(small(ROWS[9], adapted=adapted), 3).module
    names = {name for name, part in module.named_modules() if isinstance(part, Adapted)}
    assert len(names) == count
    assert adapted == "every layer" or all(adapted in name for name in names)
    trained = {name for name, _ in module.named_parameters()}
    head = {"head.linear.weight", "head.linear.bias"}
    if adapted == "attention":
        head = {"head.weight", "head.bias"}
    assert trained == {f"{name}.{x}" for name in names for x in "ab"} | head


def test_adapters_have_the_documented_rank_and_scale_and_cost_less_where_they_are_fewer():
    assert (ROWS[9].rank, ROWS[9].alpha) == (16, 8)  # its usage: --lora_rank 16 --lora_alpha 8
    costs = [ROWS[9].but(adapted=x).multiplications for x in ("every layer", "attention", "head")]
    assert costs[2] < ROWS[1].multiplications < costs[1] < costs[0]
    assert costs[1] < ROWS[4].multiplications


def test_adapters_start_as_the_source_starts_them():
    torch.manual_seed(1)
    like = {
        "normal": torch.empty(400, 16).normal_().div_(math.sqrt(16)),
        "kaiming": torch.nn.init.kaiming_uniform_(torch.empty(400, 16), a=math.sqrt(5)),
    }
    for kind, drawn in like.items():
        module = torch.nn.ModuleList([Adapted(torch.nn.Linear(400, 3), rank=16, alpha=1.0)])
        draw_adapters(module, 1, kind)
        assert float(module[0].a.detach().std()) == pytest.approx(float(drawn.std()), rel=0.05)
        if kind == "kaiming":
            assert module[0].a.abs().max() <= drawn.abs().max() * 1.01
        assert not module[0].b.any()


def test_random_weights_are_pytorchs_defaults():
    arm = small(ROWS[8])
    ours, default = model(arm, 3).module, Classifier(arm, 1024)
    for name, theirs in default.named_parameters():
        drawn = ours.get_parameter(name).detach()
        if theirs.numel() > 1000:
            assert float(drawn.std()) == pytest.approx(float(theirs.detach().std()), rel=0.05), name
        elif "norm" in name:
            assert torch.equal(drawn, theirs)


def one_epoch(arm, **changes):
    recipe = arm.at("ci").recipe.but(epochs=1, batch=32)
    return trained(small(arm, recipe=recipe, longest=LENGTH, **changes), 3)


@pytest.fixture(scope="module")
def usual():
    return one_epoch(FIRST_ROW)


def test_a_label_that_no_message_has_changes_nothing_when_ignored(usual):
    assert one_epoch(LATER_ROWS[18]) == usual
    assert one_epoch(FIRST_ROW, ignored_label=1)["history"] != usual["history"]


def test_accuracies_are_the_means_of_what_they_list(usual):
    measures = usual["measures"]
    assert len(measures["test_right"]) == 300
    assert len(measures["validation_right"]) == 149
    for part in ("test", "validation"):
        mean = sum(measures[f"{part}_right"]) / len(measures[f"{part}_right"])
        assert measures[f"{part}_accuracy"] == pytest.approx(mean, abs=1e-12)
        gap = measures["train_accuracy"] - measures[f"{part}_accuracy"]
        assert measures[f"train_over_{part}"] == pytest.approx(gap, abs=1e-12)


def test_pretraining_is_measured_on_the_validation_text():
    arm = PretrainArm(data="wikitext-2-twin", messages="sms-spam-twin", tokenizer="gpt2-bpe-twin")
    text = load_byte_pairs(arm.data, tokenizer=arm.tokenizer).validation[: 32 * 512 + 1]
    numbers = renumbered(
        corpus=arm.data, messages=arm.messages, tokenizer=arm.tokenizer, size=arm.vocabulary
    )[text]
    expected = [numbers[at : at + 513].tolist() for at in range(0, 32 * 512, 512)]
    found = loaded(arm).validation.tolist()
    assert found == expected[: len(found)]
    assert len(found) == min(32, len(numbers[:-1]) // 512)


def test_each_accuracy_is_of_its_own_messages():
    one = model(small(FIRST_ROW, longest=LENGTH), 3)
    with torch.no_grad():
        measures = one.measure()
        for name, count in (("train", 1045), ("validation", 149), ("test", 300)):
            x, read, is_spam = getattr(one.data, name).rows(slice(None))
            right = one.module(x, read, None, True).argmax(1) == is_spam
            assert len(right) == count
            assert measures[f"{name}_accuracy"] == right.double().mean().item(), name


def test_features_are_computed_once_for_all_seeds_and_arms_above_them(monkeypatch):
    calls = []
    monkeypatch.setattr(finetune_data, "computed", lambda *given: calls.append(1) or torch.zeros(1))
    monkeypatch.setattr(finetune_data, "_COMPUTED", {})

    def load(**settings):
        loaded(small(FIRST_ROW, longest=LENGTH, **settings))
        return len(calls)

    assert [load(token=token) for token in ("last", "last word", "mean")] == [3] * 3  # of its parts
    assert load(causal=False) == 6
    assert load(trained="last layer") == 9  # of the place alone that is read
    assert load(trained="last layer", token="mean") == 12
    assert load() == 12
    monkeypatch.setattr(finetune_data, "KEPT_BYTES", 0)
    assert load(trained="last two blocks") == 15
    assert load() == 18


def test_messages_are_padded_cut_and_read_where_the_arm_says():
    messages = load_messages("sms-spam-twin", tokenizer="gpt2-bpe-twin")
    longest = int(messages.train.tokens.lengths.max())
    usual = loaded(small(FIRST_ROW, trained="all"))
    assert usual.train.x.shape == (1045, longest)
    assert set(usual.test.read.tolist()) == {longest - 1}
    row = messages.train.tokens[7]
    assert usual.train.x[7, : len(row)].tolist() == row.tolist()
    assert set(usual.train.x[7, len(row) :].tolist()) == {1023}
    cut = loaded(small(FIRST_ROW, longest=9, token="last word", trained="all"))
    assert cut.train.x.shape == (1045, 9)
    assert cut.train.read.tolist() == [min(n, 9) - 1 for n in messages.train.tokens.lengths]
    for arm, length in ((ROWS[10], 512), (ROWS[2], 1), (ROWS[2].but(causal=False), longest)):
        assert loaded(small(arm, trained="all")).test.x.shape == (300, length)


def test_the_smaller_vocabulary_keeps_the_messages_own_tokens():
    given = {"corpus": "wikitext-2-twin", "messages": "sms-spam-twin"}
    whole = renumbered(**given, tokenizer="gpt2-bpe-twin", size=1024)
    assert whole.tolist() == list(range(1024))
    numbers = renumbered(**given, tokenizer="gpt2-bpe-twin", size=700)
    assert numbers[1023] == 0  # the end of a text, which is the padding
    assert sorted(set(numbers.tolist())) == list(range(700))
    tokens = load_messages("sms-spam-twin", tokenizer="gpt2-bpe-twin").train.tokens.tokens
    assert (numbers[np.bincount(tokens, minlength=1024) >= 2] < 699).all()
    kept = numbers[numbers < 699]
    assert len(kept) == len(set(kept.tolist())) == 699


def test_baselines_are_what_they_say():
    messages = load_messages("sms-spam-twin", tokenizer="gpt2-bpe-twin")
    train_part, test = messages.train, messages.test
    lengths, is_spam = train_part.tokens.lengths, train_part.is_spam.astype(bool)
    best = max(range(60), key=lambda n: ((lengths >= n) == is_spam).sum())
    assert (by_length(train_part, test, 1024) == (test.tokens.lengths >= best)).all()
    of_first = {}
    for message, spam in zip(train_part.tokens, is_spam, strict=True):
        of_first.setdefault(int(message[0]), []).append(spam)
    for message, answer in zip(test.tokens, by_first_token(train_part, test, 1024), strict=True):
        votes = of_first.get(int(message[0]), [])
        if 2 * sum(votes) != len(votes):
            assert answer == (2 * sum(votes) > len(votes))
    logs = []
    for kind in (False, True):
        tokens = np.concatenate([m for m, s in zip(train_part.tokens, is_spam, strict=True)
                                 if s == kind])  # fmt: skip
        counts = np.bincount(tokens, minlength=1024) + 1
        logs.append((counts / counts.sum(), math.log((is_spam == kind).mean())))
    for message, answer in zip(test.tokens, by_words(train_part, test, 1024), strict=True):
        ham, spam = (prior + np.log(share[message]).sum() for share, prior in logs)
        assert answer == (spam > ham)


def test_the_rates_of_an_update_are_kept_where_the_model_is_smaller():
    paper, ci = ROWS[9], ROWS[9].at("ci")
    assert paper.recipe.lr * paper.shape.width == pytest.approx(ci.recipe.lr * ci.shape.width)
    assert paper.rank / paper.shape.width == pytest.approx(ci.rank / ci.shape.width)
    assert paper.steps == ci.steps == 650
    assert BY_ONE.steps == 5225
    longer = ROWS[10].shape.context / FIRST_ROW.longest
    assert ROWS[10].at("ci").shape.context / FIRST_ROW.at("ci").longest == pytest.approx(
        longer, rel=0.07
    )


def test_heads_differ_between_seeds_and_are_shared_between_arms():
    def head(arm, seed):
        return model(small(arm, longest=9), seed).module.head

    one = head(FIRST_ROW, 3)
    for kind in ("weight", "bias"):
        assert not torch.equal(getattr(one, kind), getattr(head(FIRST_ROW, 4), kind))
        for arm in (ROWS[3], ROWS[8]):
            assert torch.equal(getattr(one, kind), getattr(head(arm, 3), kind))


SPLIT = small(SplitArm(trained="lora"), longest=20)


@pytest.fixture(scope="module")
def splits():
    return loaded(SPLIT)


def test_each_seed_has_parts_of_the_documented_sizes_of_all_messages(splits):
    sizes = [len(part.is_spam) for part in (splits.train, splits.validation, splits.test)]
    first, second = splits.split(1), splits.split(2)
    assert [len(part) for part in first] == sizes
    assert torch.cat(first).sort().values.tolist() == list(range(sum(sizes)))
    assert not torch.equal(first[2].sort().values, second[2].sort().values)
    assert all(map(torch.equal, first, splits.split(1)))


def test_a_run_trains_on_the_messages_of_its_seed_and_is_measured_on_the_others(splits):
    train, validation, test = splits.split(3)
    epochs = [splits.epoch(3, number)[:, 0] for number in range(2)]
    assert not torch.equal(*epochs)
    assert all(torch.equal(epoch.sort().values, train.sort().values) for epoch in epochs)
    x, _, is_spam = splits.batch(epochs[0][None, :4, None])
    assert torch.equal(x[0], splits.messages.x[epochs[0][:4]])
    assert torch.equal(is_spam[0], splits.messages.is_spam[epochs[0][:4]])
    measured = model(SPLIT, seed=3)
    found = measured.measure()
    for part, numbers in (("validation", validation), ("test", test)):
        rows = splits.messages.rows(numbers)
        right = measured.answers(*rows[:2], None).argmax(1) == rows[2]
        assert found[f"{part}_right"] == right.double().tolist()
        assert found[f"{part}_accuracy"] == pytest.approx(float(right.double().mean()))


def test_a_frozen_part_is_refused():
    with pytest.raises(ValueError, match="train 'all' or 'lora'"):
        SplitArm(trained="last block")


@pytest.mark.thorough
def test_the_chosen_rates_are_those_of_the_best_validation():
    root = Path(__file__).parents[2]
    claims = runpy.run_path(str(root / "claims/test_finetuning.py"))
    results = EvidenceResults.read([root / "evidence/ci-real.jsonl.gz"], project=root)
    for (rank, epochs), chosen in claims["CHOSEN"].items():
        mean = {}
        for rate in claims["GRID"]:
            trained = "all" if rank is None else "lora"
            arm = claims["on_splits"](trained, rank=rank, epochs=epochs, rate=rate).at("ci")
            runs = [results.get(Run(arm, seed)).values["measures"] for seed in arm.seeds(5)]
            mean[rate] = sum(run["validation_accuracy"] for run in runs) / 5
        assert max(mean, key=mean.__getitem__) == chosen
