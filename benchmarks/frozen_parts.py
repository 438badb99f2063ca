"""What computing the frozen part of a network once saves, against doing so at every update.

    python benchmarks/frozen_parts.py [--shape tiny|small]

Both train the same classifier on the same messages: the plain way runs the whole network forwards
for every batch; the other reads what came out of the frozen blocks, which was computed once. The
ratio is of processor time, of whole trainings of five epochs, that one computation included.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from repro.core.device import one_thread
from repro.core.initial import as_gpt2
from repro.studies.finetuning.arms import (
    FIRST_ROW,
    LATER_ROWS,
    ROWS,
    TRAINING_MESSAGES,
    FinetuneArm,
)
from repro.studies.finetuning.classifier import start
from repro.studies.finetuning.data import FinetuneData, Part, computed
from repro.studies.finetuning.gpt import Gpt

CPU = torch.device("cpu")
ARMS = {"last layer": ROWS[3], "last block": ROWS[1], "last two blocks": LATER_ROWS[4]}


def seconds(work: Callable[[], object], rounds: int) -> float:
    work()
    found = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return statistics.median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shape", choices=("tiny", "small"), default="tiny")
    parser.add_argument("--rounds", type=int, default=7, help="updates timed each way")
    parser.add_argument("--messages", type=int, default=256, help="computed ahead, to time that")
    options = parser.parse_args()
    one_thread()
    torch.manual_seed(0)

    whole = FIRST_ROW.at("ci").located().but(size=options.shape, trained="all", start="random")
    data = FinetuneData(whole, None, CPU)
    gpt = Gpt(whole.shape, vocabulary=data.vocabulary)
    as_gpt2(gpt, 1, layers=whole.shape.layers)
    parameters = {name: p.detach() for name, p in gpt.named_parameters()}
    batch, many = (
        Part(data.train.x[:n], data.train.read[:n], None, data.train.is_spam[:n])
        for n in (whole.recipe.batch, options.messages)
    )
    print(f"{whole.shape}, messages of {data.train.x.shape[1]} tokens ({whole.data})")
    for name, row in ARMS.items():
        arm = row.at("ci").but(size=options.shape)
        plain, once = both(arm, batch, parameters, options.rounds)
        began = time.process_time()
        computed(arm, many, parameters)
        ahead = (time.process_time() - began) / options.messages * TRAINING_MESSAGES
        alone, of_twelve = (
            arm.steps * plain / (arm.steps * once + ahead / seeds) for seeds in (1, 12)
        )
        print(
            f"{name}: an update {plain / once:.1f} times faster, a training {alone:.1f} times,"
            f" each of 12 seeds {of_twelve:.1f} times"
        )


def both(
    arm: FinetuneArm, batch: Part, parameters: dict[str, torch.Tensor], rounds: int
) -> tuple[float, float]:
    """Seconds of one update, the plain way and with the frozen part computed before."""
    gpt = Gpt(arm.shape, vocabulary=len(parameters["tokens.weight"]))
    gpt.load_state_dict(parameters)
    module = start(
        arm, 1, pretrained=parameters, vocabulary=len(parameters["tokens.weight"]), device=CPU
    )
    own = {name for name, _ in module.named_parameters()}
    for name, parameter in gpt.named_parameters():
        parameter.requires_grad_(name in own)
    head = torch.nn.Linear(arm.shape.width, 2)
    theirs = [*(p for p in gpt.parameters() if p.requires_grad), *head.parameters()]
    optimisers = [
        torch.optim.AdamW(group, lr=1e-4, fused=True) for group in (theirs, module.parameters())
    ]

    def plain() -> None:
        answers = head(gpt(batch.x))[:, -1]
        _step(F.cross_entropy(answers, batch.is_spam), optimisers[0])

    features = computed(arm, batch, parameters)

    def once() -> None:
        answers = module(features, batch.read, None, True)
        _step(F.cross_entropy(answers, batch.is_spam), optimisers[1])

    return seconds(plain, rounds), seconds(once, rounds)


def _step(loss: torch.Tensor, optimiser: torch.optim.Optimizer) -> None:
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


if __name__ == "__main__":
    main()
