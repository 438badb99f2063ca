"""Source 001 against itself: context vectors, where the larger model is the worse one.

The loss of the baseline stands in the logs of the author's repository at b3e3be1, its exact number
of parameters too; the rules for learning rates in its later commits, as named. Learning rates are
settings, and so exact, where results are rounded.
"""

import pytest

from repro import claim
from repro.document import exact, linear, percent_change, perplexity, points, printed, root


def parameters(*, layers, context):
    """The architecture of the source: embedding, ReLU stack, head, three gates, LayerNorm."""
    embedding = exact(1000) * 256
    stack = linear(256 + context, 512) + (layers - 1) * linear(512, 512)
    head = linear(512, 1000)
    gates = 3 * linear(512, context)
    layer_norm = 2 * exact(context)
    return embedding + stack + head + gates + layer_norm


@claim(
    "The parameter counts follow from the architecture",
    source="001, Model capacity",
    documented="{count}",
)
@pytest.mark.parametrize(
    ("count", "layers", "context"),
    [("2.74M", 6, 256), ("4.84M", 12, 512)],
    ids=["baseline", "advanced"],
)
def test_parameter_counts(document, count, layers, context):
    assert document(count).agrees_with(parameters(layers=layers, context=context))


@claim(
    "The exact parameter count of the baseline follows from the architecture",
    source="001, the logs of its repository",
    kind="repository",
    documented="2,739,432",
)
def test_exact_parameter_count(document):
    assert document(2_739_432).agrees_with(parameters(layers=6, context=256))


@claim("1.77 times the baseline's parameters", source="001, Model capacity", documented="1.77")
def test_rounded_parameter_ratio(document):
    assert document("1.77").agrees_with(printed("4.84M") / printed("2.74M"))


@claim("Twice the baseline", source="001, Model capacity", documented="{advanced} and {baseline}")
@pytest.mark.parametrize(("advanced", "baseline"), [(12, 6), (512, 256)], ids=["layers", "context"])
def test_twice_the_baseline(document, advanced, baseline):
    assert document(advanced).agrees_with(2 * exact(baseline))


@claim(
    "The perplexity of the larger model is that of its loss",
    source="001, Final performance",
    documented="40.93 at a loss of 3.7119",
)
def test_perplexity_of_the_loss(document):
    assert document("40.93").agrees_with(perplexity("3.7119"))


@claim(
    "The perplexity of the smaller model is that of its loss",
    source="001, the logs of its repository",
    kind="repository",
    documented="{ppl} at a loss of {loss}",
)
@pytest.mark.parametrize(
    ("ppl", "loss"), [("30.78", "3.4269"), ("26.03", "3.2594")], ids=["4e-4", "8e-4"]
)
def test_perplexity_of_the_loss_in_its_logs(document, ppl, loss):
    assert document(ppl).agrees_with(perplexity(loss))


@claim("The larger model is 33% worse", source="001, Performance difference", documented="33%")
def test_perplexity_difference(document):
    assert document("33%").agrees_with(percent_change("30.78", "40.93"))


@claim("Accuracy is 3.1 points lower", source="001, Performance difference", documented="3.1")
def test_accuracy_difference(document):
    assert document("3.1 pp").agrees_with(points("31.3%", "34.4%"))


@claim("Best in perplexity: ✓ CPU", source="001, Earlier experiments", documented="23.34")
def test_best_perplexity(document):
    assert document(["40.93", "30.78", "23.34"]).falls()


@claim("Best in accuracy: ✓ L4 baseline", source="001, Earlier experiments", documented="34.4%")
def test_best_accuracy(document):
    assert document(["31.0%", "34.4%", "31.3%"]).peaks_at(1)


@claim("An epoch takes 12% longer", source="001, Summary", documented="24 s and 21.6 s")
def test_epoch_time(document):
    assert document("12%").agrees_with(percent_change("21.6", "24"))


@claim("~0.4 minutes an epoch, 24 seconds", source="001, Training time", documented="~0.4, 24")
def test_epoch_in_minutes(document):
    assert document("~0.4").agrees_with(printed("24") / 60)


@claim("50 epochs take 20 minutes", source="001, Training time", documented="20")
def test_training_time(document):
    assert document("20").agrees_with(50 * printed("24") / 60)


@claim("Half the learning rate", source="001, Hypothesis 1", documented="0.0002, half of 0.0004")
def test_half_the_learning_rate(document):
    assert document(exact("0.0002")).agrees_with(exact("0.0004") / 2)


@claim(
    "100 further epochs from the checkpoint at 50 make 150",
    source="001, Experiment B",
    documented="num_epochs = 150",
)
def test_further_epochs(document):
    assert document(150).agrees_with(exact(50) + 100)


@claim(
    "The log is that of this run, with a context of 512",
    source="001, Saved data",
    documented="ctx1024_log.txt; checkpoints …_ctx512_layers12",
)
def test_log_of_this_run(document):
    assert document(1024).agrees_with(512)


@claim(
    "Gradients are clipped at 1.0",
    source="001, Optimisation settings; the trainer at b3e3be1, which ignores its settings",
    documented="1.0; its code in epochs {epochs}: {clip}",
)
@pytest.mark.parametrize(("epochs", "clip"), [("1-10", "0.5"), ("11-30", "1.0"), ("31-50", "2.0")])
def test_gradients_are_clipped_as_printed(document, epochs, clip):
    assert document(exact("1.0")).agrees_with(exact(clip))


@claim(
    "The trainer waits 15 epochs for a gain: its code waits 10",
    source="001, Optimisation settings; the trainer at b3e3be1, which ignores its settings",
    documented="15",
)
def test_it_waits_as_long_as_printed(document):
    assert document(15).agrees_with(10)


@claim(
    "The larger model is trained in FP16: its script trains in 32 bits",
    source="001, Optimisation settings; train_wikitext_advanced.py at b3e3be1",
    documented="FP16 Mixed Precision",
)
def test_the_precision_is_as_printed(document):
    assert document(16).agrees_with(32)


@claim(
    "Linear Scaling Rule: the learning rate grows with the batch, from 0.0001 at 512",
    source="001, Optimisation settings; the rates of T4, L4 and A100 at b3e3be1",
    documented="{rate} at {batch}",
)
@pytest.mark.parametrize(("rate", "batch"), [("0.0004", 2048), ("0.0008", 4096)])
def test_linear_scaling(document, rate, batch):
    assert document(exact(rate)).agrees_with(exact("0.0001") * batch / 512)


@claim(
    "Square-root rule: the learning rate grows with the root of the batch, from 0.0001 at 32",
    source="001, commit 157654f",
    kind="repository",
    documented="0.0008 at 2048",
)
def test_root_scaling(document):
    assert document(exact("0.0008")).agrees_with(exact("0.0001") * root(exact(2048) / 32))


@claim(
    "Model-size rule: the learning rate falls with the root of the parameter ratio",
    source="001, CLAUDE.md of commit 147c12f",
    kind="repository",
    documented="about 0.0003 at 1.77 times the parameters of 0.0004; 0.0002 is its careful choice",
)
def test_model_size_rule(document):
    assert document("~0.0003").agrees_with(exact("0.0004") / root("1.77"))
