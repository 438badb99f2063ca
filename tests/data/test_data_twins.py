"""The text twins: made again byte for byte, shaped as they should be, and without shortcuts."""

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


def test_the_last_word_is_told_by_the_whole_passage_and_not_by_its_last_sentence(training_words):
    pairs = read_passages("lambada-twin", "original")
    contexts, lasts = [context.split() for context, _ in pairs], [last for _, last in pairs]
    sentences = [context[len(context) - context[::-1].index(".") :] for context in contexts]
    followers = defaultdict(Counter)
    for first, second in pairwise(training_words):
        followers[first][second] += 1
    guesses = [followers[context[-1]].most_common(1)[0][0] for context in contexts]
    by_sentence, by_passage = (_topic_guesses(training_words, x) for x in (sentences, contexts))
    for found, least, most in (
        (guesses, 0, 2.5 / TOPICS),
        (by_sentence, 0, 2.5 / TOPICS),
        (by_passage, 0.9, 1),
    ):
        assert least <= np.mean(np.array(found) == np.array(lasts)) <= most
    assert not any(last in context for context, last in zip(contexts, lasts, strict=True))


def _topic_guesses(training_words, texts):
    """Guess endings by naive Bayes over the words near each in the training text."""
    endings = twins.grammar("lambada").words.endings
    near = {ending: Counter() for ending in endings}
    for place, word in enumerate(training_words):
        if word in near:
            near[word].update(training_words[max(0, place - 40) : place])
    vocabulary = sorted(set(training_words))
    index = {word: number for number, word in enumerate(vocabulary)}
    chances = np.array([[near[ending][word] + 0.5 for word in vocabulary] for ending in endings])
    logs = np.log(chances / chances.sum(axis=1, keepdims=True))
    return [
        endings[logs[:, [index[w] for w in text if w in index]].sum(axis=1).argmax()]
        for text in texts
    ]


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


def linear_accuracy(kept, features):
    """Return the accuracy of a ridge classifier on the second half, fitted to the first."""
    labels = np.array([1.0 if m.label == "spam" else -1.0 for m in kept])
    names = {name: n for n, name in enumerate(sorted({f for m in kept for f in features(m)}))}
    present = np.zeros((len(kept), len(names)))
    for row, message in zip(present, kept, strict=True):
        row[[names[feature] for feature in features(message)]] = 1
    half = len(kept) // 2
    kernel = present @ present.T + 1  # in its dual form: there are fewer messages than words
    weights = np.linalg.solve(kernel[:half, :half] + np.eye(half), labels[:half])
    return (np.sign(kernel[half:, :half] @ weights) == labels[half:]).mean()


def test_a_bag_of_words_tells_what_a_word_tells_and_no_more(by_evidence):
    assert linear_accuracy(by_evidence["word"], lambda m: m.words) > 0.95
    assert 0.42 < linear_accuracy(by_evidence["order"], lambda m: m.words) < 0.58


def test_the_order_tells_the_rest(by_evidence):
    cues = twins.grammar("sms-spam").words.order_cues
    for message in by_evidence["order"]:
        places = [[message.words.index(w) for w in cue] for cue in cues if cue[0] in message.words]
        assert [first < second for first, second in places] == [message.label == "spam"]
