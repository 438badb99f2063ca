"""What stands in for CUDA's graphs where there is no GPU: the operations of a step on a tape.

Like a graph, a tape runs the same operations on the same memory again: numbers that Python had
when it was recorded stay as they were. And like a graph it refuses what would wait for the device.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

WAITS = {"_local_scalar_dense", "lift_fresh", "nonzero"}
"""A number read from the device, a list brought to it, a shape that depends on values."""


class Tape(TorchDispatchMode):
    """Records operations, and remembers what they write over."""

    def __init__(self):
        super().__init__()
        self.operations, self.before = [], []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func._schema.name.removeprefix("aten::") in WAITS:
            raise RuntimeError(f"{func} cannot be recorded: it waits")
        for tensor in written(func, args, kwargs):
            self.before.append((tensor, tensor.clone()))
        result = func(*args, **kwargs)
        if len({x.device for x in tensors([*args, result]) if x.ndim}) > 1:
            raise RuntimeError(f"{func} cannot be recorded: it moves tensors between devices")
        self.operations.append((func, args, kwargs, result))
        return result

    @torch.no_grad()
    def replay(self):
        for func, args, kwargs, result in self.operations:
            again = func(*args, **kwargs)
            if not any(returned.alias_info for returned in func._schema.returns):
                for old, new in zip(tensors(result), tensors(again), strict=True):
                    old.copy_(new)


def written(func, args, kwargs):
    """The tensors that an operation writes to."""
    names = [argument.name for argument in func._schema.arguments]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    writes = [argument.name for argument in func._schema.arguments if argument.is_write]
    return [x for name in writes for x in tensors(given.get(name))]


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [x for part in value for x in tensors(part)] if isinstance(value, list | tuple) else []


def tape(work):
    """Record work without doing it, as `repro.core.replay` asks."""
    recorded = Tape()
    with recorded:
        result = work()
    with torch.no_grad():
        for tensor, before in reversed(recorded.before):
            tensor.copy_(before)
    return recorded.replay, result
