"""Many runs of the language model as one: its passes forward and backward over a run axis.

Each word needs the result of the word before it, so the loops over words consist of many small
operations, which the runs share. Everything else is done outside the loops: the words' own part of
the first layer, the head, and the gradients of weights, each as one product over all words.

Shapes: R runs, B sequences, T words, L layers, E embedding, H width, C context, V vocabulary.
Tensors of single words stand in lists over time, [R, B, ...] each; joined, they are [R, T*B, ...].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import torch
from torch import Tensor

from repro.arm import Run
from repro.core.models import StackedBase, stacked
from repro.core.study import Measures
from repro.data.word_windows import PAD
from repro.studies.context_vector.arms import ContextArm
from repro.studies.context_vector.data import ContextData
from repro.studies.context_vector.model import (
    CHUNK,
    CONTEXT_LIMIT,
    GATES,
    Answers,
    dropout_factors,
    dropout_scale,
    initial_parameters,
    measures_of,
    spread,
)
from repro.studies.run_axis import Normalised, linear, linear_gradients, norm, norm_backward


class StackedContext(StackedBase):
    """R runs of one depth and one width."""

    def __init__(
        self, runs: Sequence[Run[ContextArm]], data: ContextData, device: torch.device
    ) -> None:
        self.arms = [run.arm for run in runs]
        self.arm, self.data = self.arms[0], data
        self.parameters = stacked([initial_parameters(run.arm, run.seed) for run in runs], device)

    def keep(self, rows: Sequence[int]) -> None:
        super().keep(rows)
        self.arms = [self.arms[row] for row in rows]

    def gradients(
        self, x: Tensor, y: Tensor, keys: Tensor | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        arm, p = self.arm, self.parameters
        masks = self._masks(x, keys) if keys is not None and arm.dropout else None
        recurrence = Recurrence(arm, p)
        read, trace = recurrence.forward(x, masks, remember=True)
        assert trace is not None
        logits = linear(read, p["head.weight"], p["head.bias"])
        losses, error = _losses_and_errors(logits, y.transpose(1, 2).flatten(1))
        d_read = torch.bmm(error, p["head.weight"])
        gradients = linear_gradients("head", error, read)
        scale = 1.0 if masks is None else dropout_scale(arm.dropout)
        return losses, gradients | recurrence.backward(trace, d_read, scale=scale)

    def _masks(self, x: Tensor, keys: Tensor) -> Tensor:
        """Return dropout's factors [T, L, R, B, H], in the order of their use."""
        arm = self.arm
        units = arm.layers * arm.width
        factors = dropout_factors(keys, share=arm.dropout, steps=x.shape[2], units=units)
        by_layer = factors.view(*factors.shape[:-1], arm.layers, arm.width)  # [R, T, B, L, H]
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
        logits = linear(read, p["head.weight"], p["head.bias"])
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


@dataclass(frozen=True)
class LayerTrace:
    """Tensors of a layer's forward pass over one word that its backward pass needs."""

    read: Tensor  # [R, B, H], of the first layer the context [R, B, C]
    u: Tensor  # [R, B, H] the linear part
    normalised: Normalised | None
    out: Tensor  # [R, B, H] after ReLU and dropout


@dataclass(frozen=True)
class GateTrace:
    """Tensors of the context's update that its backward pass needs; the last word has no update."""

    h: Tensor  # [R, B, H]
    before: Tensor  # [R, B, C] the context
    delta: Tensor  # [R, B, C]
    shares: Tensor  # [R, B, 2C] of the old and of the new
    mixed: Tensor  # [R, B, C]
    normalised: Normalised
    scaled: Tensor  # [R, B, C] before it is limited


@dataclass
class Trace:
    """Tensors of all words that the backward pass needs."""

    words: Tensor  # [R, T*B]
    embedded: Tensor  # [R, T*B, E]
    layers: list[list[LayerTrace]] = field(default_factory=list)  # by word, then layer
    gates: list[GateTrace] = field(default_factory=list)  # by word


