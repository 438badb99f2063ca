"""What does batch normalisation do for a small CNN that is trained fast?"""

from digits import Digits

from repro import claim


@claim("Batch normalisation helps at a high learning rate", source="digits, Section 1")
def test_norm_helps(trials):
    normed, plain = trials(Digits(), Digits(norm=False))
    assert normed.accuracy > plain.accuracy


@claim("With it, the loss falls in every epoch", source="digits, Section 1")
def test_loss_falls(trials):
    assert trials(Digits()).over_epochs.loss.falls()
