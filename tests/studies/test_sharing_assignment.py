"""The rules for sharing, the network that shares, and its scores against a public harness."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from repro.data.bpe import load_tokenizer
from repro.data.files import read_file
from repro.data.pairs import read_pairs
from repro.data.passages import load_passages, read_passages
from repro.studies.parameter_sharing.arms import (
    STRATEGIES,
    SharingArm,
    assigned,
    cycle,
    cycle_reversed,
    sequence,
)
from repro.studies.parameter_sharing.model import SharingTransformer
from repro.studies.parameter_sharing.scoring import (
    LastWords,
    Reader,
    by_paradigm,
    mutual_information,
    preferred,
)
from tests.oracles import oracle
from tests.studies.small import of_noise, of_torchs_own_layers

sizes = st.tuples(st.integers(1, 30), st.integers(1, 12))


def printed_sequence(n, m):
    """The paper's algorithm, line by line, counting from 1."""
    order, current = [], 0
    for i in range(1, n + 1):
        if i == 1 or (i - 1) % (n // m) == 0:
            current += 1
        order.append(current)
    return order


def printed_cycle(n, m):
    return [i if i <= m else (i - 1) % m + 1 for i in range(1, n + 1)]


def printed_cycle_reversed(n, m):
    order = []
    for i in range(1, n + 1):
        if i <= m:
            order.append(i)
        elif i <= m * (-(-n // m) - 1):
            order.append((i - 1) % m + 1)
        else:
            order.append(m - (i - 1) % m)
    return order


def test_the_rules_are_those_of_the_paper_but_for_too_many_sets():
    assert max(printed_sequence(12, 8)) == 12
    for n, m in product(range(1, 37), range(1, 13)):
        if n >= m:
            printed = [min(place, m) for place in printed_sequence(n, m)]
            assert [place + 1 for place in sequence(n, m)] == printed
            assert [place + 1 for place in cycle(n, m)] == printed_cycle(n, m)
            assert [place + 1 for place in cycle_reversed(n, m)] == printed_cycle_reversed(n, m)


def network(order, *, vocabulary=40, noise=0.0, **changes):
    """A small network, of which noise makes the answers differ."""
    settings = {"width": 16, "head": 4, "context": 12, "strategy": "cycle"} | changes
    arm = SharingArm(layers=len(order), sets=max(order) + 1, **settings)
    assert arm.order == tuple(order)
    torch.manual_seed(1)
    module = SharingTransformer(arm, vocabulary=vocabulary)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(noise * torch.randn(parameter.shape))
    return module


@given(size=sizes, strategy=st.sampled_from(sorted(STRATEGIES)))
def test_the_parameters_are_those_of_its_sets(size, strategy):
    layers, sets = size
    model = network(assigned(strategy, layers=layers, sets=sets), strategy=strategy)
    d, hidden = 16, 64
    each = 4 * (d * d + d) + 2 * d * hidden + hidden + d + 4 * d
    assert sum(p.numel() for p in model.parameters()) == (
        min(layers, sets) * each + 40 * d + 12 * d + 2 * d
    )


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_the_network_is_made_of_torchs_own_layers(kind):
    arm = SharingArm(kind=kind, width=16, head=8, layers=3, sets=2, strategy="cycle", context=12)
    model = SharingTransformer(arm, vocabulary=20)
    tokens = torch.randint(20, (3, 9), generator=torch.Generator().manual_seed(1))
    expected = of_torchs_own_layers(
        of_noise(model), tokens, ["sets.0", "sets.1", "sets.0"],
        query_key_value=["attention.query_key_value."], activation="gelu", causal=kind == "decoder",
    )  # fmt: skip
    torch.testing.assert_close(model(tokens), expected, rtol=1e-5, atol=1e-5)


def test_shapes_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="layers=0 and sets=2 must be at least 1"):
        assigned("cycle", layers=0, sets=2)


VOCABULARY = 1025  # the twin's, and a mask
END, MASK = 1023, 1024
TOKENIZER = "gpt2-bpe-twin"


def reader_of(*, causal, context=64, **options):
    """What scores with a network, and the network."""
    kind = "decoder" if causal else "encoder"
    module = network((0, 1, 0), vocabulary=VOCABULARY, noise=0.3, kind=kind, context=context)
    return Reader(module, END, *([] if causal else [MASK]), **options), module


text = st.lists(st.integers(0, 1022), min_size=1, max_size=12).map(
    lambda tokens: np.array(tokens, dtype=np.uint16)
)
texts = st.lists(text, min_size=1, max_size=8)
passages = st.lists(st.tuples(text, text), min_size=1, max_size=8)


def by_hand(decoder, text, read=(END,)):
    """The score of a text after another, token by token, and whether each is the likeliest."""
    read, total, right = list(read), 0.0, True
    for token in text.tolist():
        log_p = decoder(torch.tensor([read]))[0, -1].log_softmax(-1)
        total += float(log_p[token])
        right &= int(log_p.argmax()) == token
        read.append(token)
    return total, right


def by_hand_masked(encoder, text):
    total = 0.0
    for place, token in enumerate(text.tolist()):
        shown = [END, *text.tolist(), END]
        shown[place + 1] = MASK
        total += float(encoder(torch.tensor([shown]))[0, place + 1].log_softmax(-1)[token])
    return total, None


@given(texts, st.integers(1, 40))
@torch.no_grad()
def test_scores_are_sums_over_tokens_whatever_is_scored_together(given_texts, at_once):
    for causal, by in ((True, by_hand), (False, by_hand_masked)):
        reader, module = reader_of(causal=causal, at_once=at_once)
        expected = [by(module, text)[0] for text in given_texts]
        assert reader.scores(given_texts).tolist() == pytest.approx(expected, rel=1e-4)


@given(passages)
@torch.no_grad()
def test_last_words_are_told_token_by_token(given_passages):
    contexts, words = zip(*given_passages, strict=True)
    reader, decoder = reader_of(causal=True)
    told = reader.last_words(contexts, words, longest=64)
    expected = [by_hand(decoder, word, context.tolist()) for context, word in given_passages]
    assert told.score.tolist() == pytest.approx([score for score, _ in expected], rel=1e-4)
    assert told.is_first.tolist() == [right for _, right in expected]


@given(passages)
@torch.no_grad()
def test_an_encoder_sees_a_mask_for_every_token_of_the_last_word(given_passages):
    contexts, words = zip(*given_passages, strict=True)
    reader, encoder = reader_of(causal=False)
    told = reader.last_words(contexts, words, longest=64)
    for row, (context, word) in enumerate(zip(contexts, words, strict=True)):
        shown = [END, *context.tolist(), *[MASK] * len(word), END]
        log_p = encoder(torch.tensor([shown]))[0].log_softmax(-1)[len(context) + 1 : -1]
        total = sum(float(at[token]) for at, token in zip(log_p, word.tolist(), strict=True))
        assert float(told.score[row]) == pytest.approx(total, rel=1e-4)
        assert bool(told.is_first[row]) == (log_p.argmax(1).tolist() == word.tolist())


def test_of_a_long_passage_the_end_is_read():
    rng = np.random.default_rng(1)
    context, word = (rng.integers(0, 1023, n).astype(np.uint16) for n in (30, 2))
    for causal, room in ((True, 12 - 1), (False, 12 - 4)):  # beside the word, and what frames it
        reader, _ = reader_of(causal=causal, context=12)
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
    assert mutual_information(same) < 1e-12
    sure = 50.0 * torch.eye(20)  # another answer to each of 20 inputs
    assert mutual_information(sure) == pytest.approx(np.log(20), rel=1e-6)
    assert 0 < mutual_information(torch.randn(20, 50)) < np.log(20)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_scores_are_those_of_the_evaluation_harness(tmp_path):
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
    for ours, name in (("encoder.json", "vocab.json"), ("vocab.bpe", "merges.txt")):
        (tmp_path / name).write_bytes(read_file(TOKENIZER, ours))
    pieces = transformers.GPT2TokenizerFast.from_pretrained(tmp_path)
    theirs = oracle("lm_eval.models.huggingface").HFLM(
        pretrained=network, tokenizer=pieces, batch_size=4, device="cpu"
    )
    reader = Reader(lambda tokens: network(tokens).logits, END)
    tokenizer = load_tokenizer(TOKENIZER)

    def asked(*requests):
        instances = [
            instance.Instance("loglikelihood", {}, arguments=request, idx=n)
            for n, request in enumerate(requests)
        ]
        scores, greedy = zip(*theirs.loglikelihood(instances, disable_tqdm=True), strict=True)
        return torch.tensor(scores, dtype=torch.float64), list(greedy)

    close = {"rtol": 1e-4, "atol": 1e-3}
    sentences = [s for pairs in read_pairs("blimp-twin").values() for pair in pairs[:4]
                 for s in pair]  # fmt: skip
    ours = reader.scores([np.array(tokenizer.encode(s), dtype=np.uint16) for s in sentences])
    torch.testing.assert_close(ours, asked(*(("", s) for s in sentences))[0], **close)

    passages = read_passages("lambada-twin", "openai")[:12]
    loaded = load_passages("lambada-twin", "openai", tokenizer=TOKENIZER)
    told = reader.last_words(
        [loaded.context[n] for n in range(12)], [loaded.last[n] for n in range(12)], longest=64
    )
    scores, greedy = asked(*((context, f" {last}") for context, last in passages))
    torch.testing.assert_close(told.score, scores, **close)
    assert told.is_first.tolist() == greedy
