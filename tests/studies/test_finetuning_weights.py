"""GPT-2's published weights: read, checked, and where finetuning of the documented size starts."""

import numpy as np
import pytest
import safetensors.torch
import torch

from repro.data.locate import DataError
from repro.data.safetensors import write_tensors
from repro.studies.finetuning.arms import FIRST_ROW, ROWS
from repro.studies.finetuning.gpt2 import SHAPES, Shape, load_weights, require_weights, weights_hash
from repro.studies.finetuning.model import Gpt
from tests.studies.small import FINETUNING_DATA, trained


def published(folder, shape, vocabulary=20):
    """A file of weights like those of the public repository."""
    d, numbers = shape.width, np.random.default_rng(1)
    sizes = {"wte.weight": (vocabulary, d), "wpe.weight": (shape.context, d)}
    blocks = [f"h.{n}." for n in range(shape.layers)]
    for norm in ("ln_f", *(f"{block}{norm}" for block in blocks for norm in ("ln_1", "ln_2"))):
        sizes |= {f"{norm}.weight": (d,), f"{norm}.bias": (d,)}
    linears = {
        "attn.c_attn": (1, 3),
        "attn.c_proj": (1, 1),
        "mlp.c_fc": (1, 4),
        "mlp.c_proj": (4, 1),
    }
    for block in blocks:
        for name, (reads, gives) in linears.items():
            sizes[f"{block}{name}.weight"] = (reads * d, gives * d)
            sizes[f"{block}{name}.bias"] = (gives * d,)
    tensors = {name: numbers.standard_normal(s, dtype="float32") for name, s in sizes.items()}
    folder.mkdir()
    path = folder / "model.safetensors"
    path.write_bytes(write_tensors(tensors))
    return path, tensors


@pytest.fixture
def public(tmp_path, monkeypatch):
    """The file of weights of a tiny model in the place of GPT-2's small one, and its arrays."""
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    tiny = Shape(16, 2, 2, context=8)
    monkeypatch.setitem(SHAPES, "small", tiny)
    return published(tmp_path / "gpt2-small", tiny)


def test_public_weights_are_loaded_and_stay_as_they_are_read_when_the_file_changes(public):
    path, arrays = public
    require_weights("small")
    before = weights_hash("small")
    parameters = load_weights("small")
    Gpt(SHAPES["small"], vocabulary=20).load_state_dict(parameters)
    path.write_bytes(bytes(path.stat().st_size))
    assert weights_hash("small") != before
    key = arrays["h.1.attn.c_attn.weight"][:, 16:32].T
    assert (parameters["blocks.1.attention.key.weight"].numpy() == key).all()
    for name, theirs in {"tokens": "wte", "positions": "wpe", "norm": "ln_f"}.items():
        assert (parameters[f"{name}.weight"].numpy() == arrays[f"{theirs}.weight"]).all()
    assert all(parameter.is_contiguous() for parameter in parameters.values())


def test_public_weights_that_are_not_gpt2s_are_refused(public, monkeypatch):
    path, arrays = public
    whole = path.read_bytes()
    for content, says in (
        (whole[:-4], "is cut short; remove it and run `python -m repro data"),
        (write_tensors({"wte.weight": arrays["wte.weight"]}), "has no tensor 'wpe.weight'"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=says):
            load_weights("small")
    monkeypatch.setitem(SHAPES, "small", Shape(32, 2, 2, context=8))
    path.write_bytes(whole)
    with pytest.raises(DataError, match="holds a model that is 16 wide, not 32"):
        load_weights("small")


def test_public_weights_of_another_precision_are_read_as_float32(public):
    path, arrays = public
    for kind in (torch.bfloat16, torch.float64):
        rounded = {name: torch.from_numpy(array).to(kind) for name, array in arrays.items()}
        path.write_bytes(safetensors.torch.save(rounded))
        parameters = load_weights("small")
        assert {parameter.dtype for parameter in parameters.values()} == {torch.float32}
        assert (parameters["tokens.weight"] == rounded["wte.weight"].float()).all()


def test_the_paper_profile_trains_from_public_weights(tmp_path, monkeypatch):
    """The path of the documented sizes, at a size that a test has time for."""
    tiny = Shape(16, 2, 2, context=40)
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    monkeypatch.setitem(SHAPES, "small", tiny)
    published(tmp_path / "gpt2-small", tiny, vocabulary=1024)
    recipe = FIRST_ROW.recipe.but(epochs=1, batch=32)
    for row in (ROWS[1], ROWS[9]):
        arm = row.but(**FINETUNING_DATA, recipe=recipe, longest=20)
        assert arm.starts_from is None
        assert 0.2 < trained(arm)["measures"]["test_accuracy"] <= 1
