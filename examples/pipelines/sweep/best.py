"""Takes the network with the highest score of a sweep, and tests it on digits that had no part in the choice."""

import pathlib
import shutil
import sys

from validate import accuracy


def choose(digits, models, scores):
    """The path of the model with the highest score."""
    for index, score in enumerate(scores):
        print(f"network {index}: {score:.4f}")
    best = max(range(len(scores)), key=scores.__getitem__)
    print(f"best: network {best}, accuracy on the test part {accuracy(digits, 'test', models[best]):.4f}")
    return models[best]


def main(digits, models, scores, output):
    found = [float(pathlib.Path(score).read_text()) for score in scores.split(",")]
    shutil.copyfile(choose(digits, models.split(","), found), output)


if __name__ == "__main__":
    main(*sys.argv[1:])
