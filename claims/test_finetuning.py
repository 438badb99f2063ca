"""What of a GPT must be trained to tell spam, and which token read?  Source 003, on SMS Spam.

At `--profile paper` the models are GPT-2's, where their weights are here. At `ci` there is one
small GPT that repro pretrained itself: what is said is said of that one. The source's numbers are
of one run each, and are held against what one run gives. Differences between two arms count the
error of having drawn these 300 test messages (149 for validation) and no others, since most of the
documented ones are a handful of messages. `documents/` holds the table against itself.

The small GPT is 48 wide, and its first row reaches 0.87 where the source's has 0.95. So whoever
reads that LoRA loses may ask whether a better model would say the same. What the interpretation
says is asked again of a GPT 192 wide, with 6 blocks. It is pretrained six times through WikiText-2,
which takes about two hours of one core, once. Its looks were chosen before any of it was trained.

The text's numbers are those of the test messages, so its sentences are judged on them; whether they
hold on validation too is asked besides. That one arm is as good as another is judged only where it
is clear that it does not guess.
"""

import tomllib
from decimal import Decimal
from pathlib import Path

import pytest

from repro import claim
from repro.studies.finetuning.arms import (
    DOCUMENTED_RECIPE,
    FIRST_ROW,
    LATER_ROWS,
    NARROWER,
    ROWS,
)
from repro.studies.finetuning.baselines import BaselineArm, CostArm
from repro.studies.finetuning.gpt2 import SHAPES
from repro.studies.finetuning.split_arms import SplitArm

PRINTED = tomllib.loads((Path(__file__).parent / "sources/003.toml").read_text("utf-8"))


def share(printed):
    """A percentage as a share."""
    return float(Decimal(printed.removesuffix("%")) / 100)


DOCUMENTED = {  # training, test and validation accuracy
    int(row): tuple(map(share, accuracies)) for row, (*accuracies, _) in PRINTED["table"].items()
}
LATER_DOCUMENTED = {  # the same, of the rows that the later table adds
    row: tuple(share(PRINTED["later"][str(row)][place]) for place in (0, 2, 1))
    for row in (4, 9, 11, 12, 14, 15, 16, 17, 19)
}
MINUTES = {int(row): float(minutes) for row, (*_, minutes) in PRINTED["table"].items()}
OWN = [1, 2, 3, 4, 8, 9, 10]  # rows about the small model; the others need larger ones
GUESSED = 0.53  # the share of the test messages that are spam, as all may be called

# Widths that a statement must reach to say something, and margins of "as good as"
HANDFUL = 0.02  # six of 300 messages: two binomial standard errors at the documented 97 %
TWO_HANDFULS = 0.04  # two such errors of the difference of two rows, at 95 %; at 75 % they are 0.07
MUCH = 0.10  # "substantially": half of the documented differences of 20 and 23 points
CLEARLY = 0.08  # "significantly": half of the documented difference of 17 points
NEARLY = 1.25  # a machine computes large products faster: rows of one size lie this near

ORDERED = [  # what its interpretation says of rows: the better one, the worse one, by how much
    (1, 2, MUCH),
    (1, 3, MUCH),
    (4, 1, None),
    (1, 5, None),
    (6, 1, None),
    (7, 6, None),
    (1, 8, None),
    (1, 10, CLEARLY),
]

interpretation = "003, Interpretation"
later = "003, Table at 28c65cd"
ours = "003, not in its text: asked of its result"

TEST, VALIDATION = 1, 2


def difference(row, other, table=DOCUMENTED):
    """The difference of two rows of the table in test accuracy."""
    return round(table[row][TEST] - DOCUMENTED[other][TEST], 4)


def on_test(trial, row, table=DOCUMENTED):
    """The test accuracy of a row's arm, with that of its one documented run."""
    return trial.test_accuracy.documented_as(table[row][TEST])


def lora(trials):
    """LoRA at its documented rank, which the small size keeps too: see the control below."""
    return ROWS[9].but(rank=ROWS[9].rank * (NARROWER if trials.profile.name == "ci" else 1))


def arm_of(trials, row):
    """The arm of a row, which for LoRA has its documented rank."""
    return lora(trials) if row == 9 else ROWS[row]


def require_no_guess(trials, arm, margin):
    """Leave a claim unjudged where the arm is not clear of chance by a margin."""
    is_clear = arm.test_accuracy.exceeds(GUESSED, by_at_least=margin)
    trials.require(is_clear, "an arm that does not guess")


