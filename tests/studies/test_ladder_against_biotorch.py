"""FA and DFA gradients of linear layers, against networks built of biotorch's layers.

With credit as it comes (`raw`), since biotorch does not normalise it. biotorch sends credit through
feedback matrices inside a block too, and the ladder's surrogate does not: there a block's own
gradient is exact. So what is compared is what both define alike: the layer that credit enters
first, in each block, and everything below the blocks.
"""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.oracles import oracle
from tests.studies.small import LADDER, first_batch, model

pytestmark = pytest.mark.thorough

SEED, BATCH = 3, 16
ARM = LADDER.but(
    depth=3, rule="fa", trained=3, credit="raw", images=64, shift=1,
    recipe=LADDER.recipe.but(batch=BATCH),
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def biotorch():
    return oracle("biotorch")


def with_gradients(arm):
    """A reference model after one backward pass, and the batch it was given."""
    one = model(arm, SEED)
    x, y = first_batch(one.data, SEED, BATCH)
    objective, _ = one.loss(x, y)
    objective.backward()
    return one, x, y


def copied(layer, original, back):
    with torch.no_grad():
        layer.weight.copy_(original.weight)
        layer.bias.copy_(original.bias)
        layer.weight_backward.copy_(back)
    return layer


class BioBlock(nn.Module):
    def __init__(self, block, up, down):
        from biotorch.layers.fa import Linear

        super().__init__()
        d, m = block.up.in_features, block.up.out_features
        self.up = copied(Linear(d, m), block.up, up)
        self.down = copied(Linear(m, d), block.down, down)

    def forward(self, h):
        return self.down(F.gelu(self.up(F.layer_norm(h, h.shape[-1:]))))


def test_fa_gradients_are_those_of_a_network_of_biotorch_layers():
    model, x, y = with_gradients(ARM)
    blocks = [
        BioBlock(block, model.feedback[f"blocks.{b}.up"], model.feedback[f"blocks.{b}.down"])
        for b, block in enumerate(model.module.blocks)
    ]
    embed = nn.Linear(ARM.inputs, ARM.width)
    embed.load_state_dict(model.module.embed.state_dict())
    h = embed(x)
    for block in blocks:
        h = h + block(h)
    F.cross_entropy(model.module.readout(h), y).backward()
    torch.testing.assert_close(model.module.embed.weight.grad, embed.weight.grad)
    for ours, theirs in zip(model.module.blocks, blocks, strict=True):
        torch.testing.assert_close(ours.down.weight.grad, theirs.down.weight.grad)
        torch.testing.assert_close(ours.down.bias.grad, theirs.down.bias.grad)


@pytest.mark.parametrize("point", range(4))
def test_dfa_gradients_are_those_of_a_layer_below_a_biotorch_layer(point):
    """The layer that feeds a point of the stream, under a layer of biotorch's that sends B e."""
    from biotorch.layers.dfa import Linear

    model, x, y = with_gradients(ARM.but(rule="dfa"))
    h = [state.detach() for state in model._states(x)]
    ours = model.module.embed if point == 0 else model.module.blocks[point - 1].down
    into = x if point == 0 else _hidden(model.module.blocks[point - 1], h[point - 1])
    layer = nn.Linear(ours.in_features, ours.out_features)
    layer.load_state_dict(ours.state_dict())
    with torch.no_grad():
        error = (model.module.readout(h[-1]).softmax(-1) - F.one_hot(y, 10)) / BATCH

    options = {"type": "dfa", "options": {"init": "xavier"}}
    above = Linear(ARM.width, 10, 10, layer_config=options)
    above.weight_backward.data = model.feedback[f"{point}"].T.clone()
    above.loss_gradient = error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # biotorch hooks backward passes in a way torch discourages
        above(layer(into)).sum().backward()
    torch.testing.assert_close(ours.weight.grad, layer.weight.grad)
    torch.testing.assert_close(ours.bias.grad, layer.bias.grad)


def _hidden(block, h):
    return F.gelu(block.up(F.layer_norm(h, h.shape[-1:]))).detach()
