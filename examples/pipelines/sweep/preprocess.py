"""Divides 1,797 handwritten digits into parts to train on, to compare networks with, and to test the best one on.

The digits (8 x 8 grey values of 0 to 16 and a label in each row) are the test part of "Optical Recognition of Handwritten
Digits" (E. Alpaydin, C. Kaynak, 1998; UCI Machine Learning Repository, CC BY 4.0).
"""

import sys

import numpy as np

PARTS = {"train": (0, 1, 2), "validation": (3,), "test": (4,)}  # of each five rows


def main(output):
    rows = np.loadtxt("digits.csv.gz", delimiter=",", dtype="float32")
    place = np.arange(len(rows)) % 5
    arrays = {}
    for part, places in PARTS.items():
        chosen = rows[np.isin(place, places)]
        arrays[f"{part}_pixels"], arrays[f"{part}_labels"] = chosen[:, :-1] / 16, chosen[:, -1].astype("int64")
        print(f"{part}: {len(chosen)} digits")
    with open(output, "wb") as file:  # np.savez would add a suffix to a name
        np.savez(file, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