def differs_by(trials, arm, other, documented, within=HANDFUL):
    """Judge whether one run of each differs by as much as one run of each did in the table."""
    require_no_guess(trials, other, within)
    one_run = {"runs": 1, "within": within, "plus": other.test_accuracy}
    assert arm.test_accuracy.agrees_with(documented, **one_run)


def is_the_row(trial, documented):
    """Judge whether three accuracies are those of one run."""
    train, test, validation = documented
    assert trial.test_accuracy.agrees_with(test, runs=1, within=HANDFUL)
    assert trial.validation_accuracy.agrees_with(validation, runs=1, within=HANDFUL)
    assert trial.train_accuracy.agrees_with(train, runs=1, within=HANDFUL)


def rows_of(table):
    """Judge each row, with its training, test and validation accuracy."""
    return pytest.mark.parametrize(
        ("row", "documented"),
        [(row, ", ".join(f"{x:.4f}" for x in shares)) for row, shares in table.items()],
        ids=list(map(str, table)),
    )


@claim(
    "The accuracies of each row, in training, test and validation",
    source="003, Table",
    documented="{documented}",
    only_at="paper",
)
@rows_of(DOCUMENTED)
def test_row(trials, row, documented):
    is_the_row(trials(ROWS[row]), DOCUMENTED[row])


@claim(
    "The accuracies of each row that the later table adds",
    source=later,
    documented="{documented}",
    only_at="paper",
)
@rows_of(LATER_DOCUMENTED)
def test_later_row(trials, row, documented):
    is_the_row(trials(LATER_ROWS[row]), LATER_DOCUMENTED[row])


@claim(
    "Counted multiplications are as many times those of the first row as its minutes are",
    source=ours,
    documented="{times}",
    kind="question",
)
@pytest.mark.parametrize(
    ("row", "times"),
    [(row, round(minutes / MINUTES[1], 2)) for row, minutes in MINUTES.items() if row != 1],
    ids=[str(row) for row in MINUTES if row != 1],
)
def test_cost_of_row(trials, row, times):
    other, first = trials(CostArm(of=ROWS[row]), CostArm(of=ROWS[1]))
    assert other.multiplications.is_times(times, first.multiplications, within_ratio=NEARLY)


@claim(
    "Training all layers takes almost three times as long: two and a half to three times the work",
    source=f"{interpretation} 3",
    documented="almost 3; its minutes: 0.94 / 0.39 = 2.41",
)
def test_all_layers_cost_almost_three_times_as_much(trials):
    everything, block = trials(CostArm(of=ROWS[4]), CostArm(of=ROWS[1]))
    assert everything.multiplications.is_times(2.75, block.multiplications, within_ratio=1.1)


@claim(
    "LoRA is faster than training all layers: less work",
    source=f"{interpretation} 6",
    documented="its minutes: 0.82 and 0.94",
)
def test_lora_costs_less(trials):
    lora, everything = trials(CostArm(of=ROWS[9]), CostArm(of=ROWS[4]))
    assert lora.multiplications < everything.multiplications


@claim("The longest training message has 120 tokens", source="003, Table", documented="120")
def test_longest_message(trials):
    assert trials(FIRST_ROW).longest.matches(120, tolerance=0.5)  # a whole number


@claim(
    "Training the last token is substantially better than training the first",
    source=f"{interpretation} 1",
    documented="0.9500 and 0.7500",
)
def test_last_token_beats_first(trials):
    last, first = trials(ROWS[1], ROWS[2])
    require_no_guess(trials, last, HANDFUL)
    assert on_test(last, 1).exceeds(on_test(first, 2), by_at_least=MUCH)


@claim(
    "The causal mask is why: without it, the first token is better than with it",
    source=f"{interpretation} 1",
    documented="expected",
)
def test_first_token_recovers_without_the_mask(trials):
    without, first = trials(ROWS[2].but(causal=False), ROWS[2])
    require_no_guess(trials, without, HANDFUL)
    assert without.test_accuracy.exceeds(first.test_accuracy, by_at_least=MUCH)


@claim(
    "The causal mask is why: without it, the first token is as good as the last",
    source=f"{interpretation} 1",
    documented="expected",
)
def test_first_token_is_as_good_without_the_mask(trials):
    first, last = trials(ROWS[2].but(causal=False), LATER_ROWS[17])
    require_no_guess(trials, last, TWO_HANDFULS)
    assert first.test_accuracy.is_within(TWO_HANDFULS, of=last.test_accuracy)


