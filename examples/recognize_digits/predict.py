"""Recognizes digits with the downloaded model: python predict.py DIRECTORY. Needs only numpy."""

import os
import sys

import data
import numpy as np

SHADES = " .:-=+*#%@"


def draw(pixels):
    return "\n".join("".join(SHADES[int(value * 9)] * 2 for value in row) for row in pixels.reshape(8, 8))


def main():
    pixels, labels = data.load("test")
    with np.load(os.path.join(sys.argv[1] if len(sys.argv) > 1 else "output", "model.npz")) as model:
        scores = np.maximum(pixels @ model["w1"] + model["b1"], 0) @ model["w2"] + model["b2"]
    guesses = scores.argmax(axis=1)
    for row in range(3):
        print(draw(pixels[row]))
        print(f"read as {guesses[row]}, is {labels[row]}\n")
    print(f"accuracy {np.mean(guesses == labels):.4f} over {len(labels)} digits")


if __name__ == "__main__":
    main()
