"""What is drawn for a run that is killed: its model and input, and how each of its lives divides the steps."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

STEPS = 36
TOWERS = 2
BATCH = 8
ROWS = np.random.RandomState(0).randn(203, 16).astype(np.float32)
IDS = np.random.RandomState(1).randint(0, 30, [203, 4]).astype(np.int32)
LABELS = (ROWS[:, 0] * ROWS[:, 1] > 0).astype(np.int32)

LAYERS = ("dense", "conv", "norm", "dropout", "rnn", "embedding", "branch", "noise")
OPTIMIZERS = ("adam", "momentum", "adagrad", "rmsprop", "descent")
INPUTS = ("plain", "mapped", "parallel", "filtered", "interleaved", "cached", "generator")


class Model(NamedTuple):
    """A model, its optimizer and its input: the same in all lives of a run. ``per_run``: steps of a loop of steps."""

    layers: tuple[str, ...]
    optimizer: str
    decay: bool
    input: str
    per_run: int
    seed: int


class Division(NamedTuple):
    """How one life divides the steps; nothing of it may change a bit.

    Attributes:
      at_once: steps per return, None for the default. input_bytes: of one program, None for the default.
      save, summarize, log: every so many steps, None: never. per_run: steps per run where a program may change them.
    """

    at_once: int | None
    input_bytes: int | None
    save: int
    summarize: int | None
    log: int | None
    per_run: int


def model(chance: random.Random) -> Model:
    layers = tuple(chance.choice(LAYERS) for _ in range(chance.randint(1, 4)))
    return Model(
        layers, chance.choice(OPTIMIZERS), chance.random() < 0.5, chance.choice(INPUTS), chance.choice([2, 3, 4, 6]),
        chance.randint(1, 1000),
    )  # fmt: skip


def division(chance: random.Random) -> Division:
    return Division(
        chance.choice([None, None, 1, 2, 5]), chance.choice([None, 1, 1 << 20]), chance.randint(3, 9),
        chance.choice([None, 1, 4, 7]), chance.choice([None, 3, 5]), chance.choice([1, 2, 5, 8]),
    )  # fmt: skip