@claim(
    "Training the last block is substantially better than training the last layer",
    source=f"{interpretation} 2",
    documented="0.9500 and 0.7200",
)
def test_last_block_beats_last_layer(trials):
    block, layer = trials(ROWS[1], ROWS[3])
    require_no_guess(trials, block, HANDFUL)
    assert on_test(block, 1).exceeds(on_test(layer, 3), by_at_least=MUCH)


@claim(
    "Reading the first token is better than training the last layer alone, by 3 points",
    source=ours,
    documented=f"{difference(2, 3):+}",
    kind="question",
)
def test_first_token_is_at_the_level_of_the_last_layer(trials):
    first, layer = trials(ROWS[2], ROWS[3])
    differs_by(trials, first, layer, difference(2, 3), TWO_HANDFULS)


@claim(
    "Training all layers is better than training the last block",
    source=f"{interpretation} 3",
    documented="0.9667 and 0.9500",
)
def test_all_layers_beat_last_block(trials):
    everything, block = trials(ROWS[4], ROWS[1])
    require_no_guess(trials, block, HANDFUL)
    assert on_test(everything, 4) > on_test(block, 1)


@claim(
    "The improvement is modest, of ~2 %",
    source=f"{interpretation} 3",
    documented=f"{difference(4, 1):+}",
)
def test_all_layers_are_modestly_better(trials):
    everything, block = trials(ROWS[4], ROWS[1])
    differs_by(trials, everything, block, difference(4, 1))


@claim("A 3x larger model is worse", source=f"{interpretation} 4", documented="0.8467 and 0.9500")
def test_medium_loses_to_small(trials):
    medium, small = trials(ROWS[5], ROWS[1])
    require_no_guess(trials, small, HANDFUL)
    assert on_test(medium, 5) < on_test(small, 1)


@claim(
    "Or this finetuning does not suit it: where all layers are trained it is no worse",
    source=f"{interpretation} 4",
    documented="“perhaps”; not run",
    only_at="paper",
)
def test_another_finetuning_suits_the_medium_model(trials):
    medium, small = trials(ROWS[5].but(trained="all"), ROWS[4])
    require_no_guess(trials, small, HANDFUL)
    assert medium.test_accuracy.is_at_most(HANDFUL, below=small.test_accuracy)


@claim("A 5x larger model is better", source=f"{interpretation} 4", documented="0.9667 and 0.9500")
def test_large_beats_small(trials):
    large, small = trials(ROWS[6], ROWS[1])
    require_no_guess(trials, small, HANDFUL)
    assert on_test(large, 6) > on_test(small, 1)


@claim(
    "A 12x larger model is better still",
    source=f"{interpretation} 4",
    documented="0.9833 and 0.9667",
)
def test_xl_beats_large(trials):
    xl, large = trials(ROWS[7], ROWS[6])
    require_no_guess(trials, large, HANDFUL)
    assert on_test(xl, 7) > on_test(large, 6)


@claim(
    "The xl model is the best on the test set", source="003, Table", documented="0.9833 and {other}"
)
@pytest.mark.parametrize(
    ("row", "other"),
    [(row, f"{shares[1]:.4f}") for row, shares in DOCUMENTED.items() if row != 7],
    ids=[str(row) for row in DOCUMENTED if row != 7],
)
def test_xl_is_best(trials, row, other):
    xl, smaller = trials(ROWS[7], ROWS[row])
    require_no_guess(trials, xl, HANDFUL)
    assert on_test(xl, 7) > on_test(smaller, row)


@claim(
    "Random weights are worse than pretrained ones",
    source=f"{interpretation} 5",
    documented="0.9367 and 0.9500",
)
def test_random_weights_lose_to_pretrained(trials):
    random, pretrained = trials(ROWS[8], ROWS[1])
    require_no_guess(trials, pretrained, HANDFUL)
    assert on_test(random, 8) < on_test(pretrained, 1)


@claim(
    "Random weights are only slightly worse than pretrained ones, by 1.3 %",
    source=f"{interpretation} 5",
    documented=f"{difference(8, 1):+}",
)
def test_random_weights_are_only_slightly_worse(trials):
    random, pretrained = trials(ROWS[8], ROWS[1])
    differs_by(trials, random, pretrained, difference(8, 1))


@claim(
    "Random weights are worse than pretrained ones where all layers are trained in both",
    source=ours,
    documented="0.9367 and 0.9667 in rows 8 and 4; the text compares 8 with 1",
    kind="question",
)
def test_random_weights_are_worse_like_for_like(trials):
    random, pretrained = trials(ROWS[8], ROWS[4])
    require_no_guess(trials, pretrained, HANDFUL)
    assert on_test(random, 8) < on_test(pretrained, 4)


