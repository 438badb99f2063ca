"""Source 003 against itself: finetuning GPT-2 to tell spam, its table and what is said of it.

The sizes of the split stand in the author's repository: 1,040 of 1,045 training examples are
counted (batches of 8, the incomplete one dropped), 149 for validation and 300 for the test.
"""

import tomllib
from pathlib import Path

import pytest

from repro import claim
from repro.document import exact, linear, points, printed

TRAIN, VALIDATION, TEST = 1040, 149, 300
TRAIN_BY_ONE = 1045  # a batch of 1 drops nothing

PRINTED = tomllib.loads((Path(__file__).parents[1] / "sources/003.toml").read_text("utf-8"))
ROWS, LATER_ROWS = ({int(n): row for n, row in PRINTED[k].items()} for k in ("table", "later"))
TRAINED_BY_ONE = (14, 15)
REPEATED = [(1, 1), (2, 2), (3, 3), (4, 5), (5, 6), (6, 7), (7, 8), (8, 10), (10, 13)]
"""The rows of the first table with their numbers in the later one."""

GPT2 = [("small", 768, 12), ("medium", 1024, 24), ("large", 1280, 36), ("xl", 1600, 48)]
MILLIONS = {"small": "124M", "medium": "355M", "large": "774M", "xl": "1558M"}

TEST_COLUMN, VALIDATION_COLUMN = 1, 2


def each_row(rows):
    """Check each row, with its accuracies."""
    return pytest.mark.parametrize(
        ("row", "documented"),
        [(row, ", ".join(numbers[:3])) for row, numbers in rows.items()],
        ids=list(map(str, rows)),
    )


@claim("Accuracies are counts of examples", source="003, Table", documented="{documented}")
@each_row(ROWS)
def test_accuracies_are_counts(document, row, documented):
    train, test, validation, _ = ROWS[row]
    assert document(train).is_share_of(TRAIN)
    assert document(test).is_share_of(TEST)
    assert document(validation).is_share_of(VALIDATION)


@claim(
    "Accuracies are counts of examples, in the later table",
    source="003, Table at 28c65cd",
    documented="{documented}",
)
@each_row(LATER_ROWS)
def test_later_accuracies_are_counts(document, row, documented):
    train, validation, test = LATER_ROWS[row]
    assert document(train).is_share_of(TRAIN_BY_ONE if row in TRAINED_BY_ONE else TRAIN)
    assert document(test).is_share_of(TEST)
    assert document(validation).is_share_of(VALIDATION)


@claim(
    "The later table repeats the accuracies of the same run",
    source="003, Table at 28c65cd",
    documented="training, test, validation: {now}; before: {then}",
)
@pytest.mark.parametrize(
    ("row", "later", "then", "now"),
    [
        (row, later, ", ".join(ROWS[row][:3]), ", ".join(LATER_ROWS[later][i] for i in (0, 2, 1)))
        for row, later in REPEATED
    ],
    ids=[f"{row}-{later}" for row, later in REPEATED],
)
def test_later_table_repeats_this_one(document, row, later, then, now):
    train, test, validation, _ = ROWS[row]
    assert document(train).agrees_with(LATER_ROWS[later][0])
    assert document(test).agrees_with(LATER_ROWS[later][2])
    assert document(validation).agrees_with(LATER_ROWS[later][1])


@claim(
    "The parameters of GPT-2, by its published widths and depths",
    source="003, Table",
    documented="{millions}",
)
@pytest.mark.parametrize(
    ("size", "width", "depth", "millions"),
    [(size, width, depth, MILLIONS[size]) for size, width, depth in GPT2],
    ids=["-".join(map(str, shape)) for shape in GPT2],
)
def test_parameters_of_gpt2(document, size, width, depth, millions):
    embeddings = (exact(50257) + 1024) * width
    attention = linear(width, 3 * width) + linear(width, width)
    feed_forward = linear(width, 4 * width) + linear(4 * width, width)
    norm = 2 * exact(width)
    total = embeddings + depth * (attention + feed_forward + 2 * norm) + norm
    assert document(millions).agrees_with(total)


@claim(
    "The last token is better than the first",
    source="003, Interpretation 1",
    documented="95.00% and 75.00%",
)
def test_last_token_is_better(document):
    assert document(ROWS[1][TEST_COLUMN]) > ROWS[2][TEST_COLUMN]


@claim(
    "The last block is better than the last layer",
    source="003, Interpretation 2",
    documented="95.00% and 72.00%",
)
def test_last_block_is_better(document):
    assert document(ROWS[1][TEST_COLUMN]) > ROWS[3][TEST_COLUMN]


