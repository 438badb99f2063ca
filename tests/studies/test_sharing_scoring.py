"""Scores of sentences and last words, against lm-evaluation-harness and by hand."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from repro.data.bpe import load_tokenizer
from repro.data.files import read_file
from repro.data.pairs import read_pairs
from repro.data.passages import load_passages, read_passages
from repro.studies.parameter_sharing.model import Shape, SharingTransformer
from repro.studies.parameter_sharing.scoring import (
    LastWords,
    Reader,
    by_paradigm,
    preferred,
    told_by_the_input,
)
from tests.oracles import oracle

VOCABULARY = 1025  # the twin's, and a mask
END, MASK = 1023, 1024
TOKENIZER = "gpt2-bpe-twin"


def model(*, causal, context=64, seed=1):
    shape = Shape(width=16, heads=2, hidden=32, context=context, causal=causal)
    torch.manual_seed(seed)
    model = SharingTransformer(shape, (0, 1, 0), vocabulary=VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    return model


text = st.lists(st.integers(0, 1022), min_size=1, max_size=12).map(
    lambda tokens: np.array(tokens, dtype=np.uint16)
)
texts = st.lists(text, min_size=1, max_size=8)
passages = st.lists(st.tuples(text, text), min_size=1, max_size=8)


def by_hand(decoder, text):
    """Score a text token by token."""
    read, total = [END], 0.0
    for token in text.tolist():
        total += float(decoder(torch.tensor([read]))[0, -1].log_softmax(-1)[token])
        read.append(token)
    return total


def by_hand_masked(encoder, text):
    total = 0.0
    for place, token in enumerate(text.tolist()):
        shown = [END, *text.tolist(), END]
        shown[place + 1] = MASK
        total += float(encoder(torch.tensor([shown]))[0, place + 1].log_softmax(-1)[token])
    return total


@given(texts, st.integers(1, 40))
def test_scores_are_sums_over_tokens_whatever_is_scored_together(given_texts, at_once):
    decoder, encoder = model(causal=True), model(causal=False)
    with torch.no_grad():
        left = Reader(decoder, END, at_once=at_once).scores(given_texts)
        masked = Reader(encoder, END, MASK, at_once=at_once).scores(given_texts)
        for row, text in enumerate(given_texts):
            assert float(left[row]) == pytest.approx(by_hand(decoder, text), rel=1e-4)
            assert float(masked[row]) == pytest.approx(by_hand_masked(encoder, text), rel=1e-4)


@given(passages)
@torch.no_grad()
def test_last_words_are_told_token_by_token(given_passages):
    contexts, words = zip(*given_passages, strict=True)
    decoder = model(causal=True)
    told = Reader(decoder, END).last_words(contexts, words, longest=64)
    for row, (context, word) in enumerate(zip(contexts, words, strict=True)):
        read, total, right = context.tolist(), 0.0, True
        for token in word.tolist():
            log_p = decoder(torch.tensor([read]))[0, -1].log_softmax(-1)
            total += float(log_p[token])
            right &= int(log_p.argmax()) == token
            read.append(token)
        assert float(told.score[row]) == pytest.approx(total, rel=1e-4)
        assert bool(told.is_first[row]) == right


@given(passages)
@torch.no_grad()
def test_an_encoder_sees_a_mask_for_every_token_of_the_last_word(given_passages):
    contexts, words = zip(*given_passages, strict=True)
    encoder = model(causal=False)
    told = Reader(encoder, END, MASK).last_words(contexts, words, longest=64)
    for row, (context, word) in enumerate(zip(contexts, words, strict=True)):
        shown = [END, *context.tolist(), *[MASK] * len(word), END]
        log_p = encoder(torch.tensor([shown]))[0].log_softmax(-1)[len(context) + 1 : -1]
        total = sum(float(at[token]) for at, token in zip(log_p, word.tolist(), strict=True))
        assert float(told.score[row]) == pytest.approx(total, rel=1e-4)
        assert bool(told.is_first[row]) == (log_p.argmax(1).tolist() == word.tolist())


def test_of_a_long_passage_the_end_is_read():
    rng = np.random.default_rng(1)
    context, word = (rng.integers(0, 1023, n).astype(np.uint16) for n in (30, 2))
    for mask, room in ((None, 12 - 1), (MASK, 12 - 4)):  # beside the word, and what frames it
        reader = Reader(model(causal=mask is None, context=12), END, mask)
        whole = reader.last_words([context], [word], longest=12)
        cut = reader.last_words([context[-room:]], [word], longest=12)
        assert torch.equal(whole.score, cut.score)
        shorter = reader.last_words([context[-room + 1 :]], [word], longest=12)
        assert not torch.equal(whole.score, shorter.score)


def test_accuracy_and_perplexity_are_of_whole_words():
    told = LastWords(torch.tensor([-1.0, -3.0], dtype=torch.float64), torch.tensor([True, False]))
    assert told.accuracy == 0.5
    assert told.perplexity == pytest.approx(np.exp(2.0))


def test_ties_prefer_neither_sentence():
    good = torch.tensor([-1.0, -2.0, -3.0])
    assert preferred(good, torch.tensor([-2.0, -2.0, -2.0])).tolist() == [1.0, 0.5, 0.0]
    assert by_paradigm(torch.tensor([1.0, 0.5, 0.0]), np.array([0, 1, 1])) == [1.0, 0.25]


def test_a_collapsed_model_is_known_by_what_it_does_not_depend_on():
    torch.manual_seed(1)
    same = torch.randn(50).expand(20, 50)
    assert told_by_the_input(same) < 1e-12
    sure = 50.0 * torch.eye(20)  # another answer to each of 20 inputs
    assert told_by_the_input(sure) == pytest.approx(np.log(20), rel=1e-6)
    assert 0 < told_by_the_input(torch.randn(20, 50)) < np.log(20)


def harness(network):
    """lm-evaluation-harness around a transformers model of the twin's vocabulary."""
    huggingface = oracle("lm_eval.models.huggingface")
    transformers = oracle("transformers")
    tokenizers = oracle("tokenizers")
    lines = read_file(TOKENIZER, "vocab.bpe").decode().split("\n")[1:]
    pairs = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            json.loads(read_file(TOKENIZER, "encoder.json")),
            [tuple(line.split(" ")) for line in lines if line],
        )
    )
    pairs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=pairs, bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    )
    return huggingface.HFLM(pretrained=network, tokenizer=tokenizer, batch_size=4, device="cpu")


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_scores_are_those_of_the_evaluation_harness():
    instance = oracle("lm_eval.api.instance")
    transformers = oracle("transformers")
    torch.manual_seed(1)
    config = transformers.GPT2Config(
        vocab_size=1024, n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=END,
        eos_token_id=END,
    )  # fmt: skip
    network = transformers.GPT2LMHeadModel(config).eval()
    for parameter in network.parameters():
        parameter.data.add_(0.2 * torch.randn(parameter.shape))
    theirs = harness(network)
    reader = Reader(lambda tokens: network(tokens).logits, END)
    tokenizer = load_tokenizer(TOKENIZER)

    def asked(requests):
        return theirs.loglikelihood(
            [
                instance.Instance("loglikelihood", {}, arguments=request, idx=n)
                for n, request in enumerate(requests)
            ],
            disable_tqdm=True,
        )

    sentences = [s for pairs in read_pairs("blimp-twin").values() for pair in pairs[:4]
                 for s in pair]  # fmt: skip
    ours = reader.scores([np.array(tokenizer.encode(s), dtype=np.uint16) for s in sentences])
    expected = [score for score, _ in asked([("", sentence) for sentence in sentences])]
    torch.testing.assert_close(
        ours, torch.tensor(expected, dtype=torch.float64), rtol=1e-4, atol=1e-3
    )

    passages = read_passages("lambada-twin", "openai")[:12]
    loaded = load_passages("lambada-twin", "openai", tokenizer=TOKENIZER)
    told = reader.last_words(
        [loaded.context[n] for n in range(12)], [loaded.last[n] for n in range(12)], longest=64
    )
    expected = asked([(context, f" {last}") for context, last in passages])
    torch.testing.assert_close(
        told.score,
        torch.tensor([s for s, _ in expected], dtype=torch.float64),
        rtol=1e-4,
        atol=1e-3,
    )
    assert told.is_first.tolist() == [greedy for _, greedy in expected]
