"""The network of GPT-2, its trained part with a new head, and low-rank adapters.

Shapes: B texts, T tokens, d width, H heads, Q positions that are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from repro.core.streams import normal, stream
from repro.core.weights import Parameters
from repro.studies.finetuning.arms import FinetuneArm
from repro.studies.finetuning.gpt2 import Shape

ANSWERS = 2  # ham, spam


@dataclass(frozen=True)
class AttentionMask:
    """Which positions a position attends to: earlier ones or all, with padding or without."""

    causal: bool = True
    words: Tensor | None = None  # [B, T], where padding is not attended to

    def tensor(self, length: int, read: Tensor | None, device: torch.device) -> Tensor | None:
        """Return what the positions `read` attend to, [B or 1, 1, Q, T]; None for all."""
        if not self.causal and self.words is None:
            return None
        positions = torch.arange(length, device=device)
        reads = positions[None] if read is None else read[:, None]  # [B or 1, Q]
        seen = torch.ones(1, 1, length, dtype=torch.bool, device=device)
        if self.causal:
            seen = positions <= reads[..., None]  # [B or 1, Q, T]
        if self.words is not None:
            seen = seen & self.words[:, None]
        return seen[:, None]


CAUSAL = AttentionMask()


class Attention(nn.Module):
    """Attention of many heads, with separate layers for queries, keys and values."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.query, self.key, self.value, self.out = (
            nn.Linear(shape.width, shape.width) for _ in range(4)
        )

    def forward(self, x: Tensor, mask: AttentionMask, read: Tensor | None) -> Tensor:  # [B, Q, d]
        q = self._heads(self.query(_at(x, read)))
        k, v = self._heads(self.key(x)), self._heads(self.value(x))
        if read is None and mask.words is None:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=mask.causal)
        else:
            attended = mask.tensor(x.shape[1], read, x.device)
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=attended)
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out

    def _heads(self, x: Tensor) -> Tensor:  # [B, T, d] -> [B, H, T, d/H]
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)


class Block(nn.Module):
    """Attention and a feed-forward layer, each on normalised inputs, each added."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(shape.width)
        self.attention = Attention(shape)
        self.norm_feed_forward = nn.LayerNorm(shape.width)
        self.up = nn.Linear(shape.width, 4 * shape.width)
        self.down = nn.Linear(4 * shape.width, shape.width)

    def forward(self, x: Tensor, mask: AttentionMask, read: Tensor | None = None) -> Tensor:
        """Apply the block: [B, T, d] -> [B, T, d], or [B, 1, d] at each text's position `read`."""
        x = _at(x, read) + self.attention(self.norm_attention(x), mask, read)
        fed = F.gelu(self.up(self.norm_feed_forward(x)), approximate="tanh")
        out: Tensor = x + self.down(fed)
        return out


def _at(x: Tensor, read: Tensor | None) -> Tensor:
    """Return only the positions `read` [B], if given: [B, T, d] -> [B, 1, d]."""
    if read is None:
        return x
    return x.gather(1, read[:, None, None].expand(-1, 1, x.shape[2]))


class Gpt(nn.Module):
    """The network up to its final norm.

    >>> Gpt(SHAPES["tiny"], vocabulary=1024)(torch.zeros(1, 8, dtype=torch.int64)).shape
    torch.Size([1, 8, 48])
    """

    def __init__(self, shape: Shape, *, vocabulary: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, shape.width)
        self.positions = nn.Embedding(shape.context, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)

    def embed(self, tokens: Tensor) -> Tensor:  # [B, T] -> [B, T, d]
        embedded: Tensor = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        return embedded

    def forward(self, tokens: Tensor, mask: AttentionMask = CAUSAL) -> Tensor:
        """Turn tokens [B, T] into features [B, T, d]."""
        h = self.embed(tokens)
        for block in self.blocks:
            h = block(h, mask)
        out: Tensor = self.norm(h)
        return out

    def next_tokens(self, tokens: Tensor) -> Tensor:
        """Turn tokens [B, T] into logits of the next tokens [B, T, V], by the tied embedding."""
        return F.linear(self(tokens), self.tokens.weight)


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
        self.blocks = nn.ModuleDict(  # named by their indices in the whole network
            {str(n): Block(shape) for n in range(arm.frozen_blocks, shape.layers)}
        )
        if arm.trained_blocks:
            self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, ANSWERS)

    def forward(self, x: Tensor, read: Tensor, words: Tensor | None, causal: bool) -> Tensor:
        """Turn tokens [B, T] or features [B, T, d] into answers [B, 2] at positions `read` [B]."""
        mask = AttentionMask(causal, words)
        h = x
        if self.tokens is not None and self.positions is not None:
            h = self.tokens(x) + self.positions.weight[: x.shape[1]]
        for number, block in enumerate(self.blocks.values(), 1):
            is_read = number == len(self.blocks) and not self.reads_mean
            h = block(h, mask, read if is_read else None)  # [B, T, d], at last [B, 1 or T, d]
        if self.norm is not None:
            h = self.norm(h)
        answers: Tensor = self.head(h).mean(1)
        return answers


