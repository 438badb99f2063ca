"""The documented preparations have their documented counts, and are made once."""

import json

import numpy as np
import pandas
import pytest

from repro.data.bpe import load_tokenizer
from repro.data.characters import SENTENCES, batches, characters_hash, load_characters
from repro.data.corpus import load_words
from repro.data.files import read_file
from repro.data.messages import balance, load_messages, messages_hash, read_rows, split
from repro.data.pairs import load_pairs, read_pairs
from repro.data.passages import load_passages, passages_hash, read_passages
from repro.data.prepared import prepared
from repro.data.ragged import Ragged
from repro.data.word_windows import PAD, UNKNOWN, lines_of_text, load_word_windows


def test_source_000_was_trained_on_two_sentences():
    """Its recorded 200,832 parameters prove an alphabet of 30."""
    characters = load_characters(SENTENCES)
    assert len(characters.alphabet) == 30
    train, validation = (
        "".join(characters.alphabet[n] for n in part[:90])
        for part in (characters.train, characters.validation)
    )
    assert train == "The quick brown fox jumps over the lazy dog. " * 2
    assert validation.startswith("A quick brown dog")
    for text, length, count in (
        (characters.train, 100_000, 48),
        (characters.validation, 10_000, 4),
    ):
        assert len(text) == length
        made = batches(text, length=64, batch=32)
        assert made.shape == (count, 32, 65)
        np.testing.assert_array_equal(made[1, 2], text[2048 + 128 : 2048 + 128 + 65])


@pytest.mark.real_data
def test_source_000_meant_wikitext():
    characters = load_characters("wikitext-2")
    assert len(characters.alphabet) == 106
    assert (len(characters.train), len(characters.validation)) == (100_000, 10_000)
    read = "".join(characters.alphabet[n] for n in characters.train)
    assert read == read_file("wikitext-2", "wiki.train.tokens").decode()[:100_000]


@pytest.mark.real_data
def test_source_001_lines_and_windows():
    lines = [
        lines_of_text(read_file("wikitext-2", f"wiki.{part}.tokens").decode())
        for part in ("train", "valid")
    ]
    assert [len(part) for part in lines] == [23_767, 2_461]
    windows = load_word_windows("wikitext-2", vocabulary=1000)
    assert windows.train.shape == (51_026, 64)
    assert windows.validation.shape == (5_272, 64)
    assert len(windows.words) == 1000
    assert windows.words[4:8] == ("the", ",", ".", "of")
    targets = windows.validation[:, 1:]
    assert (targets != PAD).sum() == 285_045
    assert (targets == UNKNOWN).sum() / (targets != PAD).sum() == pytest.approx(0.3045, abs=1e-3)
    corpus = load_words("wikitext-2")
    assert corpus.vocabulary == 33_278
    counts = [len(stream) for stream in (corpus.train, corpus.validation, corpus.test)]
    assert counts == [2_088_628, 217_646, 245_569]


def test_long_lines_are_cut_into_windows_and_short_ones_left_out(tmp_path, monkeypatch):
    words = [f"w{n}" for n in range(130)]
    lines = ["a b c d", " ".join(words[:5]), " ".join(words), " ".join(words[:62])]
    content = "".join(f" {line} \n" for line in lines).encode()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("repro.data.word_windows.read_file", lambda name, file: content)
    windows = load_word_windows("wikitext-2-twin", vocabulary=500)
    read = [[windows.words[n] for n in window] for window in windows.train]
    assert (
        read
        == [
            ["<bos>", *words[:5], "<eos>", *["<pad>"] * 57],
            ["<bos>", *words[:63]],
            words[31 : 31 + 64],
            words[63 : 63 + 64],  # the rest, 3 words and <eos>, is dropped
            ["<bos>", *words[:62], "<eos>"],
        ]
    )


@pytest.mark.real_data
def test_source_003_rows_and_split():
    rows = read_rows("sms-spam")
    assert len(rows) == 5_572
    assert sum(label == "spam" for label, _ in rows) == 747
    assert sum(text.count("\n") for _, text in rows) == 2  # lines that are lost in quotes
    assert len(balance(rows)) == 1_494
    messages = load_messages("sms-spam", tokenizer="gpt2-bpe")
    parts = (messages.train, messages.validation, messages.test)
    assert [len(part.tokens) for part in parts] == [1_045, 149, 300]
    assert [part.is_spam.sum() for part in parts] == [515, 73, 159]
    assert [part.tokens.lengths.max() for part in parts] == [120, 90, 97]


@pytest.mark.real_data
def test_source_002_pairs_and_passages():
    pairs = load_pairs("blimp", tokenizer="gpt2-bpe")
    assert len(pairs.paradigms) == 67
    assert np.bincount(pairs.paradigm).tolist() == [1000] * 67
    assert len(pairs.good) == len(pairs.bad) == 67_000
    for variant in ("openai", "original"):
        passages = load_passages("lambada", variant, tokenizer="gpt2-bpe")
        assert passages.variant == variant
        assert len(passages.context) == len(passages.last) == 5153
        assert passages.last.lengths.min() > 0
    variants = ("openai", "original", "development")
    assert len({passages_hash("lambada", x, tokenizer="gpt2-bpe") for x in variants}) == 3


def test_identities_differ_by_data_by_twin_and_by_vocabulary():
    identities = [
        *(characters_hash(name) for name in (SENTENCES, "wikitext-2", "wikitext-2-twin")),
        *(
            messages_hash(name, tokenizer=tokenizer)
            for name in ("sms-spam", "sms-spam-twin")
            for tokenizer in ("gpt2-bpe", "gpt2-bpe-twin")
        ),
    ]
    assert len(set(identities)) == len(identities)


