"""The paper's rules for sharing, and the cases in which they assign the same."""

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from repro.studies.parameter_sharing.assignment import (
    STRATEGIES,
    assigned,
    cycle,
    cycle_reversed,
    literal_sequence,
    sequence,
)
from repro.studies.parameter_sharing.model import Shape, SharingTransformer

sizes = st.tuples(st.integers(1, 30), st.integers(1, 12))


def printed_sequence(n, m):
    """The paper's algorithm, line by line, counting from 1."""
    order, current = [], 0
    for i in range(1, n + 1):
        if i == 1 or (i - 1) % (n // m) == 0:
            current += 1
        order.append(current)
    return order


def printed_cycle(n, m):
    return [i if i <= m else (i - 1) % m + 1 for i in range(1, n + 1)]


def printed_cycle_reversed(n, m):
    order = []
    for i in range(1, n + 1):
        if i <= m:
            order.append(i)
        elif i <= m * (-(-n // m) - 1):
            order.append((i - 1) % m + 1)
        else:
            order.append(m - (i - 1) % m)
    return order


def test_the_rules_are_those_of_the_paper():
    for n, m in product(range(1, 37), range(1, 13)):
        if n >= m:
            assert [place + 1 for place in literal_sequence(n, m)] == printed_sequence(n, m)
            assert [place + 1 for place in cycle(n, m)] == printed_cycle(n, m)
            assert [place + 1 for place in cycle_reversed(n, m)] == printed_cycle_reversed(n, m)


def test_the_literal_sequence_makes_more_sets_where_it_does_not_come_out_even():
    assert sequence(6, 3) == (0, 0, 1, 1, 2, 2)
    assert len(set(literal_sequence(12, 8))) == 12
    assert len(set(sequence(12, 8))) == 8
    for n, m in product(range(1, 37), range(1, 13)):
        if n >= m and n % m == 0:
            assert literal_sequence(n, m) == sequence(n, m)


@given(sizes)
def test_there_are_as_many_sets_as_asked_for_or_as_there_are_layers(size):
    layers, sets = size
    for strategy in STRATEGIES:
        order = assigned(strategy, layers=layers, sets=sets)
        assert len(order) == layers
        assert set(order) == set(range(min(layers, sets)))


@given(st.integers(1, 30), st.integers(0, 10))
def test_without_more_layers_than_sets_nothing_is_shared(layers, more):
    orders = {assigned(s, layers=layers, sets=layers + more) for s in STRATEGIES}
    assert orders == {tuple(range(layers))}


def test_which_strategies_coincide():
    """All three agree at N = M and with one set; the cycles only where nothing is reversed.

    The pattern of the source's wide_deep rows is one layer more than sets, and nothing else.
    """
    for n, m in product(range(1, 25), range(1, 25)):
        if m <= n:
            assert (cycle(n, m) == cycle_reversed(n, m)) == (n == m or m == 1)
            assert (sequence(n, m) == cycle(n, m)) == (n == m or m == 1)
            for strategy, agrees in ((sequence, n == m + 1 and m > 1), (literal_sequence, False)):
                assert (strategy(n, m) == cycle_reversed(n, m) != cycle(n, m)) == agrees


def test_nothing_to_share_is_refused():
    with pytest.raises(ValueError, match="layers=0 and sets=2 must be at least 1"):
        assigned("cycle", layers=0, sets=2)


def network(order, seed=1, **changes):
    shape = Shape(
        **{"width": 16, "heads": 4, "hidden": 24, "context": 12, "causal": True} | changes
    )
    torch.manual_seed(seed)
    return SharingTransformer(shape, order, vocabulary=40)


@given(size=sizes, strategy=st.sampled_from(sorted(STRATEGIES)))
def test_the_parameters_are_those_of_its_sets(size, strategy):
    layers, sets = size
    model = network(assigned(strategy, layers=layers, sets=sets))
    d, hidden = 16, 24
    each = 4 * (d * d + d) + 2 * d * hidden + hidden + d + 4 * d
    assert sum(p.numel() for p in model.parameters()) == (
        min(layers, sets) * each + 40 * d + 12 * d + 2 * d
    )


def test_a_shared_set_gets_the_gradients_of_all_its_layers():
    """A shared set is trained like copies of it whose gradients are added up."""
    shared, copies = network((0, 1, 0)), network((0, 1, 2))
    copies.load_state_dict(
        shared.state_dict()
        | {
            name.replace("sets.0.", "sets.2."): value
            for name, value in shared.state_dict().items()
            if name.startswith("sets.0.")
        }
    )
    tokens = torch.randint(40, (2, 9))
    for model in (shared, copies):
        model(tokens).square().mean().backward()
    for name, parameter in shared.sets[0].named_parameters():
        both = sum(copies.sets[n].get_parameter(name).grad for n in (0, 2))
        torch.testing.assert_close(parameter.grad, both, rtol=1e-4, atol=1e-6)
    assert len({p.data_ptr() for p in shared.parameters()}) == len(list(shared.parameters()))


def test_a_decoder_does_not_see_what_comes_and_an_encoder_does():
    tokens = torch.randint(40, (1, 10))
    changed = tokens.clone()
    changed[0, 7] = (changed[0, 7] + 1) % 40
    for causal in (True, False):
        model = network((0, 1, 0), causal=causal)
        before, after = model(tokens), model(changed)
        assert torch.equal(before[:, :7], after[:, :7]) == causal


def test_grouped_heads_are_heads_that_are_repeated():
    grouped, plain = network((0,), key_heads=2), network((0,))
    state = grouped.state_dict()
    for kind in ("weight", "bias"):
        name = f"sets.0.attention.query_key_value.{kind}"
        query, *stored = state[name].split((16, 8, 8))
        repeated = [  # two heads of four features
            part.unflatten(0, (2, 4)).repeat_interleave(2, dim=0).flatten(0, 1) for part in stored
        ]
        state[name] = torch.cat([query, *repeated])
    plain.load_state_dict(state)
    tokens = torch.randint(40, (2, 9))
    torch.testing.assert_close(grouped(tokens), plain(tokens), rtol=1e-4, atol=1e-5)
    saved = 2 * (16 * 8 + 8)
    assert sum(p.numel() for p in grouped.parameters()) == (
        sum(p.numel() for p in plain.parameters()) - saved
    )


def test_without_biases_there_are_none():
    names = dict(network((0, 1), biases=False).named_parameters())
    assert not [name for name in names if name.endswith("bias")]


def test_linformer_mixes_places_and_is_attention_where_it_mixes_nothing():
    shape = {"causal": False}
    mixing, plain = network((0,), compressed=12, **shape), network((0,), **shape)
    plain.load_state_dict(
        {name: p for name, p in mixing.state_dict().items() if not name.endswith("mix.weight")}
    )
    with torch.no_grad():
        mixing.sets[0].attention.mix.weight.copy_(torch.eye(12))
    tokens = torch.randint(40, (2, 12))
    torch.testing.assert_close(mixing(tokens), plain(tokens), rtol=1e-4, atol=1e-5)
    fewer = network((0,), compressed=3, **shape)
    assert fewer.sets[0].attention.mix.weight.shape == (3, 12)
    assert fewer(tokens[:, :7]).shape == (2, 7, 40)


def test_shapes_that_cannot_be_are_refused():
    for changes, sentence in (
        ({"heads": 3}, "width=16 cannot be shared out among 3 heads"),
        ({"key_heads": 3}, "key_heads=3 must divide heads=4"),
        ({"compressed": 4}, "it is for encoders"),
    ):
        with pytest.raises(ValueError, match=sentence):
            network((0,), **changes)
