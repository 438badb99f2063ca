"""parameter-golf's leaderboard, judged on the logs of its records.

Records go by their place from below: 1 is the baseline, 44 the lowest score. Two of them have no
folder, and ten a log of a single seed; no claim is about these.
"""

import csv
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from repro import Metric, claim
from repro.recorded import recorded


class Record(NamedTuple):
    """Where the runs of a record are, which of their evaluations counts, and the printed score."""

    folder: str
    evaluation: str
    score: str
    arm: str = "."


RECORDS = {
    2: Record("2026-03-18_FP16Embed_WD3600", "final_int8_zlib_roundtrip", "1.2197"),
    4: Record("2026-03-18_LongContextSeq2048", "final_int8_zlib_roundtrip", "1.206"),
    5: Record("2026-03-19_TrainingOptSeq4096", "final_int8_zlib_roundtrip", "1.2014"),
    8: Record(
        "2026-03-19_SlidingWindow_FP16Emb_10L_MuonWD_OvertoneInit",
        "final_int8_zlib_roundtrip",
        "1.1748",
    ),
    10: Record("2026-03-19_Seq2048_FP16Emb_TunedLR", "final_sliding_window", "1.1586"),
    11: Record(
        "2026-03-24_74M_Ternary_UNet_FP8_10L_8192BPE_YaRN_NeoMuon",
        "final_sliding",
        "1.1570",
        "ternary_log",
    ),
    14: Record(
        "2026-03-20_Int6_MLP3x_SmearGate_BigramHash_MuonWD_SWA",
        "final_int8_zlib_roundtrip",
        "1.1458",
    ),
    15: Record("2026-03-20_10L_Int5MLP_MuonWD04_SWA50", "final_int8_zlib_roundtrip", "1.1428"),
    17: Record(
        "2026-03-20_11L_XSA4_EMA_Int6_MLP3x_WD04_1.1271", "final_int6_sliding_window", "1.1271"
    ),
    18: Record(
        "2026-03-21_11L_XSA4_EMA_PartialRoPE_LateQAT_1.1248", "final_int6_sliding_window", "1.1248"
    ),
    19: Record(
        "2026-03-22_11L_EMA_GPTQ-lite_warmdown3500_QAT015_1.1233",
        "final_int6_sliding_window",
        "1.1228",
    ),
    20: Record("2026-03-23_LeakyReLU_LegalTTT_ParallelMuon", "legal_ttt", "1.1194"),
    21: Record(
        "2026-03-25_ValCalib_GPTQ_XSA_BigramHash3072", "final_int6_sliding_window", "1.1147"
    ),
    22: Record(
        "2026-03-29_Loader_FullGPTQ_XSA11_BigramHash2816", "final_int6_sliding_window", "1.1122"
    ),
    24: Record(
        "2026-03-31_ParallelResiduals_MiniDepthRecurrence", "final_int6_sliding_window", "1.1063"
    ),
    25: Record("2026-04-01_Vocab4096_MLPMult4_WD085", "final_int6_sliding_window", "1.0979"),
    26: Record(
        "2026-04-03_MuonEqR_DepthRecurrence_WD090_AllInt6", "final_int6_sliding_window", "1.0912"
    ),
    27: Record(
        "2026-04-04_SP4096_DepthRecurrence_ParallelResid_MuonEqR",
        "final_int6_sliding_window",
        "1.0897",
    ),
    28: Record(
        "2026-04-05_SP8192_GPTQ-Embeddings_SDClip_Loop45x2", "quantized_sliding_window", "1.0856"
    ),
    29: Record(
        "2026-04-06_SP8192_HessianSDClip_ProgressiveRecurrence",
        "quantized_sliding_window",
        "1.0835",
    ),
    30: Record("2026-04-06_SP8192_QK5_LegalTTT_1.0828", "legal_ttt", "1.0828"),
    31: Record("2026-04-08_SP8192_ParallelResid_ScoreFirstTTT", "legal_ttt", "1.0822"),
    32: Record("2026-04-09_SP8192_3LayerRecur_ParResid_QK525_LegalTTT", "quantized_ttt", "1.0810"),
    33: Record("2026-04-09_A2_Muon097_3Seed", "legal_ttt", "1.0798"),
    35: Record("2026-04-10_VarLenAttn", "quantized_ttt_lora", "1.0734"),
    36: Record("2026-04-13_VarLenAttn_PhasingTTT2000", "quantized_ttt_phased", "1.0728"),
    37: Record("2026-04-14_MultiPhaseGlobalSGD_PhasedTTT", "quantized_ttt_phased", "1.0719"),
    38: Record(
        "2026-04-16_SmearGate_AttentionOutputGate_ScoreFirstTTT", "quantized_ttt_lora", "1.0714"
    ),
    39: Record("2026-04-18_PR1626_CaseOps_Taper", "quantized_ttt_phased", "1.0678"),
    40: Record(
        "2026-04-19_SP8192_CaseOps_GatedAttn_QuantGate_Loop45_PhasedTTT",
        "quantized_ttt_phased",
        "1.0655",
    ),
    41: Record(
        "2026-04-22_SP8192_CaseOps_GatedAttn_QuantGate_Loop45_PhasedTTT_MLPClip12",
        "quantized_ttt_phased",
        "1.0645",
    ),
    42: Record(
        "2026-04-23_SP8192_CaseOps_SparseGate_QuantGate_Loop45_PhasedTTT_PolarNS_MinLR_FusedCE",
        "quantized_ttt_phased",
        "1.0634",
        "ttt_pr1767",
    ),
    43: Record(
        "2026-04-29_SmearGateBOSFix_3Seed_1.06141",
        "quantized_ttt_phased",
        "1.0614",
        "rerun_gptq8s",
    ),
    44: Record(
        "2026-04-27_SP8192_LQER_SparseGate_BOSSmearFix_9HpStack_1.0611",
        "quantized_ttt_phased",
        "1.0611",
    ),
}