@claim(
    "Random weights learn the training set",
    source="003, Table",
    documented="1.0000",
    only_at="paper",
)
def test_random_weights_learn_the_training_set(trials):
    assert trials(ROWS[8]).train_accuracy.agrees_with(1.0, runs=1, within=HANDFUL)


@claim(
    "LoRA is better than training all layers",
    source=f"{interpretation} 6",
    documented="0.9767 and 0.9667",
)
def test_lora_beats_all_layers(trials):
    adapted, everything = trials(lora(trials), ROWS[4])
    require_no_guess(trials, everything, HANDFUL)
    assert on_test(adapted, 9) > on_test(everything, 4)


@claim(
    "LoRA improves the performance by 1 % point over training all layers",
    source=f"{interpretation} 6",
    documented=f"{difference(9, 4):+}",
)
def test_lora_improves_by_a_point(trials):
    adapted, everything = trials(lora(trials), ROWS[4])
    differs_by(trials, adapted, everything, difference(9, 4))


@claim(
    "LoRA is a viable alternative: no worse than training all layers, by more than a handful",
    source=f"{interpretation} 6",
    documented="0.9767 and 0.9667",
)
def test_lora_is_no_worse(trials):
    adapted, everything = trials(lora(trials), ROWS[4])
    require_no_guess(trials, everything, HANDFUL)
    assert on_test(adapted, 9).is_at_most(HANDFUL, below=on_test(everything, 4))


@claim(
    "The small LoRA is better at the documented rank of 16 than at 1, a rank as narrow as it is",
    source=ours,
    documented="not run",
    kind="control",
    only_at="ci",
)
def test_a_larger_rank_helps_the_small_lora(trials):
    documented_rank, rank_1 = trials(lora(trials), ROWS[9])
    assert documented_rank.test_accuracy > rank_1.test_accuracy


@claim(
    "LoRA overfits less: its gap between training and validation is smaller",
    source=f"{interpretation} 6",
    documented="0.0153 and 0.0298",
)
def test_lora_has_the_smaller_gap(trials):
    adapted, everything = trials(lora(trials), ROWS[4])
    gap = adapted.train_over_validation.documented_as(0.0153)
    assert gap < everything.train_over_validation.documented_as(0.0298)


@claim(
    "LoRA's gap between training and validation is 1 % lower",
    source=f"{interpretation} 6",
    documented="-0.0145",
)
def test_lora_lowers_the_gap_by_a_point(trials):
    adapted, everything = trials(lora(trials), ROWS[4])
    require_no_guess(trials, everything, HANDFUL)
    gap = everything.train_over_validation
    assert adapted.train_over_validation.agrees_with(-0.0145, runs=1, within=HANDFUL, plus=gap)


@claim("LoRA trains fewer parameters", source=f"{interpretation} 6", documented="fewer")
def test_lora_trains_fewer_parameters(trials):
    adapted, everything = trials(lora(trials), ROWS[4])
    assert adapted.parameters < everything.parameters


@claim(
    "Later: LoRA with the new start and α = 16 is as much better than training all layers",
    source=later,
    documented=f"{difference(11, 4, LATER_DOCUMENTED):+}",
    only_at="paper",
)
def test_later_lora_matches(trials):
    lora, everything = trials(LATER_ROWS[11], ROWS[4])
    differs_by(trials, lora, everything, difference(11, 4, LATER_DOCUMENTED))


@claim(
    "Padding to the full context is significantly worse",
    source=f"{interpretation} 7",
    documented="0.7833 and 0.9500",
)
def test_padding_to_the_context_is_worse(trials):
    context, longest = trials(ROWS[10], ROWS[1])
    require_no_guess(trials, longest, HANDFUL)
    assert on_test(longest, 1).exceeds(on_test(context, 10), by_at_least=CLEARLY)


@claim(
    "What padding to the full context loses comes back by reading the last word",
    source=ours,
    documented="not run",
    kind="question",
)
def test_last_word_recovers_from_padding(trials):
    word, last = trials(ROWS[10].but(token="last word"), ROWS[10])
    assert word.test_accuracy > last.test_accuracy


@claim(
    "What padding to the full context loses comes back by not looking at padding",
    source=ours,
    documented="not run",
    kind="question",
)
def test_unattended_padding_recovers(trials):
    unattended, attended = trials(ROWS[10].but(attends_padding=False), ROWS[10])
    assert unattended.test_accuracy > attended.test_accuracy


