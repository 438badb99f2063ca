"""Many networks of the ladder as one: the forward and backward passes written out over a run axis.

Rows with more trained blocks should come first. Then the runs that train a block are the first n
rows, and its gradient is computed only for them: a frozen block needs no weight gradient.
Shapes: R runs, B examples, P pixel values, d width, m hidden units, 10 classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from repro.arm import Run
from repro.core.models import StackedBase, picked, stacked
from repro.core.study import Measures
from repro.studies.depth_ladder.arms import LadderArm, LocalArm
from repro.studies.depth_ladder.data import LadderData
from repro.studies.depth_ladder.model import (
    CLASSES,
    CREDIT_EPSILON,
    PROBE,
    feedback_matrices,
    initial_parameters,
    is_trained,
    of_stream,
)
from repro.studies.run_axis import (
    Normalised,
    linear,
    linear_gradients,
    norm,
    norm_backward,
    product,
)

EVALUATION_CHUNK = 2000


@dataclass(frozen=True)
class BlockTrace:
    """Tensors of a block's forward pass that its backward pass needs."""

    h: Tensor  # [R, B, d] into the block
    normalised: Normalised  # [R, B, d], and the means and deviations [R, B, 1]
    u: Tensor  # [R, B, m] before the non-linearity
    g: Tensor  # [R, B, m] after it


