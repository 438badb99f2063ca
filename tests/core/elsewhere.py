"""A device that is not the CPU, for machines without one: what lies there is computed by the CPU.

torch lets a backend be written in Python; 2.6 did not yet, and importing this fails there. It fails
beside a card, too: autograd then takes the device for the card and fails in its tests. This one
keeps a tensor's values in a CPU tensor that nobody else sees, and is as strict as a GPU: whoever
mixes devices is told so. Code that trains here as it does on the CPU has nothing left to ask of a
GPU but speed and rounding.
"""

import torch
from torch.utils._pytree import tree_map
from torch.utils.backend_registration import (
    _DummyBackendModule,
    _setup_privateuseone_for_python_backend,
)

if torch.cuda.is_available():
    raise ImportError("a pretended device and a card cannot be in one process")

NAME = "elsewhere"
MOVES = {"_to_copy", "copy_"}


class Elsewhere(torch.Tensor):
    """A tensor that lies elsewhere."""

    @staticmethod
    def __new__(cls, values):
        return torch.Tensor._make_wrapper_subclass(
            cls, values.shape, strides=values.stride(), storage_offset=values.storage_offset(),
            dtype=values.dtype, device=DEVICE,
        )  # fmt: skip

    def __init__(self, values):
        self.values = values

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return computed(func, *args, **(kwargs or {}))

    def tolist(self):  # which torch does not offer to subclasses
        return self.values.tolist()


def computed(func, *args, **kwargs):
    """An operation's result, where its arguments lie or where it is asked for."""
    name, given, here = func._schema.name.removeprefix("aten::"), {}, []

    def values(x):
        if isinstance(x, Elsewhere):
            given[id(x.values)] = x
            return x.values
        if isinstance(x, torch.Tensor) and x.ndim:
            here.append(x)
        return x

    args, kwargs = tree_map(values, args), tree_map(values, kwargs)
    if given and here and name not in MOVES:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices,"
            f" {DEVICE} and cpu! ({func})"
        )
    asked = kwargs.get("device")
    stays_here = torch.device(asked).type != NAME if asked is not None else not given
    if asked is not None:
        kwargs["device"] = torch.device("cpu")
    result = func(*args, **kwargs)

    def placed(x):
        if id(x) in given:  # written in place
            return given[id(x)]
        return Elsewhere(x) if isinstance(x, torch.Tensor) and not stays_here else x

    return tree_map(placed, result)


def copy_from(source, target, non_blocking=False):
    target.values.copy_(source.values if isinstance(source, Elsewhere) else source)
    return target


class Backend(_DummyBackendModule):
    def get_amp_supported_dtype(self):
        return [torch.bfloat16, torch.float16]


_setup_privateuseone_for_python_backend(NAME, backend_module=Backend())
DEVICE = torch.device(NAME, 0)
LIBRARIES = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
LIBRARIES[0].fallback(computed, "PrivateUse1")
LIBRARIES[1].impl("_copy_from", copy_from, "PrivateUse1")
