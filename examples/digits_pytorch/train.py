"""Handwritten digits with PyTorch: each rank trains on its share, DistributedDataParallel averages the gradients over gloo.

`init_process_group` finds the others in MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, which the platform sets as torchrun does.
"""

import os
import time

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

PASSES = int(os.environ.get("NUM_PASS", "30"))
BATCH, HIDDEN, RATE = 16, 64, 0.1  # the batch of one rank


def data():
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype("float32")
    parts = train_test_split(images, labels.astype("int64"), test_size=0.2, random_state=1, stratify=labels)
    return [torch.from_numpy(np.ascontiguousarray(part)) for part in parts]


def accuracy(model, images, labels):
    with torch.no_grad():
        return float((model(images).argmax(dim=1) == labels).float().mean())


def run_pass(model, optimizer, images, labels, seed):
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    for rows in order.split(BATCH):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images[rows]), labels[rows]).backward()
        optimizer.step()


def save(model):
    output = os.environ.get("PADDLE_OUTPUT", "output")
    os.makedirs(output, exist_ok=True)
    torch.save(model.state_dict(), os.path.join(output, "model.pt"))
    print(f"saved model.pt to {output}", flush=True)


def main():
    torch.distributed.init_process_group("gloo")
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    train_x, test_x, train_y, test_y = data()
    size = len(train_y) // ranks  # as many for each: every rank takes part in every step
    mine = torch.arange(rank, size * ranks, ranks)
    print(f"rank {rank} of {ranks} (local rank {os.environ['LOCAL_RANK']}): {size} digits", flush=True)
    torch.manual_seed(1)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    for number in range(1, PASSES + 1):
        start = time.time()
        run_pass(model, optimizer, train_x[mine], train_y[mine], seed=number * ranks + rank)
        if rank == 0 and number % 10 == 0:
            reached = accuracy(model.module, test_x, test_y)
            print(f"pass {number}/{PASSES}: test accuracy {reached:.4f} ({time.time() - start:.2f} s)", flush=True)
    print(f"final test accuracy {accuracy(model.module, test_x, test_y):.4f}", flush=True)  # the same in each rank
    print(f"weights {sum(float(value.sum()) for value in model.parameters()):.5f}", flush=True)
    if rank == 0:
        save(model.module)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
