"""Trains one network of a sweep. Trainers see each its own digits, and average their gradients after each step."""

import os
import sys

os.environ.setdefault("GLOG_minloglevel", "2")  # before paddle is loaded: its own lines below error are for its authors

import numpy as np
import paddle
from paddle import distributed as dist

BATCH = 16


def main(digits, output, hidden, rate, passes):
    dist.init_parallel_env()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    paddle.seed(1)
    model = paddle.nn.Sequential(paddle.nn.Linear(64, int(hidden)), paddle.nn.ReLU(), paddle.nn.Linear(int(hidden), 10))
    parallel = paddle.DataParallel(model) if ranks > 1 else model
    optimizer = paddle.optimizer.Adam(float(rate), parameters=parallel.parameters())
    with np.load(digits) as parts:
        pixels, labels = parts["train_pixels"], parts["train_labels"]
    rows = len(labels) // ranks  # as many for each: every trainer takes part in every step
    mine = np.arange(rank, rows * ranks, ranks)
    print(f"trainer {rank} of {ranks}: {rows} digits, {hidden} hidden units, rate {rate}", flush=True)
    for number in range(1, int(passes) + 1):
        order = np.random.RandomState(number).permutation(mine)
        for start in range(0, rows - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            scores = parallel(paddle.to_tensor(pixels[batch]))
            loss = paddle.nn.functional.cross_entropy(scores, paddle.to_tensor(labels[batch]))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        print(f"pass {number}/{passes}: loss {float(loss):.4f}", flush=True)
    if rank == 0:
        values = [value.numpy() for value in model.parameters()]
        with open(output, "wb") as file:
            np.savez(file, **dict(zip(("w1", "b1", "w2", "b2"), values)))


if __name__ == "__main__":
    main(*sys.argv[1:])
