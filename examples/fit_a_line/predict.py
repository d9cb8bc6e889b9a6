"""Predicts prices with the downloaded model: python predict.py DIRECTORY. Needs only numpy and the package `boston`."""

import os
import sys

import data
import numpy as np


def main():
    with np.load(os.path.join(sys.argv[1] if len(sys.argv) > 1 else "output", "model.npz")) as model:
        features, prices = data.load("test")
        guesses = features @ model["weight"] + model["bias"]
    for guess, price in list(zip(guesses[:, 0], prices[:, 0]))[:10]:
        print(f"predicted {guess:5.1f}, true {price:5.1f}")
    print(f"error {np.sqrt(np.mean((guesses - prices) ** 2)):.3f} over {len(prices)} districts")


if __name__ == "__main__":
    main()
