"""Generation of text in which an early exit really stops the computation of a token.

In the upper layers, later tokens attend to tokens that exited early. So when a later token goes
deeper, these layers compute the missing positions after all, many at once. The answers are those of
the simulated routing. Only positions that no later token needs save computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from repro.studies.early_exit.model import EarlyExitTransformer, Memory


@dataclass(frozen=True)
class Generated:
    """Generated text, and its cost."""

    characters: Tensor  # [count]
    depths: Tensor  # [count], the layer that answered, counted from 1
    applied: int
    """The number of positions that went through a layer, summed over layers."""

    calls: int
    """The number of calls of layers, each for one or many positions."""


@torch.no_grad()
def generate(
    network: EarlyExitTransformer,
    prompt: Tensor,
    *,
    count: int,
    threshold: float,
    exits: Sequence[int] = (1,),
) -> Generated:
    """Generate the likeliest characters after a prompt [T], each at the first confident exit.

    >>> generate(network, prompt, count=100, threshold=0.95).characters.shape
    torch.Size([100])
    """
    layers = [_Layer(block) for block in network.blocks]
    last, characters, depths = prompt, [], []
    for _ in range(count):
        h = network.embedding(last[None])  # [1, t, d]
        for depth, layer in enumerate(layers, start=1):
            h = layer(h)
            logits = network.head(h[:, -1])
            if depth in exits and 0 < threshold <= float(network.sureness(h[:, -1], logits)):
                break
        if depth < len(layers):
            layers[depth].owe(h)
        last = logits.argmax(-1)
        characters.append(last)
        depths.append(depth)
    return Generated(
        characters=torch.cat(characters),
        depths=torch.tensor(depths),
        applied=sum(layer.memory.length for layer in layers),
        calls=sum(layer.calls for layer in layers),
    )


class _Layer:
    """A block, the positions that it has computed, and the positions that it skipped so far."""

    def __init__(self, block: nn.Module) -> None:
        self.block, self.memory, self.calls = block, Memory(), 0
        self.owed: list[Tensor] = []  # each [1, t, d]

    def owe(self, h: Tensor) -> None:
        self.owed.append(h)

    def __call__(self, h: Tensor) -> Tensor:  # [1, t, d] -> [1, owed + t, d]
        h, self.owed = torch.cat([*self.owed, h], dim=1), []
        self.calls += 1
        out: Tensor = self.block(h, self.memory)
        return out
