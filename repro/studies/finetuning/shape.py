"""The sizes of the GPTs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """The width, blocks, heads and longest text of a GPT."""

    width: int
    layers: int
    heads: int
    context: int = 1024

    @property
    def linears(self) -> list[tuple[int, int]]:
        """The numbers of inputs and outputs of a block's linear layers."""
        d = self.width
        return [(d, d)] * 4 + [(d, 4 * d), (4 * d, d)]

    def products(self, length: int) -> float:
        """Return the multiplications of one block for one of `length` tokens."""
        return sum(reads * gives for reads, gives in self.linears) + 2 * length * self.width


SHAPES = {
    "tiny": Shape(48, 4, 3, context=512),  # our own
    "mini": Shape(192, 6, 6, context=512),  # our own
    "small": Shape(768, 12, 12),
    "medium": Shape(1024, 24, 16),
    "large": Shape(1280, 36, 20),
    "xl": Shape(1600, 48, 25),
}
"""The shapes of GPT-2 by the source's names, and those of the models that repro pretrains."""
