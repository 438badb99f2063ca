"""MLPerf Training 5.0, judged on the logs of its runs.

A system is compared with another one of its own submitter alone.
"""

import csv
from collections import Counter
from pathlib import Path

import pytest

from repro import Metric, claim
from repro.recorded import recorded

TABLE = Path(__file__).parent / "mlperf.csv"

RUNS = recorded(
    "mlperf.csv",
    arm=["submitter", "system", "benchmark"],
    seed="seed",
    metrics={"minutes": Metric("log")},
    get="git clone https://github.com/mlcommons/training_results_v5.0, then"
    " python mlperf.py training_results_v5.0 > mlperf.csv",
)


def system(submitter, name, benchmark):
    """Return the arm of a system."""
    return RUNS(submitter=submitter, system=name, benchmark=benchmark)


LORA = "llama2_70b_lora"
LLAMA = "llama31_405b"


@claim(
    "MI325X is at least 1.2 times as fast as MI300X at fine-tuning Llama 2 70B",
    source="MLPerf Training 5.0, results",
)
def test_mi325x(trials):
    new, old = trials(
        system("AMD", "MI325X_EPYC_9575F_pytorch", LORA),
        system("AMD", "MI300X_EPYC_9575F_pytorch", LORA),
    )
    assert new.minutes.falls_below(old.minutes, by_ratio=1.2)


@pytest.mark.parametrize(
    ("submitter", "small", "large", "benchmark"),
    [
        ("MangoBoost", "MI300X-LLMBoost-GPUBoost-1node", "MI300X-LLMBoost-GPUBoost-2node", LORA),
        ("MangoBoost", "MI300X-LLMBoost-GPUBoost-2node", "MI300X-LLMBoost-GPUBoost-4node", LORA),
        ("NVIDIA", "tyche_ngpu72_ngc25.04_nemo", "tyche_ngpu144_ngc25.04_nemo", LORA),
        ("NVIDIA", "tyche_ngpu256_ngc25.04_nemo", "tyche_ngpu512_ngc25.04_nemo", LLAMA),
        (
            "IBM+CoreWeave+NVIDIA",
            "carina_ngpu512_ngc25.04_nemo",
            "carina_ngpu1024_ngc25.04_nemo",
            LLAMA,
        ),
        (
            "IBM+CoreWeave+NVIDIA",
            "carina_ngpu1024_ngc25.04_nemo",
            "carina_ngpu2048_ngc25.04_nemo",
            LLAMA,
        ),
        (
            "Nebius",
            "nebius_soperator_8xH200_n64_ngc25.01_nemo",
            "nebius_soperator_8xH200_n128_ngc25.01_nemo",
            LLAMA,
        ),
    ],
    ids=["1node", "2node", "ngpu72", "ngpu256", "ngpu512", "ngpu1024", "n64"],
)
@claim(
    "Are twice the accelerators at least 1.5 times as fast?",
    source="MLPerf Training 5.0, results",
    kind="question",
)
def test_twice_the_accelerators(trials, submitter, small, large, benchmark):
    one, two = trials(
        system(submitter, small, benchmark),
        system(submitter, large, benchmark),
    )
    assert two.minutes.falls_below(one.minutes, by_ratio=1.5)


@pytest.mark.skipif(not TABLE.exists(), reason="needs mlperf.csv")
def test_no_system_uses_a_seed_twice():
    with TABLE.open(newline="") as file:
        runs = [
            (row["submitter"], row["system"], row["benchmark"], row["seed"])
            for row in csv.DictReader(file)
        ]
    assert [run for run, count in Counter(runs).items() if count > 1] == []
