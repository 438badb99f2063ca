"""A tiny BERT tells whether the first of eight tokens comes again, trained by `Trainer`."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from repro import Metric, OutsideArm, TrainerStudy

TOKENS = torch.randint(16, (600, 8), generator=torch.Generator().manual_seed(0))
ROWS = [{"input_ids": row, "labels": int((row[1:] == row[0]).any())} for row in TOKENS]
SIZES = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 16}


@dataclass(frozen=True, kw_only=True)
class Order(OutsideArm):
    study: ClassVar[str] = "order"
    metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds", examples=200)}
    layers: int = 1
    epochs: int = 2
    data: str = "random tokens"


def build(arm, own):
    model = BertForSequenceClassification(BertConfig(num_hidden_layers=arm.layers, **SIZES))
    args = TrainingArguments(**own, num_train_epochs=arm.epochs, learning_rate=5e-3)
    return Trainer(
        model, args, train_dataset=ROWS[:400], eval_dataset=ROWS[400:], compute_metrics=accuracy
    )


def accuracy(seen):
    return {"accuracy": (seen.predictions.argmax(1) == seen.label_ids).mean()}


STUDY = TrainerStudy(build)
