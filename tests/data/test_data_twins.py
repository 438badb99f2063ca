"""The text twins: made again byte for byte, shaped as they should be, and without shortcuts."""

import math
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest

from repro.data.files import file_names, read_file
from repro.data.pairs import read_pairs
from repro.data.passages import read_passages
from scripts import twins
from scripts.twins.lexicon import TOPICS
from scripts.twins.messages import messages

pytestmark = pytest.mark.thorough  # they are about files that change with their generators alone


@pytest.fixture(scope="module")
def made():
    return twins.texts()


@pytest.fixture(scope="module")
def training_words():
    return read_file("wikitext-2-twin", "wiki.train.tokens").decode().lower().split()


def test_the_texts_are_made_again_byte_for_byte(made):
    for name, files in made.items():
        assert sorted(files) == file_names(f"{name}-twin")
        for file, content in files.items():
            assert read_file(f"{name}-twin", file) == content.encode(), f"{name}/{file}"


def by_neighbours(words):
    """A score of sentences: each word after its neighbour, by counts in the training text."""
    pairs, single = Counter(pairwise(words)), Counter(words)

    def score(sentence):
        read = pairwise(sentence.lower().replace(".", " .").split())
        return sum(np.log((pairs[pair] + 0.01) / (single[pair[0]] + 10)) for pair in read)

    return score


def accuracy(score, pairs):
    """Return the share of pairs whose good sentence scores higher; equal scores count one half."""
    differences = np.array([score(good) - score(bad) for good, bad in pairs])
    return ((differences > 1e-9) + 0.5 * (abs(differences) <= 1e-9)).mean()


TOLD_BY_NEIGHBOURS = {
    "agreement_adjacent": (0.7, 1.0),
    "determiner_noun_agreement": (0.9, 1.0),
    "agreement_across_phrase": (0.45, 0.55),
    "agreement_across_clause": (0.45, 0.55),
    "anaphor_agreement": (0.45, 0.55),
    "polarity_licensing": (0.45, 0.55),
}


def test_neighbours_tell_only_what_is_adjacent(training_words):
    score, pairs = by_neighbours(training_words), read_pairs("blimp-twin")
    told = {name: accuracy(score, pairs[name]) for name in TOLD_BY_NEIGHBOURS}
    for name, (least, most) in TOLD_BY_NEIGHBOURS.items():
        assert least <= told[name] <= most, told


def naive_bayes(examples):
    """What guesses a label from a bag of words, taught by pairs of both."""
    counts, labels = defaultdict(Counter), Counter()
    for words, label in examples:
        counts[label].update(words)
        labels[label] += 1
    known = set().union(*counts.values())
    totals = {label: count.total() + 0.5 * len(known) for label, count in counts.items()}

    def score(label, words):
        shares = [(counts[label][word] + 0.5) / totals[label] for word in words]
        return math.log(labels[label]) + sum(map(math.log, shares))

    return lambda words: max(counts, key=lambda label: score(label, known & set(words)))


def test_the_last_word_is_told_by_the_whole_passage_and_not_by_its_last_sentence(training_words):
    pairs = read_passages("lambada-twin", "original")
    contexts, lasts = [context.split() for context, _ in pairs], [last for _, last in pairs]
    sentences = [context[len(context) - context[::-1].index(".") :] for context in contexts]
    endings = set(twins.grammar("lambada").words.endings)
    by_neighbour = naive_bayes(([before], word) for before, word in pairwise(training_words))
    by_topic = naive_bayes(
        (training_words[max(0, place - 40) : place], word)
        for place, word in enumerate(training_words)
        if word in endings
    )
    for guess, texts, least, most in (
        (by_neighbour, [context[-1:] for context in contexts], 0, 2.5 / TOPICS),
        (by_topic, sentences, 0, 2.5 / TOPICS),
        (by_topic, contexts, 0.9, 1),
    ):
        right = [guess(text) == last for text, last in zip(texts, lasts, strict=True)]
        assert least <= np.mean(right) <= most
    assert not any(last in context for context, last in zip(contexts, lasts, strict=True))


@pytest.fixture(scope="module")
def by_evidence():
    """Messages by the kind of evidence for their class, as many ham as spam of each."""
    made = messages(twins.grammar("sms-spam"))
    kept = {}
    for evidence in ("word", "order"):
        ham, spam = (
            [m for m in made if m.evidence == evidence and m.label == label]
            for label in ("ham", "spam")
        )
        pairs = zip(ham, spam, strict=False)
        kept[evidence] = [message for pair in pairs for message in pair]
    return kept


def test_a_bag_of_words_tells_what_a_word_tells_and_no_more(by_evidence):
    for evidence, least, most in (("word", 0.95, 1), ("order", 0.42, 0.58)):
        kept = [(message.words, message.label) for message in by_evidence[evidence]]
        half = len(kept) // 2
        guess = naive_bayes(kept[:half])
        assert least < np.mean([guess(words) == label for words, label in kept[half:]]) <= most


def test_the_order_tells_the_rest(by_evidence):
    cues = twins.grammar("sms-spam").words.order_cues
    for message in by_evidence["order"]:
        places = [[message.words.index(w) for w in cue] for cue in cues if cue[0] in message.words]
        assert [first < second for first, second in places] == [message.label == "spam"]
