"""The perceptron of `train.py` as a study: a command that is given a seed and prints a number."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from repro import Metric, OutsideArm, OutsideStudy

SCRIPT = Path(__file__).with_name("train.py")


@dataclass(frozen=True, kw_only=True)
class Perceptron(OutsideArm):
    study: ClassVar[str] = "perceptron"  # this module: it holds STUDY
    metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds", examples=1000)}
    reads: ClassVar[tuple[str, ...]] = ("train.py",)  # trained again where it changes

    average: bool = False
    noise: float = 0.1
    data: str = "a noisy hyperplane"


def train(arm, seed):
    command = [sys.executable, str(SCRIPT), f"--seed={seed}", f"--noise={arm.noise}"]
    command += ["--average"] if arm.average else []
    return {"accuracy": float(subprocess.check_output(command, text=True))}


STUDY = OutsideStudy(train)
