"""Fits a line to noisy points by gradient descent. The learning rate and the number of steps come from the sweep.

paddle submit --name line --sweep LR=0.3,0.1,0.01 --sweep STEPS=20,200 --sweep-parallel 2 -- python train.py
paddle wait line
paddle results line --sort loss
"""

import os
import random


def report(**values):
    """As paddlecloud.report, for a program without the SDK."""
    with open(os.environ.get("PADDLE_PROGRESS_FILE", os.devnull), "a") as file:
        file.writelines(f"{name}={value}\n" for name, value in values.items())


rate, steps = float(os.environ.get("LR", "0.1")), int(os.environ.get("STEPS", "100"))
random.seed(7)
points = [(x / 50, 3 * x / 50 + 1 + random.gauss(0, 0.1)) for x in range(50)]

slope = offset = 0.0
for _step in range(steps):
    errors = [slope * x + offset - y for x, y in points]
    slope -= rate * 2 * sum(error * x for error, (x, _) in zip(errors, points)) / len(points)
    offset -= rate * 2 * sum(errors) / len(points)
    loss = sum((slope * x + offset - y) ** 2 for x, y in points) / len(points)
    report(loss=loss, slope=slope)
print(f"y = {slope:.2f} x + {offset:.2f}, loss {loss:.4f}")