@claim(
    "All layers are ~2% better than the last block",
    source="003, Interpretation 3",
    documented="~2%: 96.67% and 95.00%",
)
def test_all_layers_are_better(document):
    assert document("~2%").agrees_with(points(ROWS[1][TEST_COLUMN], ROWS[4][TEST_COLUMN]))


@claim(
    "All layers: almost three times the training time",
    source="003, Interpretation 3",
    documented="almost three; 0.94 and 0.39 minutes",
)
def test_all_layers_take_three_times_as_long(document):
    assert document("3").agrees_with(printed("0.94") / printed("0.39"))


@claim(
    "The 3x, 5x and 12x larger models have 3, 5 and 12 times the parameters",
    source="003, Interpretation 4",
    documented="3x, 5x and 12x larger; 355M, 774M and 1558M of 124M",
)
def test_larger_models(document):
    # If "5x larger" means "by 5 times as much", then "5x" and "12x" fit, and "3x" does not.
    small, *larger = (printed(MILLIONS[size]) for size in ("small", "medium", "large", "xl"))
    for times, size in zip(("3", "5", "12"), larger, strict=True):
        assert document(times).agrees_with(size / small)


@claim("The medium model is worse", source="003, Interpretation 4", documented="84.67% and 95.00%")
def test_medium_is_worse(document):
    assert document(ROWS[5][TEST_COLUMN]) < ROWS[1][TEST_COLUMN]


@claim("The large model is better", source="003, Interpretation 4", documented="96.67% and 95.00%")
def test_large_is_better(document):
    assert document(ROWS[6][TEST_COLUMN]) > ROWS[1][TEST_COLUMN]


@claim(
    "The xl model is better still", source="003, Interpretation 4", documented="98.33% and 96.67%"
)
def test_xl_is_better_still(document):
    assert document(ROWS[7][TEST_COLUMN]) > ROWS[6][TEST_COLUMN]


@claim(
    "Random weights: worse by 1.3%",
    source="003, Interpretation 5",
    documented="1.3%: 93.67% and 95.00%",
)
def test_random_weights_are_worse(document):
    assert document("1.3%").agrees_with(points(ROWS[8][TEST_COLUMN], ROWS[1][TEST_COLUMN]))


@claim(
    "LoRA: 1% point better than all layers",
    source="003, Interpretation 6",
    documented="1%: 97.67% and 96.67%",
)
def test_lora_is_better(document):
    assert document("1%").agrees_with(points(ROWS[4][TEST_COLUMN], ROWS[9][TEST_COLUMN]))


@claim(
    "LoRA: a 1% lower gap between training and validation",
    source="003, Interpretation 6",
    documented="1%",
)
def test_lora_overfits_less(document):
    gap_of_all = points("96.64%", "99.62%")
    gap_of_lora = points("97.99%", "99.52%")
    assert document("1%").agrees_with(gap_of_all - gap_of_lora)


@claim(
    "LoRA is slightly faster: by a fifth at most",
    source="003, Interpretation 6",
    documented="0.82 and 0.94",
)
def test_lora_is_faster(document):
    assert document("0.82") < "0.94"
    assert document(printed("0.82") / printed("0.94")) > exact(4) / 5


@claim(
    "Padding to the full context is worse",
    source="003, Interpretation 7",
    documented="78.33% and 95.00%",
)
def test_padding_is_worse(document):
    assert document(ROWS[10][TEST_COLUMN]) < ROWS[1][TEST_COLUMN]


@claim(
    "Ignoring the padding token as a label changes nothing",
    source="003, Table at 28c65cd",
    documented="{ignored} and {usual}",
)
@pytest.mark.parametrize(
    ("ignored", "usual"),
    list(zip(LATER_ROWS[18], LATER_ROWS[1], strict=True)),
    ids=["training", "validation", "test"],
)
def test_ignoring_a_label_changes_nothing(document, ignored, usual):
    assert document(ignored).agrees_with(usual)


ORDERED = [(1, 2), (1, 3), (4, 1), (1, 5), (6, 1), (7, 6), (1, 8), (9, 4), (1, 10)]
"""Rows that the interpretation calls better and worse, by the test messages."""


@claim(
    "What it says of two rows holds on validation too",
    source="003, not in its text: asked of its table",
    documented="{higher} and {lower}",
    kind="question",
)
@pytest.mark.parametrize(
    ("higher", "lower"),
    [tuple(ROWS[row][VALIDATION_COLUMN] for row in rows) for rows in ORDERED],
    ids=[f"{better}-above-{worse}" for better, worse in ORDERED],
)
def test_validation_says_so_too(document, higher, lower):
    assert document(higher) > lower