@claim(
    "Training accuracy is above test accuracy", source="003, Table", documented="by {difference}"
)
@pytest.mark.parametrize(
    ("row", "difference"),
    [(row, f"{train - test:.4f}") for row, (train, test, _) in DOCUMENTED.items()],
    ids=list(map(str, DOCUMENTED)),
)
def test_training_is_above_test(trials, row, difference):
    train, test, _ = DOCUMENTED[row]
    gap = trials(arm_of(trials, row)).train_over_test
    assert gap.documented_as(round(train - test, 4)) > 0


@claim(
    "Validation accuracy is above training accuracy",
    source="003, Table",
    documented="by {difference}",
)
@pytest.mark.parametrize(
    ("row", "difference"),
    [
        (row, f"{validation - train:.4f}")
        for row, (train, _, validation) in DOCUMENTED.items()
        if validation > train
    ],
    ids=[str(row) for row, (train, _, validation) in DOCUMENTED.items() if validation > train],
)
def test_validation_is_above_training(trials, row, difference):
    train, _, validation = DOCUMENTED[row]
    gap = trials(ROWS[row]).train_over_validation
    assert gap.documented_as(round(train - validation, 4)) < 0


@claim(
    "What it says of two rows holds on validation too",
    source=ours,
    documented="{documented}",
    kind="question",
)
@pytest.mark.parametrize(
    ("better", "worse", "by_at_least", "documented"),
    [
        (*rows, by, " and ".join(f"{DOCUMENTED[row][VALIDATION]:.4f}" for row in rows))
        for *rows, by in ORDERED
    ],
    ids=[f"{better}-above-{worse}" for better, worse, _ in ORDERED],
)
def test_on_validation_too(trials, better, worse, by_at_least, documented):
    above, below = (
        trial.validation_accuracy.documented_as(DOCUMENTED[row][VALIDATION])
        for row, trial in zip((better, worse), trials(ROWS[better], ROWS[worse]), strict=True)
    )
    assert above.exceeds(below, by_at_least=by_at_least)


@claim(
    "LoRA is better on validation too",
    source=ours,
    documented=" and ".join(f"{DOCUMENTED[row][VALIDATION]:.4f}" for row in (9, 4)),
    kind="question",
)
def test_lora_is_better_on_validation_too(trials):
    adapted, everything = trials(lora(trials), ROWS[4])
    assert adapted.validation_accuracy > everything.validation_accuracy


@claim("Two blocks are better than one", source=later, documented="0.9833 and 0.9500")
def test_two_blocks_are_better(trials):
    two, one = trials(LATER_ROWS[4], ROWS[1])
    require_no_guess(trials, one, HANDFUL)
    assert on_test(two, 4, LATER_DOCUMENTED) > on_test(one, 1)


@claim("Without padding it is better", source=later, documented="0.9800 and 0.9500")
def test_no_padding_is_better(trials):
    unpadded, padded = trials(LATER_ROWS[14], ROWS[1])
    require_no_guess(trials, padded, HANDFUL)
    assert on_test(unpadded, 14, LATER_DOCUMENTED) > on_test(padded, 1)


@claim(
    "Without padding, eight messages at a time are as good as one",
    source=later,
    documented="0.9833 and 0.9800",
)
def test_accumulating_is_as_good(trials):
    eight, one = trials(LATER_ROWS[15], LATER_ROWS[14])
    differs_by(trials, eight, one, 0.0033, TWO_HANDFULS)


@claim("Reading the last word is better", source=later, documented="0.9833 and 0.9500")
def test_last_word_is_better(trials):
    word, last = trials(LATER_ROWS[16], ROWS[1])
    require_no_guess(trials, last, HANDFUL)
    assert on_test(word, 16, LATER_DOCUMENTED) > on_test(last, 1)


@claim("Without the causal mask it is as good", source=later, documented="0.9533 and 0.9500")
def test_no_mask_is_as_good(trials):
    without, usual = trials(LATER_ROWS[17], ROWS[1])
    differs_by(trials, without, usual, 0.0033)


@claim("The mean of all tokens is better", source=later, documented="0.9633 and 0.9500")
def test_mean_is_better(trials):
    mean, last = trials(LATER_ROWS[19], ROWS[1])
    require_no_guess(trials, last, HANDFUL)
    assert on_test(mean, 19, LATER_DOCUMENTED) > on_test(last, 1)