class Recurrence:
    """The passes over the words of sequences, with the current parameters."""

    def __init__(self, arm: ContextArm, parameters: Mapping[str, Tensor]) -> None:
        self.arm, self.p = arm, parameters
        first = parameters["layers.0.weight"]
        self.of_words, self.of_context = torch.split(first, [arm.embedding, arm.context], dim=2)
        self.gates = torch.cat([parameters[f"{gate}.weight"] for gate in GATES], 1)  # [R, 3C, H]
        self.gate_biases = torch.cat([parameters[f"{gate}.bias"] for gate in GATES], 1)[:, None]

    def forward(
        self, x: Tensor, masks: Tensor | None, *, remember: bool
    ) -> tuple[Tensor, Trace | None]:
        """Turn words [R, B, T] and masks [T, L, R, B, H] into inputs of the head, [R, T*B, H]."""
        (runs, batch, steps), p = x.shape, self.p
        words = x.transpose(1, 2).flatten(1)  # [R, T*B]
        trace = Trace(words, embedded(p["embedding.weight"], words))
        from_words = torch.baddbmm(
            p["layers.0.bias"][:, None], trace.embedded, self.of_words.transpose(1, 2)
        ).view(runs, steps, batch, -1)
        context = x.new_zeros(runs, batch, self.arm.context, dtype=from_words.dtype)
        outputs = []
        for step in range(steps):
            h, layers = self._stack(
                from_words[:, step], context, None if masks is None else masks[step]
            )
            outputs.append(h)
            if remember:
                trace.layers.append(layers)
            if step + 1 < steps:
                context, gate = self._updated(h, context)
                if remember:
                    trace.gates.append(gate)
        return torch.stack(outputs, 1).flatten(1, 2), trace if remember else None

    def _stack(
        self, from_word: Tensor, context: Tensor, masks: Tensor | None
    ) -> tuple[Tensor, list[LayerTrace]]:
        p, h, traces = self.p, context, []
        for index in range(self.arm.layers):
            weight = p[f"layers.{index}.weight"] if index else self.of_context
            base = p[f"layers.{index}.bias"][:, None] if index else from_word
            u = torch.baddbmm(base, h, weight.transpose(1, 2))
            normalised = norm(u) if self.arm.stack == "normalised" else None
            out = (u if normalised is None else normalised[0]).relu()
            if masks is not None:
                out = out.mul_(masks[index])
            traces.append(LayerTrace(h, u, normalised, out))
            h = h + out if self.arm.stack == "residual" and index else out
        return h, traces

    def _updated(self, h: Tensor, context: Tensor) -> tuple[Tensor, GateTrace]:
        size, p = self.arm.context, self.p
        proposed = torch.baddbmm(self.gate_biases, h, self.gates.transpose(1, 2))  # [R, B, 3C]
        delta, shares = proposed[..., :size], proposed[..., size:].sigmoid()
        mixed = torch.addcmul(shares[..., :size] * context, shares[..., size:], delta)
        normalised = norm(mixed)
        scaled = torch.addcmul(p["norm.bias"][:, None], normalised[0], p["norm.weight"][:, None])
        gate = GateTrace(h, context, delta, shares, mixed, normalised, scaled)
        return scaled.clamp(-CONTEXT_LIMIT, CONTEXT_LIMIT), gate

    def backward(self, trace: Trace, d_read: Tensor, *, scale: float) -> dict[str, Tensor]:
        """Return the gradients of parameters from the gradients in the head's inputs, [R, T*B, H].

        `scale` is the factor of dropout for the units that it kept.
        """
        steps, layers = len(trace.layers), self.arm.layers
        d_heads = d_read.view(len(d_read), steps, -1, self.arm.width)  # [R, T, B, H]
        d_layers: list[list[Tensor]] = [[] for _ in range(layers)]  # from the last word on
        d_proposed: list[Tensor] = []
        d_scaled: list[Tensor] = []
        d_context: Tensor | None = None
        for step in reversed(range(steps)):
            d_h, d_before = d_heads[:, step], None
            if d_context is not None:
                d_gate, d_before, d_norm = self._gate_backward(trace.gates[step], d_context)
                d_h = torch.baddbmm(d_h, d_gate, self.gates)
                d_proposed.append(d_gate)
                d_scaled.append(d_norm)
            for index in reversed(range(layers)):
                layer = trace.layers[step][index]
                d_u = torch.ops.aten.threshold_backward(d_h, layer.out, 0)
                if scale != 1:
                    d_u = d_u.mul_(scale)
                if layer.normalised is not None:
                    d_u = norm_backward(d_u, layer.u, layer.normalised)
                d_layers[index].append(d_u)
                if index and self.arm.stack == "residual":
                    d_h = torch.baddbmm(d_h, d_u, self.p[f"layers.{index}.weight"])
                elif index:
                    d_h = torch.bmm(d_u, self.p[f"layers.{index}.weight"])
            if step:
                d_context = (
                    torch.bmm(d_u, self.of_context)
                    if d_before is None
                    else torch.baddbmm(d_before, d_u, self.of_context)
                )
        return (
            self._word_gradients(trace, d_layers[0])
            | self._layer_gradients(trace, d_layers)
            | self._gate_gradients(trace, d_proposed, d_scaled)
        )

    def _gate_backward(self, gate: GateTrace, d_context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return gradients in the gates' outputs [R, B, 3C], the context before, and the norm."""
        size = self.arm.context
        d_scaled = torch.ops.aten.hardtanh_backward(
            d_context, gate.scaled, -CONTEXT_LIMIT, CONTEXT_LIMIT
        )
        d_mixed = norm_backward(
            d_scaled * self.p["norm.weight"][:, None], gate.mixed, gate.normalised
        )
        d_shares = torch.cat([d_mixed * gate.before, d_mixed * gate.delta], -1)
        d_shares = torch.ops.aten.sigmoid_backward(d_shares, gate.shares)
        stays, enters = gate.shares[..., :size], gate.shares[..., size:]
        return torch.cat([d_mixed * enters, d_shares], -1), d_mixed * stays, d_scaled

    def _word_gradients(self, trace: Trace, d_first: list[Tensor]) -> dict[str, Tensor]:
        d_u = joined(d_first)  # [R, T*B, H]
        d_embedded = torch.bmm(d_u, self.of_words)
        read = torch.cat([layers[0].read for layers in trace.layers], 1)
        d_words = torch.bmm(d_u.transpose(1, 2), trace.embedded)
        d_contexts = torch.bmm(d_u.transpose(1, 2), read)
        weight = self.p["embedding.weight"]
        return {
            "embedding.weight": embedding_gradient(d_embedded, trace.words, weight),
            "layers.0.weight": torch.cat([d_words, d_contexts], 2),
            "layers.0.bias": d_u.sum(1),
        }

    def _layer_gradients(self, trace: Trace, d_layers: list[list[Tensor]]) -> dict[str, Tensor]:
        gradients: dict[str, Tensor] = {}
        for index in range(1, self.arm.layers):
            read = torch.cat([layers[index].read for layers in trace.layers], 1)
            gradients |= linear_gradients(f"layers.{index}", joined(d_layers[index]), read)
        return gradients

    def _gate_gradients(
        self, trace: Trace, d_proposed: list[Tensor], d_scaled: list[Tensor]
    ) -> dict[str, Tensor]:
        gradients: dict[str, Tensor] = {}
        read = torch.cat([gate.h for gate in trace.gates], 1)
        for name, part in zip(GATES, joined(d_proposed).chunk(len(GATES), -1), strict=True):
            gradients |= linear_gradients(name, part, read)
        d_norm = joined(d_scaled)
        values = torch.cat([gate.normalised[0] for gate in trace.gates], 1)
        return gradients | {"norm.weight": (d_norm * values).sum(1), "norm.bias": d_norm.sum(1)}


def joined(parts: list[Tensor]) -> Tensor:
    """Join gradients, listed from the last word on, in the order of words: [R, T*B, ...]."""
    return torch.cat(parts[::-1], 1)


def embedded(weight: Tensor, words: Tensor) -> Tensor:
    """Look up rows of each run's own table: [R, V, E], [R, n] -> [R, n, E]."""
    return weight.flatten(0, 1).index_select(0, _rows(weight, words)).view(*words.shape, -1)


def embedding_gradient(d_rows: Tensor, words: Tensor, weight: Tensor) -> Tensor:
    """Return the gradient in the tables, [R, V, E]."""
    gradient: Tensor = torch.ops.aten.embedding_dense_backward(
        d_rows.flatten(0, 1), _rows(weight, words), weight.shape[0] * weight.shape[1], -1, False
    )
    return gradient.view_as(weight)


def _rows(weight: Tensor, words: Tensor) -> Tensor:
    first = torch.arange(len(weight), device=words.device) * weight.shape[1]
    return (words + first[:, None]).flatten()