def test_prepared_arrays_are_made_once_and_cannot_be_changed():
    squares = prepared(lambda count: {"squares": np.arange(count) ** 2})
    assert squares(3)["squares"] is squares(3)["squares"]
    assert squares(4)["squares"].tolist() == [0, 1, 4, 9]
    with pytest.raises(ValueError, match="read-only"):
        squares(4)["squares"][0] = 1


def test_ragged_sequences():
    ragged = Ragged.of([[1, 2], [], [3]])
    assert [row.tolist() for row in ragged] == [[1, 2], [], [3]]
    assert [ragged[n].tolist() for n in (0, 1, 2, -1)] == [[1, 2], [], [3], [3]]
    assert ragged.lengths.tolist() == [2, 0, 1]
    assert ragged.padded(2, fill=9).tolist() == [[1, 2], [9, 9], [3, 9]]
    with pytest.raises(IndexError):
        ragged[3]
    with pytest.raises(ValueError, match="Token 65536 does not fit"):
        Ragged.of([[65_536]])


TWIN = "gpt2-bpe-twin"

MESSAGES = (
    'ham\t"Quoted as a whole"\n'
    "spam\tWIN £100 now\n"
    'ham\t"It runs on\n'
    'spam\tto the next quote" and further\n'
    'ham\ta " in the middle stays\n'
    "ham\tlast, and no tab\n"
)


@pytest.fixture
def messages(publish):
    return publish({"SMSSpamCollection": MESSAGES.encode()}, "sms-spam")


def test_messages_are_read_as_pandas_does(messages):
    path = messages / "SMSSpamCollection"
    frame = pandas.read_csv(path, sep="\t", header=None, names=["label", "text"])
    assert read_rows("sms-spam") == list(zip(frame.label, frame.text, strict=True))


def test_messages_are_balanced_and_cut_as_pandas_does(publish):
    rows = [("spam" if n % 3 == 0 else "ham", f"message {n}") for n in range(90)]
    lines = "".join(f"{label}\t{text}\n" for label, text in rows)
    publish({"SMSSpamCollection": lines.encode()}, "sms-spam")
    frame = pandas.DataFrame(rows, columns=["label", "text"])
    ham, spam = (frame[frame.label == label] for label in ("ham", "spam"))
    frame = pandas.concat([ham.sample(len(spam), random_state=123), spam])
    for _ in range(2):
        frame = frame.sample(frac=1, random_state=123)
    drawn = [row for part in split(balance(read_rows("sms-spam"))).values() for row in part]
    assert drawn == list(zip(frame.label, frame.text, strict=True))
    parts = load_messages("sms-spam", tokenizer=TWIN)
    assert [len(p.tokens) for p in (parts.train, parts.validation, parts.test)] == [42, 6, 12]


def test_pairs_are_read_by_paradigm(publish):
    def lines(*pairs):
        records = [
            {"sentence_good": good, "sentence_bad": bad, "field": "syntax", "UID": "u", "pairID": n}
            for n, (good, bad) in enumerate(pairs)
        ]
        return "".join(json.dumps(record) + "\n" for record in records).encode()

    first, second = ("She is.", "She are."), ("Who's here?", "Who here's?")
    publish({"b_paradigm.jsonl": lines(second), "a_paradigm.jsonl": lines(first, second)}, "blimp")
    assert read_pairs("blimp") == {"a_paradigm": [first, second], "b_paradigm": [second]}
    pairs = load_pairs("blimp", tokenizer=TWIN)
    assert pairs.paradigms == ("a_paradigm", "b_paradigm")
    assert pairs.paradigm.tolist() == [0, 0, 1]
    decode = load_tokenizer(TWIN).decode
    assert [decode(tokens) for tokens in pairs.bad] == [first[1], second[1], second[1]]


def test_passages_end_in_their_last_word(publish):
    plain = "he said he would come to the house\nshe asked , who is jim\n"
    restored = ["He said he would come to the house", "She asked, who is Jim"]
    lines = [json.dumps({"text": text}) + "\n" for text in restored]
    files = {
        "lambada_test.jsonl": "".join(lines).encode(),
        "lambada_test_plain_text.txt": plain.encode(),
        "lambada_development_plain_text.txt": plain.encode(),
    }
    publish(files, "lambada")
    assert read_passages("lambada", "original")[1] == ("she asked , who is", "jim")
    assert read_passages("lambada", "openai")[1] == ("She asked, who is", "Jim")
    passages = load_passages("lambada", "openai", tokenizer=TWIN)
    decode = load_tokenizer(TWIN).decode
    assert [decode(tokens) for tokens in passages.last] == [" house", " Jim"]
    before = [text.rpartition(" ")[0] for text in restored]
    assert [decode(tokens) for tokens in passages.context] == before


WIKITEXT = " \n = Title = \n \n A line of <unk> words . \n Another , with 1 @,@ 000 . \n \n"


def test_wikitext_is_read_as_it_is_published(publish):
    files = {f"wiki.{part}.tokens": WIKITEXT.encode() for part in ("train", "valid", "test")}
    publish(files, "wikitext-2")
    assert [len(line) for line in lines_of_text(WIKITEXT)] == [3, 6, 7]  # in lower case
    words = load_words("wikitext-2")
    assert words.vocabulary == len({*WIKITEXT.split(), "<eos>"})
    assert len(words.train) == len(WIKITEXT.split()) + WIKITEXT.count("\n")
    characters = load_characters("wikitext-2")
    assert set(characters.alphabet) >= set(WIKITEXT)
    read = "".join(characters.alphabet[n] for n in characters.train)
    assert read == WIKITEXT
