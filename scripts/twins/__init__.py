"""Generators of the twins in `fixtures/`; run `python -m scripts.twins` to make them again."""

from __future__ import annotations

from scripts.twins import messages, pairs, passages, text, vocabulary
from scripts.twins.draws import Draws
from scripts.twins.grammar import Grammar
from scripts.twins.lexicon import Lexicon

LEXICON_SEED = 20_000
SEEDS = {"wikitext-2": 20_001, "blimp": 20_002, "lambada": 20_003, "sms-spam": 20_004}
"""One random stream a set, so that changing one leaves the others as they are."""


def grammar(name: str) -> Grammar:
    """Return the twins' language, with the random stream of one set."""
    return Grammar(Lexicon(Draws(LEXICON_SEED)), Draws(SEEDS[name]))


def texts() -> dict[str, dict[str, str]]:
    """Generate the files of every twin but the images, by set and name."""
    files = {
        "wikitext-2": text.generate(grammar("wikitext-2")),
        "blimp": pairs.generate(grammar("blimp")),
        "lambada": passages.generate(grammar("lambada")),
        "sms-spam": messages.generate(grammar("sms-spam")),
    }
    trained_on = [files["wikitext-2"]["wiki.train.tokens"], *files["sms-spam"].values()]
    return {**files, "gpt2-bpe": vocabulary.generate(trained_on)}
