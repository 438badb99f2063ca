"""The sentences of source 003 again, of a larger GPT: 192 units wide, 6 blocks.

The GPT of `test_finetuning.py` is 48 wide, and its first row reaches 0.87 where the source's has
0.95. So whoever reads there that LoRA loses may ask whether a better model would say the same. This
one is pretrained six times through WikiText-2, which takes about two hours of one core, once. Looks
were chosen before any of it was trained.
"""

from repro import claim
from repro.studies.finetuning.arms import ROWS
from repro.studies.finetuning.gpt2 import SHAPES

GUESSED = 0.53  # the share of the test messages that are spam, as all may be called
HANDFUL = 0.02  # six of 300 messages: two binomial standard errors at the documented 97 %
MUCH = 0.10  # "substantially": half of the documented differences of 20 and 23 points
CLEARLY = 0.08  # "significantly": half of the documented difference of 17 points
LOOKS = (5, 8, 12)

interpretation = "003, Interpretation"
at_192 = {"only_at": "ci", "looks": LOOKS}


def row(number):
    """A row of the table with the larger model, LoRA at the rank that is documented."""
    arm = ROWS[number].but(size="mini")
    narrower = SHAPES["small"].width // SHAPES["mini"].width
    return arm.but(rank=arm.rank * narrower) if arm.trained == "lora" else arm


def require_no_guess(trials, arm, margin):
    """Leave a claim of equality unjudged where the arm is not clear of chance by its margin."""
    is_clear = arm.test_accuracy.exceeds(GUESSED, by_at_least=margin)
    trials.require(is_clear, "an arm that does not guess")


@claim(
    "Of a GPT 192 wide: the last block, finetuned, reaches the accuracy that GPT-2's has",
    source="003, not in its text: asked of its result",
    documented="0.9500",
    kind="question",
    **at_192,
)
def test_wider_first_row(trials):
    assert trials(row(1)).test_accuracy.agrees_with(0.95, runs=1, within=HANDFUL)


@claim(
    "Of a GPT 192 wide: training the last token is substantially better than training the first",
    source=f"{interpretation} 1",
    documented="0.9500 and 0.7500",
    **at_192,
)
def test_wider_last_token_beats_first(trials):
    last, first = trials(row(1), row(2))
    assert last.test_accuracy.exceeds(first.test_accuracy, by_at_least=MUCH)


@claim(
    "Of a GPT 192 wide: the last block is substantially better than the last layer",
    source=f"{interpretation} 2",
    documented="0.9500 and 0.7200",
    **at_192,
)
def test_wider_last_block_beats_last_layer(trials):
    block, layer = trials(row(1), row(3))
    assert block.test_accuracy.exceeds(layer.test_accuracy, by_at_least=MUCH)


@claim(
    "Of a GPT 192 wide: training all layers is better than training the last block",
    source=f"{interpretation} 3",
    documented="0.9667 and 0.9500",
    **at_192,
)
def test_wider_all_layers_beat_last_block(trials):
    everything, block = trials(row(4), row(1))
    assert everything.test_accuracy > block.test_accuracy


@claim(
    "Of a GPT 192 wide: random weights are worse than pretrained ones",
    source=f"{interpretation} 5",
    documented="0.9367 and 0.9500",
    **at_192,
)
def test_wider_random_weights_lose_to_pretrained(trials):
    random, pretrained = trials(row(8), row(1))
    assert random.test_accuracy < pretrained.test_accuracy


@claim(
    "Of a GPT 192 wide: LoRA is better than training all layers",
    source=f"{interpretation} 6",
    documented="0.9767 and 0.9667",
    **at_192,
)
def test_wider_lora_beats_all_layers(trials):
    adapted, everything = trials(row(9), row(4))
    assert adapted.test_accuracy > everything.test_accuracy


@claim(
    "Of a GPT 192 wide: LoRA is no worse than training all layers, by more than a handful",
    source=f"{interpretation} 6",
    documented="0.9767 and 0.9667",
    **at_192,
)
def test_wider_lora_is_no_worse(trials):
    adapted, everything = trials(row(9), row(4))
    require_no_guess(trials, everything, HANDFUL)
    assert adapted.test_accuracy.is_at_most(HANDFUL, below=everything.test_accuracy)


@claim(
    "Of a GPT 192 wide, LoRA overfits less: its gap between training and validation is smaller",
    source=f"{interpretation} 6",
    documented="0.0153 and 0.0298",
    **at_192,
)
def test_wider_lora_has_the_smaller_gap(trials):
    adapted, everything = trials(row(9), row(4))
    assert adapted.train_over_validation < everything.train_over_validation


@claim(
    "Of a GPT 192 wide: padding to the full context is significantly worse",
    source=f"{interpretation} 7",
    documented="0.7833 and 0.9500",
    **at_192,
)
def test_wider_padding_to_the_context_is_worse(trials):
    context, longest = trials(row(10), row(1))
    assert longest.test_accuracy.exceeds(context.test_accuracy, by_at_least=CLEARLY)