each_own_row = pytest.mark.parametrize(
    ("row", "documented"),
    [(row, f"{DOCUMENTED[row][1]:.4f}") for row in OWN],
    ids=list(map(str, OWN)),
)


@claim(
    "The network beats the length of a message",
    source=ours,
    documented="{documented}; 0.8167 by the length alone",
    kind="control",
)
@each_own_row
def test_beats_length(trials, row, documented):
    network, length = trials(arm_of(trials, row), BaselineArm(rule="length"))
    assert network.test_accuracy > length.test_accuracy


@claim(
    "The network beats a table of first tokens",
    source=ours,
    documented="{documented}; 0.8000 by the table",
    kind="control",
)
@each_own_row
def test_beats_first_token(trials, row, documented):
    network, table = trials(arm_of(trials, row), BaselineArm(rule="first token"))
    assert network.test_accuracy > table.test_accuracy


@claim("The network beats a bag of words", source=ours, documented="{documented}", kind="control")
@each_own_row
def test_beats_bag_of_words(trials, row, documented):
    network, bag = trials(arm_of(trials, row), BaselineArm(rule="bag of words"))
    assert network.test_accuracy > bag.test_accuracy


at_192 = {"only_at": "ci", "looks": (5, 8, 12)}


def wider(row):
    """A row of the table of the GPT that is 192 wide, LoRA at its documented rank."""
    arm = ROWS[row].but(size="mini")
    narrower = SHAPES["small"].width // SHAPES["mini"].width
    return arm.but(rank=arm.rank * narrower) if arm.trained == "lora" else arm


@claim(
    "Of a GPT 192 wide, too, the better of two rows is better, by as much as its words ask",
    source=interpretation,
    documented="{says}: {documented}",
    **at_192,
)
@pytest.mark.parametrize(
    ("better", "worse", "by_at_least", "says", "documented"),
    [
        (*rows, margin, says, " and ".join(f"{DOCUMENTED[row][TEST]:.4f}" for row in rows))
        for rows, margin, says in (
            ((1, 2), MUCH, "training the last token, not the first"),
            ((1, 3), MUCH, "training the last block, not the last layer"),
            ((4, 1), None, "training all layers, not the last block"),
            ((1, 8), None, "pretrained weights, not random ones"),
            ((9, 4), None, "LoRA, not training all layers"),
            ((1, 10), CLEARLY, "padding to the longest message, not to the context"),
        )
    ],
    ids=["1-above-2", "1-above-3", "4-above-1", "1-above-8", "9-above-4", "1-above-10"],
)
def test_wider(trials, better, worse, by_at_least, says, documented):
    above, below = trials(wider(better), wider(worse))
    assert on_test(above, better).exceeds(on_test(below, worse), by_at_least=by_at_least)


DIRECTIONS = [(1, 3), (1, 10)]  # of which our margins, and no words of its own, left it open
each_direction = pytest.mark.parametrize(
    ("better", "worse", "documented"),
    [
        (better, worse, f"{DOCUMENTED[better][TEST]:.4f} and {DOCUMENTED[worse][TEST]:.4f}")
        for better, worse in DIRECTIONS
    ],
    ids=[f"{better}-above-{worse}" for better, worse in DIRECTIONS],
)


@claim(
    "What it calls substantially or significantly better is better at all",
    source=interpretation,
    documented="{documented}",
    only_at="ci",
)
@each_direction
def test_direction(trials, better, worse, documented):
    above, below = trials(ROWS[better], ROWS[worse])
    require_no_guess(trials, above, HANDFUL)
    assert on_test(above, better) > on_test(below, worse)


@pytest.mark.nightly
@claim(
    "Of a GPT 192 wide, what it calls substantially or significantly better is better at all",
    source=interpretation,
    documented="{documented}",
    **at_192,
)
@each_direction
def test_wider_direction(trials, better, worse, documented):
    above, below = trials(wider(better), wider(worse))
    assert on_test(above, better) > on_test(below, worse)


@claim(
    "Of a GPT 192 wide: the last block, finetuned, reaches the accuracy that GPT-2's has",
    source=ours,
    documented="0.9500",
    kind="question",
    **at_192,
)
def test_wider_first_row(trials):
    assert trials(wider(1)).test_accuracy.agrees_with(0.95, runs=1, within=HANDFUL)


