"""Takes the network with the highest score of a sweep, and tests it on digits that had no part in the choice."""

import pathlib
import shutil
import sys

from validate import accuracy


def main(digits, models, scores, output):
    found = [float(pathlib.Path(score).read_text()) for score in scores.split(",")]
    for index, score in enumerate(found):
        print(f"network {index}: {score:.4f}")
    best = max(range(len(found)), key=found.__getitem__)
    model = models.split(",")[best]
    shutil.copyfile(model, output)
    print(f"best: network {best}, accuracy on the test part {accuracy(digits, 'test', model):.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