def started(
    arm: FinetuneArm,
    seed: int,
    *,
    pretrained: Parameters | None,
    vocabulary: int,
    device: torch.device,
) -> Classifier:
    """Return an untrained classifier: pretrained or random, with a random head."""
    module = Classifier(arm, vocabulary)
    as_torch(module, seed, within="" if pretrained is None else "head")
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
        draw_adapters(module, seed, arm.lora_start)
    return module


def freeze(module: nn.Module) -> None:
    """Turn the parameters of a module into plain tensors.

    So they are neither trained nor written into checkpoints.
    """
    for part in module.modules():
        for name, parameter in list(part.named_parameters(recurse=False)):
            delattr(part, name)
            setattr(part, name, parameter.detach())


class Adapted(nn.Module):
    """A linear layer plus `alpha` times a product of two small matrices; the second starts at zero.

    >>> Adapted(nn.Linear(8, 4), rank=2, alpha=8.0)(torch.zeros(1, 8)).shape
    torch.Size([1, 4])
    """

    def __init__(self, linear: nn.Linear, *, rank: int, alpha: float) -> None:
        super().__init__()
        self.linear, self.alpha = linear, alpha
        device = linear.weight.device
        self.a = nn.Parameter(torch.zeros(linear.in_features, rank, device=device))
        self.b = nn.Parameter(torch.zeros(rank, linear.out_features, device=device))

    def forward(self, x: Tensor) -> Tensor:
        plain = self.linear(x)
        low = x.flatten(0, -2) @ self.a  # [positions, rank]
        adapted = torch.addmm(plain.flatten(0, -2), low, self.b, alpha=self.alpha)
        return adapted.view(plain.shape)


def adapt(module: nn.Module, *, rank: int, alpha: float, within: str = "") -> None:
    """Put an adapter beside every linear layer of a module, or of its parts named `within`."""
    for name, child in list(module.named_children()):
        inside = "" if name == within else within
        if not isinstance(child, nn.Linear):
            adapt(child, rank=rank, alpha=alpha, within=inside)
        elif not inside:
            setattr(module, name, Adapted(child, rank=rank, alpha=alpha))


@torch.no_grad()
def as_torch(module: nn.Module, seed: int, *, within: str) -> None:
    """Initialise layers like PyTorch does by default; the source calls this random weights.

    Each parameter has its own random stream. Only parameters whose names begin with `within` are
    initialised; others are loaded later.
    """
    for name, part in module.named_modules():
        if not name.startswith(within):
            continue
        if isinstance(part, nn.Embedding):
            shape = tuple(part.weight.shape)
            part.weight.copy_(normal(seed, f"initial/{name}", shape, std=1.0))
        elif isinstance(part, nn.Linear):
            for kind, parameter in part.named_parameters():
                bound = part.in_features**-0.5
                parameter.copy_(_uniform(seed, f"initial/{name}.{kind}", parameter, bound))


@torch.no_grad()
def draw_adapters(module: nn.Module, seed: int, kind: str) -> None:
    """Draw the first matrices of adapters; the second ones stay zero, so the start is unchanged.

    PyTorch's Kaiming bound uses the number of columns as inputs; here this number is the rank.
    """
    for name, part in module.named_modules():
        if isinstance(part, Adapted):
            rank = part.a.shape[1]
            if kind == "normal":
                shape = tuple(part.a.shape)
                part.a.copy_(normal(seed, f"initial/{name}.a", shape, std=rank**-0.5))
            else:
                part.a.copy_(_uniform(seed, f"initial/{name}.a", part.a, rank**-0.5))


def _uniform(seed: int, name: str, like: Tensor, bound: float) -> Tensor:
    return torch.empty(like.shape).uniform_(-bound, bound, generator=stream(seed, name))
