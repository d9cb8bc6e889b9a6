"""House prices by linear regression, collective: each trainer holds the whole model and a part of the data, gradients are averaged
over all of them after each step. Trainer 0 prints the error on the test part after each pass and saves the model to --output.
"""

import os
import time

os.environ.setdefault("GLOG_minloglevel", "2")  # before paddle is loaded: its own lines below error are for its authors

import data
import numpy as np
import paddle
from paddle import distributed as dist

BATCH = 16
RATE = 0.05


def error(model, features, prices):
    """Root mean square error in 1,000 dollars."""
    with paddle.no_grad():
        return float(paddle.sqrt(paddle.mean((model(paddle.to_tensor(features)) - paddle.to_tensor(prices)) ** 2)))


def run_pass(model, optimizer, features, prices, seed):
    order = np.random.RandomState(seed).permutation(len(prices))
    for start in range(0, len(order) - BATCH + 1, BATCH):
        rows = order[start : start + BATCH]
        loss = paddle.mean((model(paddle.to_tensor(features[rows])) - paddle.to_tensor(prices[rows])) ** 2)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()


def save(model):
    output = os.environ.get("PADDLE_OUTPUT", "output")
    os.makedirs(output, exist_ok=True)
    mean, deviation = data.scale()
    weight, bias = (p.numpy() for p in model.parameters())
    np.savez(os.path.join(output, "model.npz"), weight=weight, bias=bias, mean=mean, deviation=deviation)
    print(f"saved model.npz to {output}", flush=True)


def main():
    dist.init_parallel_env()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    paddle.seed(1)
    model = paddle.nn.Linear(data.FEATURES, 1)
    parallel = paddle.DataParallel(model) if ranks > 1 else model
    optimizer = paddle.optimizer.SGD(RATE, parameters=parallel.parameters())
    features, prices = data.load("train")
    rows = len(prices) // ranks  # as many for each: every trainer takes part in every step
    mine = np.arange(rank, rows * ranks, ranks)
    test = data.load("test")
    passes = int(os.environ.get("NUM_PASS", "20"))
    print(f"trainer {rank} of {ranks}: {len(mine)} districts", flush=True)
    for number in range(1, passes + 1):
        start = time.time()
        run_pass(parallel, optimizer, features[mine], prices[mine], seed=number)
        if rank == 0:
            print(
                f"pass {number}/{passes}: test error {error(model, *test):.3f} ({time.time() - start:.2f} s)",
                flush=True,
            )
    print(f"final test error {error(model, *test):.3f} (1,000 dollars)", flush=True)  # the same in each trainer
    if rank == 0:
        save(model)


if __name__ == "__main__":
    main()
