"""The 1,797 handwritten digits that scikit-learn ships: 8x8 grey values, labels 0 to 9."""

import os

import numpy as np
from sklearn.datasets import load_digits


def load(part):
    """Pixels (float32, N x 64, 0 to 1) and labels (int64, N) of part "train" (4 of 5) or "test" (each fifth)."""
    digits = load_digits()
    test = np.arange(len(digits.target)) % 5 == 0
    rows = test if part == "test" else ~test
    return (digits.data[rows] / 16).astype("float32"), digits.target[rows].astype("int64")


def shard(pixels, labels, trainer, trainers):
    """The rows of one trainer: each n-th row, or with SHARD_BY_LABEL=1 only its own labels (the proof that parameters are shared)."""
    turn = labels if os.environ.get("SHARD_BY_LABEL") == "1" else np.arange(len(labels))
    mine = turn % trainers == trainer
    return pixels[mine], labels[mine]


def write_slots(path, pixels, labels, seed):
    """Rows in the text form that Paddle's QueueDataset reads: for each slot the number of values, then the values."""
    order = np.random.RandomState(seed).permutation(len(labels))
    with open(path, "w", encoding="ascii") as file:
        for row in order:
            file.write("64 " + " ".join(f"{value:.4g}" for value in pixels[row]) + f" 1 {labels[row]}\n")