class StackedLadder(StackedBase):
    """R runs of one rule, width and depth."""

    def __init__(
        self, runs: Sequence[Run[LadderArm]], data: LadderData, device: torch.device
    ) -> None:
        self.arms = [run.arm for run in runs]
        self.arm, self.data = self.arms[0], data
        self.parameters = stacked([initial_parameters(run.arm, run.seed) for run in runs], device)
        self.feedback = stacked([feedback_matrices(run.arm, run.seed) for run in runs], device)
        self._count_trained()

    def _count_trained(self) -> None:
        """For each block, find the number of first rows with all runs that train it."""
        training = [self.trained_rows(f"blocks.{b}.up.weight") for b in range(self.arm.depth)]
        self.training = [
            max((r + 1 for r, x in enumerate(rows) if x), default=0) for rows in training
        ]

    def trained_rows(self, name: str) -> Sequence[bool]:
        return [is_trained(arm, name) for arm in self.arms]

    def keep(self, rows: Sequence[int]) -> None:
        super().keep(rows)
        self.arms = [self.arms[row] for row in rows]
        self.feedback = picked(self.feedback, rows)
        self._count_trained()

    def gradients(self, x: Tensor, y: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        p, share = self.parameters, 1.0 / x.shape[1]
        h, traces = self._forward(x)
        normalised = norm(h)
        z = normalised[0]
        out = z * p["norm.weight"][:, None] + p["norm.bias"][:, None]
        logits = linear(out, p["head.weight"], p["head.bias"])  # [R, B, 10]
        losses, error = _losses_and_errors(logits, y)
        error = error * share
        d_out = product(error, p["head.weight"])
        gradients = linear_gradients("head", error, out)
        gradients |= {"norm.weight": (d_out * z).sum(1), "norm.bias": d_out.sum(1)}
        credit = norm_backward(d_out * p["norm.weight"][:, None], h, normalised)

        for index in reversed(range(self.arm.depth)):
            trace, n = traces[index], self.training[index]
            up, down = p[f"blocks.{index}.up.weight"], p[f"blocks.{index}.down.weight"]
            local = self._local_credit(credit, error, index + 1, n, share)
            if self.arm.rule == "bp":
                d_u = _gelu_backward(product(credit, down), trace.u)
                below = product(d_u, up)
            elif n:
                d_u = _gelu_backward(product(local, down[:n]), trace.u[:n])
            if n:
                gradients |= linear_gradients(f"blocks.{index}.down", local, trace.g[:n])
                gradients |= linear_gradients(
                    f"blocks.{index}.up", d_u[:n], trace.normalised[0][:n]
                )
            if self.arm.rule == "bp":
                credit = credit + norm_backward(below, trace.h, trace.normalised)
            if self.arm.rule == "fa":
                credit = self._passed_down(credit, trace, index)

        if self.arm.embedding == "trained":
            local = self._local_credit(credit, error, 0, len(self.arms), share)
            gradients |= linear_gradients("embed", local, x)
        return losses, gradients

    def _forward(self, x: Tensor) -> tuple[Tensor, list[BlockTrace]]:
        p = self.parameters
        h, traces = linear(x, p["embed.weight"], p["embed.bias"]), []
        for index in range(self.arm.depth):
            normalised = norm(h)
            name = f"blocks.{index}"
            u = linear(normalised[0], p[f"{name}.up.weight"], p[f"{name}.up.bias"])
            g = F.gelu(u)
            traces.append(BlockTrace(h, normalised, u, g))
            h = h + linear(g, p[f"{name}.down.weight"], p[f"{name}.down.bias"])
        return h, traces

    def _local_credit(
        self, credit: Tensor, error: Tensor, point: int, n: int, share: float
    ) -> Tensor:
        """Return the credit for the layer before a point of the stream, for n rows: [n, B, d]."""
        if self.arm.rule == "bp":
            return credit[:n]
        if self.arm.rule == "dfa":
            credit = product(error[:n], self.feedback[f"{point}"][:n].transpose(1, 2))
        if self.arm.credit == "raw":
            return credit[:n]
        credit = credit[:n] / share  # the credit of each example itself, as in the reference
        rms = credit.square().mean(-1, keepdim=True).sqrt()
        return credit * (share / (rms + CREDIT_EPSILON))

    def _passed_down(self, credit: Tensor, trace: BlockTrace, index: int) -> Tensor:
        """Return FA's credit below a block, given the credit above it."""
        name = f"blocks.{index}"
        if self.arm.feedback == "blocks":
            return product(credit, self.feedback[name])
        up, down = self.feedback[f"{name}.up"], self.feedback[f"{name}.down"]
        below = product(_gelu_backward(product(credit, down), trace.u), up)
        return credit + norm_backward(below, trace.h, trace.normalised)

    def measure(self) -> list[Measures]:
        rows, labels = len(self.arms), self.data.test_labels
        right = torch.zeros(rows, dtype=torch.int64, device=labels.device)
        for start in range(0, len(labels), EVALUATION_CHUNK):
            x = self.data.test_inputs[start : start + EVALUATION_CHUNK]
            logits = self._logits(self._forward(x.expand(rows, *x.shape))[0])
            right += (logits.argmax(-1) == labels[start : start + EVALUATION_CHUNK]).sum(-1)
        measured: list[Measures] = [{"accuracy": n / len(labels)} for n in right.tolist()]
        x = self.data.test_inputs[:PROBE].expand(rows, PROBE, -1)
        h, traces = self._forward(x)
        stream = [trace.h for trace in traces] + [h]  # each [R, PROBE, d]
        local, true = self._credits(h, traces)
        for row, measures in enumerate(measured):
            here = [state[row] for state in stream]
            measures |= of_stream(here, [a[row] for a in local], [b[row] for b in true])
        return measured

    def _logits(self, h: Tensor) -> Tensor:
        p = self.parameters
        out = norm(h)[0] * p["norm.weight"][:, None] + p["norm.bias"][:, None]
        return linear(out, p["head.weight"], p["head.bias"])

    def _credits(self, h: Tensor, traces: list[BlockTrace]) -> tuple[list[Tensor], list[Tensor]]:
        """Return the rule's credit at every point of the stream, and the true gradient there."""
        p, rows = self.parameters, len(self.arms)
        _, error = _losses_and_errors(
            self._logits(h), self.data.test_labels[:PROBE].expand(rows, -1)
        )
        normalised = norm(h)
        d_z = product(error, p["head.weight"]) * p["norm.weight"][:, None]
        true = [norm_backward(d_z, h, normalised)]
        local = [true[0]]
        for index in reversed(range(self.arm.depth)):
            trace = traces[index]
            up, down = p[f"blocks.{index}.up.weight"], p[f"blocks.{index}.down.weight"]
            below = product(_gelu_backward(product(true[0], down), trace.u), up)
            true.insert(0, true[0] + norm_backward(below, trace.h, trace.normalised))
            if self.arm.rule == "fa":
                local.insert(0, self._passed_down(local[0], trace, index))
        if self.arm.rule == "bp":
            local = true
        if self.arm.rule == "dfa":
            points = range(self.arm.depth + 1)
            local = [product(error, self.feedback[f"{i}"].transpose(1, 2)) for i in points]
        return local, true


class StackedLocal(StackedLadder):
    """R runs with true gradients as credit, which pass down through the current weights."""

    def __init__(
        self, runs: Sequence[Run[LocalArm]], data: LadderData, device: torch.device
    ) -> None:
        super().__init__(runs, data, device)
        self.arm = self.arm.but(rule="fa", feedback="weights")  # the feedback is its own weights

    def _passed_down(self, credit: Tensor, trace: BlockTrace, index: int) -> Tensor:
        for name in (f"blocks.{index}.up", f"blocks.{index}.down"):
            self.feedback[name] = self.parameters[f"{name}.weight"]
        return super()._passed_down(credit, trace, index)


def _gelu_backward(d_g: Tensor, u: Tensor) -> Tensor:
    d_u: Tensor = torch.ops.aten.gelu_backward(d_g, u)
    return d_u


def _losses_and_errors(logits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy [R], and softmax minus one-hot [R, B, 10].

    The second is the gradient of each example's loss in the logits.
    """
    log_p = logits.log_softmax(-1)
    losses = -log_p.gather(-1, y[..., None]).mean((1, 2))
    is_class = y[..., None] == torch.arange(CLASSES, device=y.device)  # [R, B, 10]
    return losses, log_p.exp().sub_(is_class.to(log_p.dtype))
