"""The words of a report and what they mean, for a reader who has seen none before."""

from __future__ import annotations

from repro.judge import SUITE_LEVEL

WORDS: tuple[tuple[str, str], ...] = (
    ("claim", "One sentence of a source that can be checked, written as a test."),
    ("reproduced", "The seeds show what the claim says, at the level that it is judged at."),
    ("refuted", "The seeds show the opposite of what the claim says, at the same level."),
    ("inconclusive", "The seeds that may be spent show neither the claim nor its opposite."),
    ("not run", "Something is missing that the claim needs, or it was left out; it says what."),
    ("documented", "The result that the source states, in its own words."),
    ("measured", "The mean of each arm over its seeds, and how the arms compare."),
    ("arm", "One setting of an experiment, everything fixed but the seed."),
    (
        "interval",
        "The numbers in brackets: what the mean over all seeds may be, by the seeds that were "
        "trained, over all looks at them together.",
    ),
    (
        "p",
        "The p of a claim counted together with all others of the session (in evidence lines: of "
        f"one comparison, held against its boundary). A verdict stands where it is {SUITE_LEVEL:g} "
        "at most.",
    ),
    (
        "stands",
        "The verdict is still settled when all claims are counted together, of which some come "
        "out false by chance. Those that do not stand are marked *.",
    ),
    ("ledger", "The file of verdicts that were accepted; a change is a difference from it."),
    ("size", "The profile: ci is made small for two cores, paper is the documented size."),
    ("twin", "Generated data that stands in for a real data set; a verdict is about the twin."),
    (
        "whose",
        "The source's own claim, a question of ours about it, or a control of ours: a check whose "
        "answer must come out.",
    ),
)
