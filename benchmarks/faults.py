"""Faults to plant in the training code, each as one edit: the mistakes that researchers make.

A fault that nothing notices means that the suite could call a broken experiment reproduced.
"""

from __future__ import annotations

from dataclasses import dataclass

LADDER = "repro/studies/depth_ladder/"
EARLY_EXIT = "repro/studies/early_exit/"
CONTEXT = "repro/studies/context_vector/"
FINETUNING = "repro/studies/finetuning/"


@dataclass(frozen=True)
class Fault:
    """`old` stands in the file exactly once."""

    name: str
    path: str
    old: str
    new: str


FAULTS = [
    # data
    Fault(
        "labels shuffled",
        LADDER + "data.py",
        "self.labels[lines[..., 0]]",
        "self.labels.roll(7)[lines[..., 0]]",
    ),
    Fault(
        "evaluation on training data",
        LADDER + "data.py",
        "torch.from_numpy(images.test_images.copy())",
        "torch.from_numpy(images.train_images[:2560].copy())",
    ),
    Fault(
        "test images standardised by themselves",
        LADDER + "data.py",
        "self.test_inputs = self._flat(test)",
        "self.test_inputs = (lambda x: (x - x.mean(0)) / x.std(0))(self._flat(test))",
    ),
    Fault(
        "the same order of examples for every seed",
        LADDER + "data.py",
        'stream(seed, f"order/{number}")',
        'stream(0, f"order/{number}")',
    ),
    Fault(
        "the same order of examples in every epoch",
        LADDER + "data.py",
        'stream(seed, f"order/{number}")',
        'stream(seed, "order/0")',
    ),
    Fault(
        "augmentation without mirroring",
        LADDER + "data.py",
        "torch.cat([padded, padded.flip(2)])",
        "torch.cat([padded, padded])",
    ),
    Fault(
        "images mirrored top to bottom",
        LADDER + "data.py",
        "torch.cat([padded, padded.flip(2)])",
        "torch.cat([padded, padded.flip(1)])",
    ),
    # randomness
    Fault(
        "seeds shared between runs",
        "repro/core/streams.py",
        'f"{seed}/{name}"',
        'f"0/{name}"',
    ),
    Fault(
        "one random stream for everything",
        "repro/core/streams.py",
        'f"{seed}/{name}"',
        'f"{seed}"',
    ),
    # credit rules
    Fault(
        "frozen mask off",
        LADDER + "initial.py",
        'return int(name.split(".")[1]) >= arm.depth - arm.trained',
        "return True",
    ),
    Fault(
        "the first k blocks trained instead of the last",
        LADDER + "initial.py",
        'return int(name.split(".")[1]) >= arm.depth - arm.trained',
        'return int(name.split(".")[1]) < arm.trained',
    ),
    Fault(
        "embedding trained though frozen",
        LADDER + "initial.py",
        'or arm.embedding == "trained"',
        "or True",
    ),
    Fault(
        "feedback matrices replaced by the forward weights",
        LADDER + "initial.py",
        'normal(seed, f"feedback/{key}", shape, std=arm.weight_std)',
        'normal(seed, f"initial/{key}", shape, std=arm.weight_std)',
    ),
    Fault(
        "feedback matrices all zero",
        LADDER + "initial.py",
        'normal(seed, f"feedback/{point}", (d, CLASSES), std=1.0)',
        'normal(seed, f"feedback/{point}", (d, CLASSES), std=0.0)',
    ),
    Fault(
        "one DFA matrix for all points of the stream",
        LADDER + "initial.py",
        'normal(seed, f"feedback/{point}", (d, CLASSES), std=1.0)',
        'normal(seed, "feedback/0", (d, CLASSES), std=1.0)',
    ),
    Fault(
        "initialisation half as wide",
        LADDER + "initial.py",
        'normal(seed, f"initial/{name}", (rows, columns), std=std)',
        'normal(seed, f"initial/{name}", (rows, columns), std=std / 2)',
    ),
    Fault(
        "credit leaks into the blocks below",
        LADDER + "reference.py",
        "self.module.blocks[index](h[index].detach())",
        "self.module.blocks[index](h[index])",
    ),
    Fault(
        "the readout's gradient leaks into the blocks",
        LADDER + "reference.py",
        "self.module.readout(h[-1].detach()), y)",
        "self.module.readout(h[-1]), y)",
    ),
    Fault(
        "credit passed below a block without its skip connection",
        LADDER + "reference.py",
        "return credit + torch.autograd.grad(output, h, credit)[0]",
        "return torch.autograd.grad(output, h, credit)[0]",
    ),
    Fault(
        "credit normalised over the batch, not by example",
        LADDER + "reference.py",
        "rms = credit.square().mean(-1, keepdim=True).sqrt()",
        "rms = credit.square().mean().sqrt()",
    ),
    Fault(
        "DFA told the output instead of the error",
        LADDER + "reference.py",
        "self.module.readout(h[-1]).softmax(-1) - F.one_hot(y, initial.CLASSES)",
        "self.module.readout(h[-1]).softmax(-1)",
    ),
    Fault(
        "DFA's error with the sign turned",
        LADDER + "stacked.py",
        "credit = _product(error[:n], ",
        "credit = -_product(error[:n], ",
    ),
    Fault(
        "credit normalisation skipped by the stacked engine",
        LADDER + "stacked.py",
        'if self.arm.credit == "raw":',
        "if True:",
    ),
    Fault(
        "FA's last block told through a random matrix",
        LADDER + "reference.py",
        "credits = list(torch.autograd.grad(loss, top))",
        "credits = [torch.autograd.grad(loss, top)[0].flip(-1)]",
    ),
    # the network
    Fault(
        "skip connections left out",
        LADDER + "reference.py",
        "h = h + block(h)",
        "h = block(h)",
    ),
    Fault(
        "the tanh approximation of GELU",
        LADDER + "stacked.py",
        "g = F.gelu(u)",
        'g = F.gelu(u, approximate="tanh") * 1.01',
    ),
    Fault(
        "biases without gradient",
        LADDER + "stacked.py",
        'f"{name}.bias": d_out.sum(1)}',
        'f"{name}.bias": 0 * d_out.sum(1)}',
    ),
    # the optimiser
    Fault(
        "learning-rate scales ignored",
        "repro/core/program.py",
        "self.recipe.lr * scale}",
        "self.recipe.lr}",
    ),
    Fault(
        "learning-rate scales ignored by the stacked engine",
        "repro/core/stacked_optimiser.py",
        "(recipe.lr * scale, recipe",
        "(recipe.lr, recipe",
    ),
    Fault(
        "weight decay ignored",
        "repro/core/program.py",
        "weight_decay=self.recipe.weight_decay",
        "weight_decay=0.0",
    ),
    Fault(
        "no learning-rate schedule",
        "repro/recipe.py",
        'if self.schedule == "constant":',
        "if True:",
    ),
    Fault(
        "gradient norms not clipped",
        "repro/core/program.py",
        "gradient.mul_(factor[",
        "gradient.mul(factor[",
    ),
    Fault(
        "gradient norms clipped over all runs together",
        "repro/core/program.py",
        "factor = (self.limits / (squares.sqrt() + CLIP_EPSILON))",
        "factor = (self.limits / (squares.sum().sqrt() + CLIP_EPSILON))",
    ),
    # the driver
    Fault(
        "moments forgotten at a resume",
        "repro/core/program.py",
        'm[row] = state[f"exp_avg/{name}"]',
        "m[row] = 0.0",
    ),
    Fault(
        "a resume that repeats a step",
        "repro/core/train.py",
        '{"step": self.step, "state": _own(state)',
        '{"step": self.step - 1, "state": _own(state)',
    ),
    Fault(
        "the last measurement kept instead of the best",
        "repro/core/train.py",
        "if value < self.best_value:",
        "if True:",
    ),
    Fault(
        "early stopping a measurement late",
        "repro/core/train.py",
        "return self.stale > recipe.patience",
        "return self.stale > recipe.patience + 1",
    ),
    Fault(
        "losses that are not finite overlooked",
        "repro/core/train.py",
        "if not math.isfinite(loss)",
        "if loss != loss and False",
    ),
    # early exit
    Fault(
        "loss weights ignored",
        EARLY_EXIT + "reference.py",
        "weight * F.cross_entropy(",
        "F.cross_entropy(",
    ),
    Fault(
        "causal mask off",
        EARLY_EXIT + "model.py",
        "is_causal=True",
        "is_causal=False",
    ),
    Fault(
        "no positions",
        EARLY_EXIT + "model.py",
        "q, k = (self._rotated(layer, x, start) for layer in (self.query, self.key))",
        "q, k = (self._heads(layer(x)) for layer in (self.query, self.key))",
    ),
    Fault(
        "normalised before the sum instead of after",
        EARLY_EXIT + "model.py",
        "self.norm_attention(x + self.attention(x, memory))",
        "x + self.attention(self.norm_attention(x), memory)",
    ),
    Fault(
        "unsure tokens leave and sure ones stay",
        EARLY_EXIT + "routing.py",
        "leaves = sure >= threshold",
        "leaves = sure < threshold",
    ),
    Fault(
        "the deep answer taken from the shallow layer",
        EARLY_EXIT + "routing.py",
        "logits = layers[-1]",
        "logits = layers[0]",
    ),
    Fault(
        "the last exit that is sure enough instead of the first",
        EARLY_EXIT + "routing.py",
        "sorted(sureness.items(), reverse=True)",
        "sorted(sureness.items())",
    ),
    Fault(
        "computation counted from the wrong layer",
        EARLY_EXIT + "reference.py",
        "answers.depths.float().mean()) / FULL_DEPTH",
        "(answers.depths.float() + 1).mean()) / FULL_DEPTH",
    ),
    Fault(
        "evaluation on the training text",
        EARLY_EXIT + "data.py",
        "(text.validation, VALIDATION_BATCH))",
        "(text.train, VALIDATION_BATCH))",
    ),
    Fault(
        "the next character given away",
        EARLY_EXIT + "data.py",
        "windows[..., :-1], windows[..., 1:], lines",
        "windows[..., 1:], windows[..., 1:], lines",
    ),
    Fault(
        "learning how sure to be trains the network too",
        EARLY_EXIT + "model.py",
        "self.confidence(h.detach())",
        "self.confidence(h)",
    ),
    Fault(
        "runs that share a training are measured at its start",
        "repro/core/program.py",
        "model.module.load_state_dict(state)",
        "pass",
    ),
    Fault(
        "a generated token forgets those that left early",
        EARLY_EXIT + "generate.py",
        "torch.cat([*self.owed, h], dim=1), []",
        "h, []",
    ),
    # context vectors
    Fault(
        "the next word given away",
        CONTEXT + "data.py",
        "return words[..., :-1], words[..., 1:]",
        "return words[..., 1:], words[..., 1:]",
    ),
    Fault(
        "padding counted as words",
        CONTEXT + "evaluation.py",
        "counted = y != PAD",
        "counted = y >= PAD",
    ),
    Fault(
        "a pass over half of the sequences, twice",
        CONTEXT + "data.py",
        "order[part * arm.epoch_sequences : (part + 1) * arm.epoch_sequences]",
        "order[: arm.epoch_sequences]",
    ),
    Fault(
        "a narrow start where He's was asked for",
        CONTEXT + "initial.py",
        'he if arm.initialisation == "he" else arm.weight_std',
        "arm.weight_std",
    ),
    Fault(
        "the residual left out",
        CONTEXT + "model.py",
        'h + out if self.arm.stack == "residual" and index else out',
        "out",
    ),
    Fault(
        "the context never forgets",
        CONTEXT + "model.py",
        "stays * context + enters",
        "context + enters",
    ),
    Fault(
        "clipped all the way as in the first stage",
        "repro/recipe.py",
        "if start <= epoch][-1]",
        "if start <= epoch][0]",
    ),
    Fault(
        "any gain keeps a run going",
        "repro/core/train.py",
        "value - recipe.least_gain, 0",
        "value, 0",
    ),
    # modules of one's own
    Fault(
        "dropout left on in measuring",
        "repro/own/module.py",
        "module.eval()",
        "module.train()",
    ),
    Fault(
        "one dropout for all steps",
        "repro/own/module.py",
        "drawing_from(int(draws))",
        "drawing_from(0)",
    ),
    # finetuning
    Fault(
        "finetuning: the place before the last word is read",
        FINETUNING + "data.py",
        "last_word = (ends - 1).clamp(min=0)",
        "last_word = (ends - 2).clamp(min=0)",
    ),
    Fault(
        "finetuning: a place sees the next one",
        FINETUNING + "gpt.py",
        "seen = places <= reads[..., None]",
        "seen = places <= reads[..., None] + 1",
    ),
    Fault(
        "finetuning: padding is seen after all",
        FINETUNING + "gpt.py",
        "seen = seen & self.words[:, None]",
        "seen = seen | self.words[:, None]",
    ),
    Fault(
        "finetuning: the exact GELU",
        FINETUNING + "gpt.py",
        'approximate="tanh"',
        'approximate="none"',
    ),
    Fault(
        "finetuning: features of a block too early",
        FINETUNING + "data.py",
        "gpt.blocks[: arm.frozen_blocks]",
        "gpt.blocks[: arm.frozen_blocks - 1]",
    ),
    Fault(
        "finetuning: features shared between masks",
        FINETUNING + "data.py",
        "*(arm.frozen_blocks, arm.causal, arm.attends_padding),",
        "*(arm.frozen_blocks, arm.attends_padding),",
    ),
    Fault(
        "finetuning: the frozen part starts anew",
        FINETUNING + "classifier.py",
        "    gpt.load_state_dict(parameters)\n",
        "",
    ),
    Fault(
        "finetuning: pretrained blocks are forgotten",
        FINETUNING + "classifier.py",
        "if pretrained is not None:",
        "if pretrained is None:",
    ),
    Fault(
        "finetuning: adapters beside blocks that are trained too",
        FINETUNING + "classifier.py",
        "        freeze(module.blocks)\n",
        "",
    ),
    Fault(
        "finetuning: adapters that change the start",
        FINETUNING + "initial.py",
        "            rank = part.a.shape[1]",
        "            rank = part.a.shape[1]\n            part.b.fill_(0.01)",
    ),
    Fault(
        "finetuning: merged without alpha",
        FINETUNING + "lora.py",
        "old.weight + self.alpha * (self.a @ self.b).T",
        "old.weight + (self.a @ self.b).T",
    ),
    Fault(
        "finetuning: keys and queries of the public weights swapped",
        FINETUNING + "weights_file.py",
        '("query", "key", "value")',
        '("key", "query", "value")',
    ),
    Fault(
        "finetuning: the head always starts alike",
        FINETUNING + "initial.py",
        '_uniform(seed, f"initial/{name}.{kind}", parameter, bound)',
        '_uniform(0, f"initial/{name}.{kind}", parameter, bound)',
    ),
    Fault(
        "every run of a stack of models measured as its first",
        "repro/core/models.py",
        "name: p[row] for name, p in self.parameters.items()",
        "name: p[0] for name, p in self.parameters.items()",
    ),
    Fault(
        "finetuning: the ignored label is not handed on",
        FINETUNING + "reference.py",
        ", ignore_index=self.arm.ignored_label",
        "",
    ),
    Fault(
        "finetuning: the mean of the first places only",
        FINETUNING + "classifier.py",
        "answers: Tensor = self.head(h).mean(1)",
        "answers: Tensor = self.head(h)[:, :9].mean(1)",
    ),
    Fault(
        "finetuning: the padding falls out of the vocabulary",
        FINETUNING + "vocabulary.py",
        "kept = [vocabulary.end_of_text, *order",
        "kept = [*order",
    ),
    Fault(
        "pretraining: told the token that it predicts",
        FINETUNING + "pretraining.py",
        "return chosen[..., :-1], chosen[..., 1:]",
        "return chosen[..., 1:], chosen[..., 1:]",
    ),
]
