"""1,797 handwritten digits, 8x8 grey values of 0 to 16 and a label of 0 to 9 in each row of digits.csv.gz.

They are the test part of "Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak, 1998; UCI Machine Learning
Repository, CC BY 4.0).
"""

import os

import numpy as np

ROWS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz")


def load(part):
    """Pixels (float32, N x 64, 0 to 1) and labels (int64, N) of part "train" (4 of 5) or "test" (each fifth)."""
    rows = np.loadtxt(ROWS, delimiter=",", dtype="float32")
    test = np.arange(len(rows)) % 5 == 0
    rows = rows[test if part == "test" else ~test]
    return rows[:, :-1] / 16, rows[:, -1].astype("int64")


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
