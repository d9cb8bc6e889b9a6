"""Handwritten digits with MPI: each rank computes the gradient of its share, and an allreduce adds them up."""

import os

import numpy as np
from mpi4py import MPI
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

PASSES = int(os.environ.get("NUM_PASS", "200"))
RATE = 0.5


def say(line):
    """One write a line: mpirun puts the output of all ranks together as it comes."""
    print(line + "\n", end="", flush=True)


def gradient(weights, images, labels):
    """Of the cross entropy of softmax regression, summed over the images."""
    scores = images @ weights
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    chances[np.arange(len(labels)), labels] -= 1
    return images.T @ chances


def main():
    world = MPI.COMM_WORLD
    images, labels = load_digits(return_X_y=True)
    images = np.hstack([images / 16, np.ones((len(images), 1))])
    train_x, test_x, train_y, test_y = train_test_split(images, labels, test_size=0.2, random_state=1, stratify=labels)
    mine = slice(world.rank, None, world.size)
    share_x, share_y = train_x[mine], train_y[mine]
    host = os.environ.get("PADDLE_MPI_HOST", "this machine")
    say(f"rank {world.rank} of {world.size} on {host}: {len(share_x)} digits")

    weights, total = np.zeros((65, 10)), np.empty((65, 10))
    for _ in range(PASSES):
        world.Allreduce(gradient(weights, share_x, share_y), total)
        weights -= RATE * total / len(train_x)
    seen = world.allreduce(len(share_x))
    same = world.allreduce(weights.sum(), MPI.MIN) == world.allreduce(weights.sum(), MPI.MAX)
    if world.rank == 0:
        accuracy = np.mean(np.argmax(test_x @ weights, axis=1) == test_y)
        say(f"{seen} of {len(train_x)} digits seen; all ranks have the same weights: {same}")
        say(f"final test accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
