"""Operations of a stacked program that are computed for one row after another.

An operation over many runs reaches PyTorch's kernels as one call. The runs are an axis of their
own, or folded into channels. Draws are made row by row, so that each run draws the numbers that it
draws alone. Convolutions and batch normalisation are computed row by row, too: their kernels round
differently for another number of channels, so a run would depend on the number of other runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

BY_SIZE = ("aten::rand", "aten::randn")
"""Operations that draw, whose first argument is the size of the result."""

BY_TENSOR = (
    "aten::bernoulli",
    "aten::bernoulli.p",
    "aten::rand_like",
    "aten::randn_like",
    "aten::native_dropout",
)
"""Operations that draw a tensor of the size of their first argument."""

IN_PLACE = ("aten::bernoulli_.float", "aten::normal_", "aten::uniform_", "aten::exponential_")
"""Operations that draw into their first argument."""


@dataclass(frozen=True)
class Folded:
    """The axes of an operation with rows: those of its first tensors, and of its results."""

    given: Sequence[int]
    results: Sequence[int]
    groups: int | None = None
    """The index of the argument with the number of groups, which is multiplied by the rows."""


FOLDED = {
    "aten::convolution": Folded([1, 0], [1], groups=8),
    "aten::convolution_backward": Folded([1, 1, 0], [1, 0, 0], groups=9),
    "aten::native_batch_norm": Folded([1, 0, 0, 0, 0], [1, 0, 0]),
    "aten::native_batch_norm_backward": Folded([1, 1, 0, 0, 0, 0, 0], [1, 0, 0]),
}


class RowByRow(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Computes draws, convolutions and batch normalisation for one row after another.

    Each row draws from its own seed. Raises NotImplementedError for other operations that draw.

    >>> with RowByRow([11, 12]) as rows:
    ...     losses = vmap(loss, randomness="different")(parameters, batch)
    >>> rows.was_needed
    True
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.was_needed = False
        self._seeds, self._rows = seeds, len(seeds)
        self._states: dict[tuple[int, torch.device], Tensor] = {}

    def __torch_dispatch__(
        self,
        operation: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        more, kind = kwargs or {}, _kind_of(operation)
        if kind == "apart":
            args = [self._apart(x) if isinstance(x, Tensor) else x for x in args]
        elif kind == "folded":
            self.was_needed = True
            return self._unfolded(operation, FOLDED[operation.name()], args)
        elif kind == "drawing":
            self.was_needed = True
            return self._drawn(operation, operation.name(), args, more)
        return operation(*args, **more)

    def _apart(self, tensor: Tensor) -> Tensor:
        """Return a tensor with the same values, whose rows do not interleave in memory."""
        strides = tensor.stride()
        if len(strides) < 2 or len(tensor) != self._rows or strides[0] >= max(strides):
            return tensor
        order = sorted(range(1, len(strides)), key=lambda axis: -strides[axis])
        back = [0, *(1 + order.index(axis) for axis in range(1, len(strides)))]
        return tensor.permute(0, *order).contiguous().permute(back)

    def _unfolded(self, operation: Any, folded: Folded, args: Sequence[Any]) -> Any:
        """Return the result of an operation whose rows are folded into an axis."""
        by_row = [list(args) for _ in range(self._rows)]
        for index, axis in enumerate(folded.given):
            if args[index] is not None:
                for own, part in zip(by_row, args[index].chunk(self._rows, axis), strict=True):
                    own[index] = part.contiguous()
        if folded.groups is not None:
            for own in by_row:
                own[folded.groups] //= self._rows
        done = [operation(*own) for own in by_row]
        if isinstance(done[0], Tensor):
            return torch.cat(done, folded.results[0])
        return tuple(
            None if parts[0] is None else torch.cat(parts, axis)
            for axis, parts in zip(folded.results, zip(*done, strict=True), strict=True)
        )

    def _drawn(
        self, operation: Any, name: str, args: Sequence[Any], more: Mapping[str, Any]
    ) -> Any:
        """Return the result of an operation that draws, for rows along the first axis."""
        first, *rest = args
        if name in BY_SIZE and first and first[0] == self._rows:
            at = torch.empty(0, device=more.get("device")).device
            return self._stacked(at, lambda row: operation(first[1:], *rest, **more))
        if name in (*BY_TENSOR, *IN_PLACE) and len(first) == self._rows:
            # drawn numbers depend on the layout in memory: each row has the one that it has alone
            rows = self._apart(first)
            form = torch.preserve_format
            drawn = self._stacked(
                first.device,
                lambda row: operation(rows[row].clone(memory_format=form), *rest, **more),
            )
            return first.copy_(drawn) if name in IN_PLACE else drawn
        raise NotImplementedError(f"it draws by {name}, which many runs cannot do as one")

    def _stacked(self, device: torch.device, draw: Callable[[int], Any]) -> Any:
        drawn = []
        for row in range(self._rows):
            with self._drawing_as(row, device):
                drawn.append(draw(row))
        if isinstance(drawn[0], Tensor):
            return torch.stack(drawn)
        return tuple(torch.stack(parts) for parts in zip(*drawn, strict=True))

    @contextmanager
    def _drawing_as(self, row: int, device: torch.device) -> Iterator[None]:
        """Let the device's generator draw for a row, after the row's earlier draws."""
        generator = _generator_of(device)
        before = generator.get_state()
        if (row, device) in self._states:
            generator.set_state(self._states[row, device])
        else:
            generator.manual_seed(self._seeds[row])
        try:
            yield
            self._states[row, device] = generator.get_state()
        finally:
            generator.set_state(before)


class DropoutAsAlone(TorchFunctionMode):
    """Computes dropout by the operations that torch uses for a single run on a CPU.

    For many runs torch uses other operations, which ignore a tensor's layout in memory, and so give
    other units the drawn numbers.
    """

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        replaced = _dropout if function is functional.dropout else function
        return replaced(*args, **(kwargs or {}))


def _dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if not (training and 0 < p < 1 and x.device.type == "cpu"):
        return functional.dropout(x, p, training, inplace)
    kept = torch.empty_like(x).bernoulli_(1 - p).div_(1 - p)
    return x.mul_(kept) if inplace else x * kept


@cache
def _kind_of(operation: Any) -> str:
    """Return how an operation is computed: `folded`, `drawing`, `apart` or `as it is`.

    An operation that writes to its argument, or returns a view of it, needs that tensor itself.
    """
    if operation.name() in FOLDED:
        return "folded"
    if torch.Tag.nondeterministic_seeded in operation.tags:
        return "drawing"
    schema = operation._schema
    is_pure = not any(x.alias_info for x in (*schema.arguments, *schema.returns))
    return "apart" if is_pure else "as it is"


def _generator_of(device: torch.device) -> torch.Generator:
    if device.type == "cpu":
        return torch.default_generator
    if device.type == "cuda":
        index = torch.cuda.current_device() if device.index is None else device.index
        return torch.cuda.default_generators[index]
    raise NotImplementedError(f"it draws on {device.type}, where many runs cannot do so as one")
