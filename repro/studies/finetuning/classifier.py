"""The trained part of a GPT, and the new head.

Shapes: B texts, T tokens, d width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from repro.core.weights import Parameters
from repro.studies.finetuning import initial
from repro.studies.finetuning.arms import FinetuneArm
from repro.studies.finetuning.gpt import Block, Gpt, Sight
from repro.studies.finetuning.lora import adapt, freeze

ANSWERS = 2  # ham, spam


class Classifier(nn.Module):
    """The trained last blocks, the final norm if there are any, and a head of two answers.

    If all blocks are trained or adapted, it reads tokens; else the outputs of frozen blocks.
    """

    def __init__(self, arm: FinetuneArm, vocabulary: int) -> None:
        super().__init__()
        shape = arm.shape
        self.reads_mean = arm.token == "mean"
        self.tokens = self.positions = self.norm = None
        if not arm.is_frozen_below:
            self.tokens = nn.Embedding(vocabulary, shape.width)
            self.positions = nn.Embedding(shape.context, shape.width)
        self.blocks = nn.ModuleDict(  # named by their places in the whole network
            {str(n): Block(shape) for n in range(arm.frozen_blocks, shape.layers)}
        )
        if arm.trained_blocks:
            self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, ANSWERS)

    def forward(self, x: Tensor, read: Tensor, words: Tensor | None, causal: bool) -> Tensor:
        """Turn tokens [B, T] or features [B, T, d] into answers [B, 2] at the places `read` [B]."""
        sight = Sight(causal, words)
        h = x
        if self.tokens is not None and self.positions is not None:
            h = self.tokens(x) + self.positions.weight[: x.shape[1]]
        for place, block in enumerate(self.blocks.values(), 1):
            is_read = place == len(self.blocks) and not self.reads_mean
            h = block(h, sight, read if is_read else None)  # [B, T, d], at last [B, 1 or T, d]
        if self.norm is not None:
            h = self.norm(h)
        answers: Tensor = self.head(h).mean(1)
        return answers


def start(
    arm: FinetuneArm,
    seed: int,
    *,
    pretrained: Parameters | None,
    vocabulary: int,
    device: torch.device,
) -> Classifier:
    """Return an untrained classifier: pretrained or random, with a random head."""
    module = Classifier(arm, vocabulary)
    initial.as_torch(module, seed, within="" if pretrained is None else "head")
    if pretrained is not None:
        own = {name for name, _ in module.named_parameters() if not name.startswith("head.")}
        module.load_state_dict({name: pretrained[name] for name in own}, strict=False)
    module.to(device)
    if arm.trained == "lora":
        freeze(module.blocks)
        for part in (module.tokens, module.positions, module.norm):
            assert part is not None
            freeze(part)
        within = "" if arm.adapted == "every layer" else arm.adapted
        adapt(module, rank=arm.rank, alpha=arm.alpha, within=within)
        initial.adapters(module, seed, arm.lora_start)
    return module


def frozen_part(arm: FinetuneArm, parameters: Parameters) -> Gpt:
    """Return the whole network with these parameters, to compute the part below the trained one."""
    gpt = Gpt(arm.shape, vocabulary=len(parameters["tokens.weight"]))
    gpt.load_state_dict(parameters)
    return gpt