@claim(
    "Of a GPT 192 wide: LoRA is no worse than training all layers, by more than a handful",
    source=f"{interpretation} 6",
    documented="0.9767 and 0.9667",
    **at_192,
)
def test_wider_lora_is_no_worse(trials):
    adapted, everything = trials(wider(9), wider(4))
    require_no_guess(trials, everything, HANDFUL)
    assert on_test(adapted, 9).is_at_most(HANDFUL, below=on_test(everything, 4))


@claim(
    "Of a GPT 192 wide, LoRA overfits less: its gap between training and validation is smaller",
    source=f"{interpretation} 6",
    documented="0.0153 and 0.0298",
    **at_192,
)
def test_wider_lora_has_the_smaller_gap(trials):
    adapted, everything = trials(wider(9), wider(4))
    gap = adapted.train_over_validation.documented_as(0.0153)
    assert gap < everything.train_over_validation.documented_as(0.0298)


# LoRA at its fairest. Its documented rate was chosen for GPT-2, and each method may have another
# best rate here. So both have the same grid of rates, for 5 epochs as documented and for 20, and
# LoRA for three ranks. Each seed has a split of the messages of its own. All of this was written
# down before any of it was trained, and so was what follows: of each row of the grid the rate
# counts whose validation accuracy is best in the mean of the five seeds (of two that tie, the one
# nearer to the documented rate). The sentences on LoRA are then judged of these rates, on the
# seeds after these five. The GPT 192 wide has the same grid at the documented rank for 5 epochs; it
# gets 20 too, if 5 do not bring the training accuracy of both methods to 0.99. They do not: at its
# best rate LoRA has 0.976 in the mean of the five seeds.

GRID = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2)
"""The rates, relative to the documented one. The two lowest were added to both methods when LoRA's
validation accuracy was best at 1/8, the lowest of five, and before any sentence was judged."""

LOWER = (1 / 128, 1 / 64)
"""More rates for 20 epochs. They were added to both methods when LoRA's validation accuracy of
ranks 16 and 64 was best at 1/32, the lowest, and before any sentence on 20 epochs was judged."""


def on_splits(trained, *, epochs=5, rank=None, rate=1.0):
    """All layers, or LoRA of a rank that the small size keeps, at a rate of the grid."""
    recipe = DOCUMENTED_RECIPE.but(lr=DOCUMENTED_RECIPE.lr * rate, epochs=epochs)
    arm = SplitArm(trained=trained, recipe=recipe)
    return arm if rank is None else arm.but(rank=rank * NARROWER)


def wider_on_splits(trained, *, epochs=5, rate=1.0):
    """The same of a GPT 192 wide, LoRA at its documented rank."""
    row = wider(9 if trained == "lora" else 4)
    recipe = DOCUMENTED_RECIPE.but(lr=DOCUMENTED_RECIPE.lr * rate, epochs=epochs)
    return SplitArm(trained=trained, size=row.size, rank=row.rank, recipe=recipe)


@pytest.mark.nightly
@claim(
    "Another rate than the documented one is better on validation",
    source=ours,
    documented="not run",
    kind="question",
    only_at="ci",
    looks=(5,),
)
@pytest.mark.parametrize("rate", [rate for rate in GRID if rate != 1])
@pytest.mark.parametrize("epochs", [5, 20])
@pytest.mark.parametrize("rank", [None, 4, 16, 64], ids=["all", "rank4", "rank16", "rank64"])
def test_rates_on_validation(trials, rank, epochs, rate):
    row = {"trained": "all" if rank is None else "lora", "rank": rank, "epochs": epochs}
    other, documented = trials(on_splits(**row, rate=rate), on_splits(**row))
    assert other.validation_accuracy > documented.validation_accuracy


@pytest.mark.nightly
@claim(
    "In 20 epochs, a far lower rate than the documented one is better on validation",
    source=ours,
    documented="not run",
    kind="question",
    only_at="ci",
    looks=(5,),
)
@pytest.mark.parametrize("rate", LOWER)
@pytest.mark.parametrize("rank", [None, 4, 16, 64], ids=["all", "rank4", "rank16", "rank64"])
def test_lower_rates_on_validation(trials, rank, rate):
    row = {"trained": "all" if rank is None else "lora", "rank": rank, "epochs": 20}
    other, documented = trials(on_splits(**row, rate=rate), on_splits(**row))
    assert other.validation_accuracy > documented.validation_accuracy


