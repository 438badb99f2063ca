"""Many runs of the language model as one; they share the sequential loop over words.

Shapes: R runs, B sequences, T words, L layers, H width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor

from repro.arm import Run
from repro.core.models import StackedBase, stacked
from repro.core.study import Measures
from repro.data.word_windows import PAD
from repro.studies.context_vector import initial
from repro.studies.context_vector.arms import ContextArm
from repro.studies.context_vector.data import ContextData
from repro.studies.context_vector.dropout import growth, kept
from repro.studies.context_vector.evaluation import CHUNK, Answers, measures_of, spread
from repro.studies.context_vector.recurrence import Recurrence, linear_gradients


class StackedContext(StackedBase):
    """R runs of one depth and one width."""

    def __init__(
        self, runs: Sequence[Run[ContextArm]], data: ContextData, device: torch.device
    ) -> None:
        self.arms = [run.arm for run in runs]
        self.arm, self.data = self.arms[0], data
        self.parameters = stacked([initial.parameters(run.arm, run.seed) for run in runs], device)

    def keep(self, rows: Sequence[int]) -> None:
        super().keep(rows)
        self.arms = [self.arms[row] for row in rows]

    def gradients(
        self, x: Tensor, y: Tensor, keys: Tensor | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        arm, p = self.arm, self.parameters
        drops = keys is not None and arm.dropout > 0
        recurrence = Recurrence(arm, p)
        read, trace = recurrence.forward(x, self._masks(x, keys) if drops else None, remember=True)
        assert trace is not None
        logits = torch.baddbmm(p["head.bias"][:, None], read, p["head.weight"].transpose(1, 2))
        losses, error = _losses_and_errors(logits, y.transpose(1, 2).flatten(1))
        d_read = torch.bmm(error, p["head.weight"])
        gradients = linear_gradients("head", error, read)
        grown = growth(arm.dropout) if drops else 1.0
        return losses, gradients | recurrence.backward(trace, d_read, grown=grown)

    def _masks(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return dropout's factors [T, L, R, B, H], in the order of their use."""
        assert keys is not None
        arm = self.arm
        units = arm.layers * arm.width
        left = kept(keys, share=arm.dropout, steps=x.shape[2], units=units)  # [R, T, B, L*H]
        by_layer = left.view(*left.shape[:-1], arm.layers, arm.width)
        return by_layer.permute(1, 3, 0, 2, 4).contiguous()

    def measure(self) -> list[Measures]:
        if not self.arms:
            return []
        train = self.data.train[: self.arm.validation_sequences]
        validation, spreads = self._answers(self.data.validation)
        training, _ = self._answers(train)
        norms = self._gradient_norms()
        count = sum(p[0].numel() for p in self.parameters.values())
        return [
            measures_of(
                arm,
                validation=validation.row(row),
                train=training.row(row),
                logit_spread=float(spreads[row]),
                gradient_norms=norms[row],
                parameters=count,
                sequences=self.data.available,
            )
            for row, arm in enumerate(self.arms)
        ]

    def _answers(self, sequences: Tensor) -> tuple[Answers, Tensor]:
        """Return the answers to all sequences, and the spreads over the first chunk's answers."""
        answers, spreads = [], []
        for chunk in torch.split(sequences, CHUNK):
            logits, y = self._logits(chunk[:, :-1]), chunk[:, 1:]
            answers.append(Answers.of(logits, y.expand(len(self.arms), -1, -1)))
            spreads.append(spread(logits, y))
        return Answers.joined(answers), spreads[0]

    def _logits(self, x: Tensor) -> Tensor:
        """Turn words [N, T], the same for every run, into logits [R, N, T, V]."""
        p, rows = self.parameters, len(self.arms)
        read, _ = Recurrence(self.arm, p).forward(x.expand(rows, *x.shape), None, remember=False)
        logits = torch.baddbmm(p["head.bias"][:, None], read, p["head.weight"].transpose(1, 2))
        return logits.view(rows, x.shape[1], len(x), -1).transpose(1, 2)

    def _gradient_norms(self) -> list[tuple[float, float]]:
        """Return the gradient norms of all parameters and of the stack, on the first batch."""
        rows, batch = len(self.arms), self.data.train[: self.arm.recipe.batch]
        x, y = (part.expand(rows, *part.shape) for part in (batch[:, :-1], batch[:, 1:]))
        _, gradients = self.gradients(x, y, None)
        squares = {name: g.flatten(1).square().sum(1) for name, g in gradients.items()}
        stack = [square for name, square in squares.items() if name.startswith("layers.")]
        whole, of_stack = (
            reduce(torch.add, parts).sqrt().tolist() for parts in (squares.values(), stack)
        )  # one by one: the order of one sum over all would depend on the number of runs
        return list(zip(whole, of_stack, strict=True))


def _losses_and_errors(logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy over words [R], without padding, and its gradient in logits."""
    counted = (y != PAD).to(logits.dtype)  # [R, n]
    share = counted / counted.sum(1, keepdim=True)
    log_p = logits.log_softmax(-1)
    losses = -(log_p.gather(-1, y[..., None])[..., 0] * counted).sum(1) / counted.sum(1)
    minus_one = log_p.new_full((), -1.0).expand(*y.shape, 1)
    error = log_p.exp_().scatter_add_(-1, y[..., None], minus_one)
    return losses, error.mul_(share[..., None])
