"""Readers on small samples in the public formats, made here: they need no real set."""

import json

import pandas
import pytest

from repro.data.bpe import load_tokenizer
from repro.data.characters import load_characters
from repro.data.corpus import load_words
from repro.data.messages import balance, load_messages, read_rows, split
from repro.data.pairs import load_pairs, read_pairs
from repro.data.passages import load_passages, read_passages
from repro.data.word_windows import lines_of_text

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