CHOSEN = {  # what the grid's validation says, by rank, or None for all layers, and epochs
    (None, 5): 1 / 4,
    (4, 5): 1 / 8,
    (16, 5): 1 / 16,
    (64, 5): 1 / 8,
    (None, 20): 1,
    (4, 20): 1 / 16,
    (16, 20): 1 / 32,
    (64, 20): 1 / 32,
}
WIDER_CHOSEN = {"all": 1, "lora": 1 / 2}  # the same of the GPT 192 wide, for 5 epochs
WIDER = "wider"
on_fresh_seeds = {"only_at": "ci", "looks": (5, 8, 12), "after": 5}
each_adapter = pytest.mark.parametrize(
    ("rank", "epochs"),
    [*(row for row in CHOSEN if row[0] is not None), (WIDER, 5)],
    ids=[*(f"rank{rank}-{epochs}" for rank, epochs in CHOSEN if rank is not None), f"{WIDER}-5"],
)


def at_their_best(trials, rank, epochs):
    """LoRA of a rank, or of the GPT 192 wide, and all layers, each at the rate chosen for it."""
    if rank == WIDER:
        return trials(*(wider_on_splits(x, rate=WIDER_CHOSEN[x]) for x in ("lora", "all")))
    adapted = on_splits("lora", rank=rank, epochs=epochs, rate=CHOSEN[rank, epochs])
    everything = on_splits("all", epochs=epochs, rate=CHOSEN[None, epochs])
    return trials(adapted, everything)


@pytest.mark.nightly
@claim(
    "Each at its best rate, LoRA is better than training all layers",
    source=f"{interpretation} 6",
    documented="0.9767 and 0.9667",
    **on_fresh_seeds,
)
@each_adapter
def test_lora_at_its_best_is_better(trials, rank, epochs):
    adapted, everything = at_their_best(trials, rank, epochs)
    assert on_test(adapted, 9) > on_test(everything, 4)


@pytest.mark.nightly
@claim(
    "Each at its best rate, LoRA is no worse than training all layers, by more than a handful",
    source=f"{interpretation} 6",
    documented="0.9767 and 0.9667",
    **on_fresh_seeds,
)
@each_adapter
def test_lora_at_its_best_is_no_worse(trials, rank, epochs):
    adapted, everything = at_their_best(trials, rank, epochs)
    assert on_test(adapted, 9).is_at_most(HANDFUL, below=on_test(everything, 4))


@pytest.mark.nightly
@claim(
    "Each at its best rate, LoRA overfits less: its gap between training and validation is smaller",
    source=f"{interpretation} 6",
    documented="0.0153 and 0.0298",
    **on_fresh_seeds,
)
@each_adapter
def test_lora_at_its_best_has_the_smaller_gap(trials, rank, epochs):
    adapted, everything = at_their_best(trials, rank, epochs)
    gap = adapted.train_over_validation.documented_as(0.0153)
    assert gap < everything.train_over_validation.documented_as(0.0298)


@pytest.mark.nightly
@claim(
    "Each at its best rate, LoRA fits its training messages as well as all layers do",
    source=ours,
    documented="0.9952 and 0.9962",
    kind="question",
    **on_fresh_seeds,
)
@each_adapter
def test_lora_at_its_best_fits_as_well(trials, rank, epochs):
    adapted, everything = at_their_best(trials, rank, epochs)
    assert adapted.train_accuracy.is_at_most(0.01, below=everything.train_accuracy)


def each_wider_rate(test):
    """Ask of every other rate of the grid, for both methods."""
    test = pytest.mark.parametrize("trained", ["all", "lora"])(test)
    return pytest.mark.parametrize("rate", [rate for rate in GRID if rate != 1])(test)


@pytest.mark.nightly
@claim(
    "Of a GPT 192 wide, another rate than the documented one is better on validation",
    source=ours,
    documented="not run",
    kind="question",
    only_at="ci",
    looks=(5,),
)
@each_wider_rate
def test_wider_rates_on_validation(trials, trained, rate):
    other, documented = trials(wider_on_splits(trained, rate=rate), wider_on_splits(trained))
    assert other.validation_accuracy > documented.validation_accuracy


@pytest.mark.nightly
@claim(
    "Of a GPT 192 wide in 20 epochs, another rate than the documented one is better on validation",
    source=ours,
    documented="not run",
    kind="question",
    only_at="ci",
    looks=(5,),
)
@each_wider_rate
def test_wider_rates_in_twenty_epochs(trials, trained, rate):
    other = wider_on_splits(trained, epochs=20, rate=rate)
    other, documented = trials(other, wider_on_splits(trained, epochs=20))
    assert other.validation_accuracy > documented.validation_accuracy
