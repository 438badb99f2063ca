"""What makes a GPT of letters good?

Claims compare arms. A forgotten `model.eval()` or causal mask hits all of them alike, so no claim
changes: the ledger keeps the levels of the arms too, and `pytest --gate-levels` fails.
"""

from letters import Letters

from repro import claim


@claim("A wider model is better", source="letters, Section 1")
def test_width_helps(trials):
    wide, narrow = trials(Letters(width=32), Letters(width=4))
    assert wide["val/loss"] < narrow["val/loss"]


@claim("Attention helps: the letters before tell the direction", source="letters, Section 2")
def test_attention_helps(trials):
    with_it, without = trials(Letters(), Letters(attends=False))
    assert with_it["val/loss"] < without["val/loss"]


@claim("Of endless data there is nothing to overfit, so dropout hurts", source="letters, Section 3")
def test_dropout_hurts(trials):
    dropped, whole = trials(Letters(dropout=0.5), Letters(dropout=0.0))
    assert dropped["val/loss"] > whole["val/loss"]
