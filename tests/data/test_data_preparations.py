"""The documented preparations, by their documented counts; and that they are prepared once."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from repro.data import prepared
from repro.data.characters import SENTENCES, batches, characters_identity, load_characters
from repro.data.corpus import load_byte_pairs, load_words
from repro.data.files import read_file
from repro.data.locate import user_cache
from repro.data.messages import balance, load_messages, messages_identity, read_rows, split
from repro.data.pairs import load_pairs
from repro.data.passages import load_passages, passages_identity
from repro.data.ragged import Ragged
from repro.data.word_windows import PAD, UNKNOWN, lines_of_text, load_word_windows

needs_data = pytest.mark.skipif(
    not os.environ.get("REPRO_DATA"), reason="needs the real sets in REPRO_DATA"
)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_source_000_was_trained_on_two_sentences():
    """An alphabet of 30 is what its recorded 200,832 parameters prove."""
    found = load_characters(SENTENCES)
    assert len(found.alphabet) == 30
    assert (len(found.train), len(found.validation)) == (100_000, 10_000)
    read = "".join(found.alphabet[n] for n in found.train[:90])
    assert read == "The quick brown fox jumps over the lazy dog. " * 2
    assert "".join(found.alphabet[n] for n in found.validation[:17]) == "A quick brown dog"


@pytest.mark.parametrize(("part", "count"), [("train", 48), ("validation", 4)])
def test_source_000_has_so_many_batches(part, count):
    text = getattr(load_characters(SENTENCES), part)
    found = batches(text, length=64, batch=32)
    assert found.shape == (count, 32, 65)
    np.testing.assert_array_equal(found[1, 2], text[2048 + 128 : 2048 + 128 + 65])


@needs_data
def test_source_000_meant_wikitext():
    found = load_characters("wikitext-2")
    assert len(found.alphabet) == 106
    assert (len(found.train), len(found.validation)) == (100_000, 10_000)
    read = "".join(found.alphabet[n] for n in found.train)
    assert read == read_file("wikitext-2", "wiki.train.tokens").decode()[:100_000]


@needs_data
def test_source_001_lines_and_windows():
    lines = [
        lines_of_text(read_file("wikitext-2", f"wiki.{part}.tokens").decode())
        for part in ("train", "valid")
    ]
    assert [len(part) for part in lines] == [23_767, 2_461]
    found = load_word_windows("wikitext-2", vocabulary=1000)
    assert found.train.shape == (51_026, 64)
    assert found.validation.shape == (5_272, 64)
    assert len(found.words) == 1000
    assert found.words[4:8] == ("the", ",", ".", "of")
    targets = found.validation[:, 1:]
    assert (targets != PAD).sum() == 285_045
    assert (targets == UNKNOWN).sum() / (targets != PAD).sum() == pytest.approx(0.3045, abs=1e-3)


def test_long_lines_are_cut_into_windows_and_short_ones_left_out(tmp_path, monkeypatch):
    words = [f"w{n}" for n in range(130)]
    lines = ["a b c d", " ".join(words[:5]), " ".join(words), " ".join(words[:62])]
    content = "".join(f" {line} \n" for line in lines).encode()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("repro.data.word_windows.read_file", lambda name, file: content)
    found = load_word_windows("wikitext-2-twin", vocabulary=500)
    read = [[found.words[n] for n in window] for window in found.train]
    assert (
        read
        == [
            ["<bos>", *words[:5], "<eos>", *["<pad>"] * 57],
            ["<bos>", *words[:63]],
            words[31 : 31 + 64],
            words[63 : 63 + 64],  # what is left, 3 words and <eos>, is dropped
            ["<bos>", *words[:62], "<eos>"],
        ]
    )


@needs_data
def test_wikitext_at_word_level():
    found = load_words("wikitext-2")
    assert found.vocabulary == 33_278
    counts = [len(stream) for stream in (found.train, found.validation, found.test)]
    assert counts == [2_088_628, 217_646, 245_569]


@needs_data
def test_source_003_rows_and_split():
    rows = read_rows("sms-spam")
    assert len(rows) == 5_572
    assert sum(label == "spam" for label, _ in rows) == 747
    assert len(balance(rows)) == 1_494
    found = load_messages("sms-spam", tokenizer="gpt2-bpe")
    parts = (found.train, found.validation, found.test)
    assert [len(part.tokens) for part in parts] == [1_045, 149, 300]
    assert [part.is_spam.sum() for part in parts] == [515, 73, 159]
    assert [part.tokens.lengths.max() for part in parts] == [120, 90, 97]


@needs_data
def test_two_lines_are_lost_in_quotes():
    lines = read_file("sms-spam", "SMSSpamCollection").decode().removesuffix("\n").split("\n")
    rows = read_rows("sms-spam")
    assert len(lines) == 5_574
    swallowed = [text.count("\n") for _, text in rows if "\n" in text]
    assert sum(swallowed) == 2


@needs_data
def test_pandas_does_the_same():
    pandas = pytest.importorskip("pandas", reason="compares with pandas, which is not here")
    path = os.path.join(os.environ["REPRO_DATA"], "sms-spam", "SMSSpamCollection")
    frame = pandas.read_csv(path, sep="\t", header=None, names=["label", "text"])
    ham, spam = (frame[frame.label == label] for label in ("ham", "spam"))
    frame = pandas.concat([ham.sample(len(spam), random_state=123), spam])
    for _ in range(2):
        frame = frame.sample(frac=1, random_state=123)
    rows = list(zip(frame.label, frame.text, strict=True))
    assert rows == [row for part in split(balance(read_rows("sms-spam"))).values() for row in part]


@needs_data
def test_blimp_has_67_paradigms_of_1000_pairs():
    found = load_pairs("blimp", tokenizer="gpt2-bpe")
    assert len(found.paradigms) == 67
    assert np.bincount(found.paradigm).tolist() == [1000] * 67
    assert len(found.good) == len(found.bad) == 67_000


@needs_data
@pytest.mark.parametrize(("variant", "count"), [("openai", 5153), ("original", 5153)])
def test_lambada_names_its_variant(variant, count):
    found = load_passages("lambada", variant, tokenizer="gpt2-bpe")
    assert found.variant == variant
    assert len(found.context) == len(found.last) == count
    assert found.last.lengths.min() > 0
    assert len({passages_identity("lambada", v, tokenizer="gpt2-bpe") for v in
                ("openai", "original", "development")}) == 3  # fmt: skip


LOADERS = {
    "characters": lambda twin: load_characters(f"wikitext-2{twin}"),
    "word windows": lambda twin: load_word_windows(f"wikitext-2{twin}", vocabulary=1000),
    "words": lambda twin: load_words(f"wikitext-2{twin}"),
    "byte pairs": lambda twin: load_byte_pairs(f"wikitext-2{twin}", tokenizer=f"gpt2-bpe{twin}"),
    "messages": lambda twin: load_messages(f"sms-spam{twin}", tokenizer=f"gpt2-bpe{twin}"),
    "pairs": lambda twin: load_pairs(f"blimp{twin}", tokenizer=f"gpt2-bpe{twin}"),
    "passages": lambda twin: load_passages(f"lambada{twin}", "openai", tokenizer=f"gpt2-bpe{twin}"),
}


def arrays_of(found):
    for value in vars(found).values():
        if isinstance(value, np.ndarray):
            yield value
        elif hasattr(value, "__dict__"):
            yield from arrays_of(value)


@pytest.mark.parametrize("twin", [pytest.param("", marks=needs_data), "-twin"])
@pytest.mark.parametrize("loader", LOADERS)
def test_everything_is_prepared_once_and_then_mapped(own_cache, monkeypatch, loader, twin):
    first = LOADERS[loader](twin)

    def never(*arguments):
        raise AssertionError("prepared a second time")

    monkeypatch.setattr(prepared, "_write", never)
    started = time.perf_counter()
    again = LOADERS[loader](twin)
    assert time.perf_counter() - started < 2
    for one, other in zip(arrays_of(first), arrays_of(again), strict=True):
        assert isinstance(one, np.memmap)
        assert isinstance(other, np.memmap)
        np.testing.assert_array_equal(one, other)


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert len(load_characters(SENTENCES).train) == 100_000


def test_identities_differ_by_data_by_twin_and_by_vocabulary():
    found = [
        *(characters_identity(name) for name in (SENTENCES, "wikitext-2", "wikitext-2-twin")),
        *(
            messages_identity(name, tokenizer=tokenizer)
            for name in ("sms-spam", "sms-spam-twin")
            for tokenizer in ("gpt2-bpe", "gpt2-bpe-twin")
        ),
    ]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("damage", [b"", b"damaged"])
def test_damage_is_healed_and_leaves_nothing_behind(own_cache, damage):
    before = np.array(load_words("wikitext-2-twin").train)
    for file in ("train.npy", "sums"):
        (path,) = user_cache().rglob(file)
        path.write_bytes(damage)
        with pytest.warns(prepared.DataWarning, match="made anew"):
            healed = load_words("wikitext-2-twin").train
        np.testing.assert_array_equal(before, healed)
        assert isinstance(load_words("wikitext-2-twin").train, np.memmap)
    assert len(list((user_cache() / "prepared").iterdir())) == 1


def test_workers_that_prepare_at_once_get_the_same(own_cache):
    with ThreadPoolExecutor(4) as workers:
        found = list(workers.map(load_words, ["wikitext-2-twin"] * 4))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].train, other.train)
    assert len(list((user_cache() / "prepared").iterdir())) == 1
    assert isinstance(load_words("wikitext-2-twin").train, np.memmap)


def test_ragged_sequences():
    found = Ragged.of([[1, 2], [], [3]])
    assert [row.tolist() for row in found] == [[1, 2], [], [3]]
    assert [found[n].tolist() for n in (0, 1, 2, -1)] == [[1, 2], [], [3], [3]]
    assert found.lengths.tolist() == [2, 0, 1]
    assert found.padded(2, fill=9).tolist() == [[1, 2], [9, 9], [3, 9]]
    with pytest.raises(IndexError):
        found[3]
    with pytest.raises(ValueError, match="Token 65536 does not fit"):
        Ragged.of([[65_536]])
