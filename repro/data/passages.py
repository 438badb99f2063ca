"""LAMBADA's passages; a model predicts their last word.

Its test set exists in two versions with the same passages, on which a model has different scores.
So neither version is a default.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from repro.data.bpe import load_tokenizer, tokenizer_hash
from repro.data.files import content_hash, hash_of_all, read_file
from repro.data.prepared import Arrays, prepared
from repro.data.ragged import Ragged

Variant = Literal["openai", "original", "development"]
"""Three versions of the passages.

`openai` is the test set with case and punctuation restored; `original` and `development` are the
test set and the development set as first released, in lower case and split into words.
"""

_FILES: dict[Variant, str] = {
    "openai": "lambada_test.jsonl",
    "original": "lambada_test_plain_text.txt",
    "development": "lambada_development_plain_text.txt",
}


@dataclass(frozen=True, eq=False)
class Passages:
    """Passages without their last words, and the last words with a blank before them."""

    name: str
    variant: Variant
    context: Ragged
    last: Ragged


def load_passages(name: str, variant: Variant, *, tokenizer: str) -> Passages:
    """Load one version of `lambada` or its twin as tokens of a byte-pair vocabulary.

    >>> load_passages("lambada-twin", "original", tokenizer="gpt2-bpe-twin").variant
    'original'
    """
    arrays = _prepare(name, variant, tokenizer)
    return Passages(name, variant, Ragged.among(arrays, "context"), Ragged.among(arrays, "last"))


def passages_hash(name: str, variant: Variant, *, tokenizer: str) -> str:
    """Return the hash of the passages and the tokenizer.

    >>> len(passages_hash("lambada", "openai", tokenizer="gpt2-bpe"))
    64
    """
    return hash_of_all(content_hash(name, (_FILES[variant],)), tokenizer_hash(tokenizer))


def read_passages(name: str, variant: Variant) -> list[tuple[str, str]]:
    """Read each passage as the text before its last word, and that word.

    >>> len(read_passages("lambada-twin", "openai"))
    400
    """
    lines = read_file(name, _FILES[variant]).decode("utf-8").removesuffix("\n").split("\n")
    texts = [json.loads(line)["text"] for line in lines] if variant == "openai" else lines
    return [(context, last) for context, _, last in (text.rpartition(" ") for text in texts)]


@prepared
def _prepare(name: str, variant: Variant, tokenizer: str) -> Arrays:
    vocabulary = load_tokenizer(tokenizer)
    passages = read_passages(name, variant)
    return {
        **vocabulary.encode_all(context for context, _ in passages).arrays("context"),
        **vocabulary.encode_all(f" {last}" for _, last in passages).arrays("last"),
    }
