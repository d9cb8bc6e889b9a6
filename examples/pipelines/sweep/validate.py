"""Prints the part of the digits that a network recognizes. It needs no paddle: two layers are two products."""

import sys

import numpy as np


def accuracy(digits, part, model):
    with np.load(digits) as parts, np.load(model) as values:
        hidden = np.maximum(parts[f"{part}_pixels"] @ values["w1"] + values["b1"], 0)
        chosen = (hidden @ values["w2"] + values["b2"]).argmax(axis=1)
        return float(np.mean(chosen == parts[f"{part}_labels"]))


if __name__ == "__main__":
    print(f"{accuracy(*sys.argv[1:]):.4f}")