def read(path: Path) -> Iterator[dict[str, object]]:
    """Yield the evaluation of each run that counts, with the number of its record."""
    numbers = {(each.folder, each.arm, each.evaluation): number for number, each in RECORDS.items()}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            number = numbers.get((row["record"], row["arm"], row["evaluation"]))
            if number is not None:
                yield {**row, "record": number}


RUNS = recorded(
    "golf.csv",
    read=read,
    arm="record",
    seed="seed",
    metrics={"val_bpb": Metric("identity"), "val_loss": Metric("identity")},
    get="git clone https://github.com/openai/parameter-golf, then"
    " python golf.py parameter-golf > golf.csv",
)


def record(name):
    """Return the arm of a record."""
    return RUNS(record=name)


NEIGHBOURS = [*pairwise(RECORDS)]
VOCABULARIES = {2: 1024, 11: 8192, 14: 1024, 25: 4096, 28: 8192, 39: "8192 in one case"}
"""The vocabulary from a record on: nats a token can be compared within one."""

COMPARABLE = [
    (old, new) for old, new in NEIGHBOURS if not any(old < first <= new for first in VOCABULARIES)
]


@pytest.mark.parametrize(("old", "new"), NEIGHBOURS)
@claim("The record compresses better than the one below it", source="Parameter golf, leaderboard")
def test_lower(trials, old, new):
    later, earlier = trials(record(new), record(old))
    assert later.val_bpb < earlier.val_bpb


@pytest.mark.parametrize(("old", "new"), COMPARABLE)
@claim(
    "The record beats the one below it by at least 0.005 nats",
    source="Parameter golf, submission process",
    documented="0.005 nats at p < 0.01",
    level=0.01,
)
def test_by_the_margin(trials, old, new):
    later, earlier = trials(record(new), record(old))
    assert later.val_loss.falls_below(earlier.val_loss, by_at_least=0.005)


@pytest.mark.parametrize("number", RECORDS)
@claim("The printed score is the mean of the logs", source="Parameter golf, leaderboard")
def test_prints(trials, number):
    assert trials(record(number)).val_bpb.prints(RECORDS[number].score)
