"""The byte-pair tokenizer against tiktoken, and files of tensors against safetensors."""

import json
import unicodedata
from itertools import islice

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from repro.data.bpe import END_OF_TEXT, load_tokenizer, pieces_of
from repro.data.files import read_file, twin_folder
from repro.data.locate import DataError, data_folder
from repro.data.messages import read_rows
from repro.data.pairs import read_pairs
from repro.data.passages import read_passages
from repro.data.safetensors import NotSafetensors, is_whole_file, read_tensors, write_tensors
from tests.oracles import oracle

known_to_this_python = st.characters(exclude_categories=("Cs", "Cn"))
tricky = st.sampled_from(
    [" ", "  ", "\n", "\t", "\xa0", "\u3000", "\x1c", "'s", "'ll", "'", "1", "²"]
)
texts = st.lists(st.one_of(tricky, st.text(known_to_this_python, max_size=4))).map("".join)


def encoding_of(name, folder):
    """Return the encoding of a vocabulary in tiktoken, from the same files."""
    tiktoken = oracle("tiktoken")
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks
    from tiktoken_ext.openai_public import r50k_pat_str

    ranks = data_gym_to_mergeable_bpe_ranks(str(folder / "vocab.bpe"), str(folder / "encoder.json"))
    return tiktoken.Encoding(
        name, pat_str=r50k_pat_str, mergeable_ranks=ranks, special_tokens={END_OF_TEXT: len(ranks)}
    )


@pytest.fixture(scope="module")
def published():
    """GPT-2's own encoding."""
    return encoding_of("gpt2", data_folder() / "gpt2-bpe")


@pytest.fixture(scope="module")
def of_the_twin():
    """The encoding by the small vocabulary in the same files' formats, which is always here."""
    return encoding_of("twin", twin_folder("gpt2-bpe"))


PUBLISHED = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def cut_as_published(text):
    """Tell whether a text is cut as by GPT-2's own pattern."""
    regex = oracle("regex")
    return pieces_of(text) == regex.findall(PUBLISHED, text)


def agree(published, kept, name="gpt2-bpe"):
    tokenizer = load_tokenizer(name)
    for text in kept:
        tokens = tokenizer.encode(text)
        assert tokens == published.encode_ordinary(text), text
        assert tokenizer.decode(tokens) == text


@pytest.mark.real_data
def test_every_text_of_the_real_sets(published):
    agree(published, [text for _, text in read_rows("sms-spam")])
    agree(published, [s for p in read_pairs("blimp").values() for pair in p for s in pair])
    for variant in ("openai", "original", "development"):
        passages = read_passages("lambada", variant)
        agree(published, [" ".join(passage) for passage in passages])
        agree(published, [f" {last}" for _, last in passages])
    agree(published, [read_file("wikitext-2", "wiki.valid.tokens").decode()])


@given(text=texts)
def test_any_text_by_a_small_vocabulary(of_the_twin, text):
    agree(of_the_twin, [text], "gpt2-bpe-twin")
    half = [220, 158]  # of a character
    assert load_tokenizer("gpt2-bpe-twin").decode(half) == of_the_twin.decode(half)


@given(text=texts)
def test_any_text_is_cut_as_published(text):
    assert cut_as_published(text)


@pytest.mark.thorough
def test_every_character_is_of_the_published_kind():
    known = (c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cs", "Cn"))
    for characters in iter(lambda: list(islice(known, 1000)), []):
        assert cut_as_published("".join(f"x{c}{c} {c}1{c}'{c}, {c}" for c in characters))


@pytest.mark.real_data
def test_the_published_end_of_text(published):
    tokenizer = load_tokenizer("gpt2-bpe")
    assert len(tokenizer) == 50_257
    assert tokenizer.end_of_text == 50_256
    assert tokenizer.decode([50_256]) == "<|endoftext|>"
    assert 50_256 not in tokenizer.encode("<|endoftext|>")
    for half in ([220, 158], [158, 220, 50_256]):
        assert tokenizer.decode(half) == published.decode(half)


@given(text=texts, size=st.integers(257, 1024))
def test_a_cut_vocabulary_knows_every_text_by_its_first_merges(text, size):
    whole, cut = load_tokenizer("gpt2-bpe-twin"), load_tokenizer(f"gpt2-bpe-twin:{size}")
    tokens = cut.encode(text)
    assert cut.decode(tokens) == text
    assert len(cut) == size
    assert cut.end_of_text == size - 1
    assert all(token < size - 1 for token in tokens)
    for token in tokens:  # a token means the same in the whole vocabulary
        assert cut.decode([token]) == whole.decode([token])
    if size == 1024:
        assert tokens == whole.encode(text)


def test_sizes_that_no_vocabulary_has_are_refused():
    for size in ("256", "1025", "0", "many", "-3"):
        says = rf"gpt2-bpe-twin:{size} is no vocabulary: .* 257 to 1024"
        with pytest.raises(DataError, match=says):
            load_tokenizer(f"gpt2-bpe-twin:{size}")


tensors = st.dictionaries(
    st.text("abc.é_", min_size=1, max_size=6),
    st.sampled_from(["float64", "float32", "float16", "int64", "int32", "uint8"]).flatmap(
        lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, min_side=0, max_side=4))
    ),
    max_size=4,
)


def assert_same(read, expected):
    assert read.keys() == expected.keys()
    for name, array in read.items():
        assert array.dtype == expected[name].dtype
        assert array.shape == expected[name].shape
        assert array.tobytes() == expected[name].tobytes()


def file_of(header, content=b""):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content


FOUR_ZEROS = write_tensors({"a": np.zeros(4)})

BAD_FILES = {
    "nothing": b"",
    "a page": b"<html>not here</html>",
    "a list": file_of([]),
    "a number": file_of({"a": 1}),
    "cut short": FOUR_ZEROS[:-1],
    "too long": FOUR_ZEROS + b"x",
    "another shape": FOUR_ZEROS.replace(b"[4]", b"[5]"),
    "an unknown kind": FOUR_ZEROS.replace(b"F64", b"X64"),
}


@given(tensors)
def test_tensors_are_read_as_they_were_written_and_equal_ones_are_equal_bytes(expected):
    content = write_tensors(expected)
    assert_same(read_tensors(content), expected)
    assert write_tensors(dict(reversed(expected.items()))) == content


@given(tensors)
def test_a_file_with_metadata_is_read(expected):
    assert_same(read_tensors(safetensors.numpy.save(expected, {"format": "pt"})), expected)


def test_views_are_written_by_their_values():
    array = np.arange(12.0).reshape(3, 4)
    for view in (array.T, array[:, ::2], array[1, 2]):
        content = write_tensors({"a": view})
        assert_same(read_tensors(content), {"a": np.array(view, order="C")})
        assert content == write_tensors({"a": np.array(view, order="C")})


def test_a_bad_file_is_refused_in_one_sentence(tmp_path):
    for name, content in BAD_FILES.items():
        with pytest.raises(NotSafetensors, match=r"^is no safetensors file \([^\n]+\)$"):
            read_tensors(content)
        (tmp_path / "file").write_bytes(content)
        assert not is_whole_file(tmp_path / "file"), name


def test_a_kind_that_numpy_lacks_is_named(tmp_path):
    header = {"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
    content = file_of(header, bytes(4))
    with pytest.raises(NotSafetensors, match=r"^holds 'BF16' numbers, which NumPy does not have$"):
        read_tensors(content)
    (tmp_path / "file").write_bytes(content)
    assert is_whole_file(tmp_path / "file")
