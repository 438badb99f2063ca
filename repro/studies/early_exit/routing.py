"""Which exit each token takes: hard, token by token, at evaluation only."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Routed:
    """The answers that count, and which of them are shallow."""

    logits: Tensor  # [..., V]
    exits: Tensor  # [...], true where the token left early


def routed(shallow: Tensor, deep: Tensor, *, threshold: float) -> Routed:
    """The shallow logits where their largest probability reaches the threshold, else the deep ones.

    A threshold of 0 means no routing. Upper layers still see every token: what is saved is counted,
    not timed, as in the source.

    >>> sure, unsure = torch.tensor([9.0, 0.0]), torch.tensor([0.1, 0.0])
    >>> routed(torch.stack([sure, unsure]), torch.zeros(2, 2), threshold=0.95).exits
    tensor([ True, False])
    """
    confidence = shallow.softmax(-1).amax(-1)
    exits = confidence >= threshold if threshold > 0 else torch.zeros_like(confidence).bool()
    return Routed(torch.where(exits[..., None], shallow, deep), exits)
