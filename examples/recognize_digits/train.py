"""Handwritten digits with parameter servers: a multi-layer perceptron, trained asynchronously.

The same program runs as parameter server and as trainer; TRAINING_ROLE says which. Each trainer reads its own part of the data, all share
the parameters on the servers. Trainer 0 prints the accuracy on the test part after each pass and saves the model to --output.
"""

import collections
import contextlib
import io
import os
import tempfile
import time

os.environ.setdefault("GLOG_minloglevel", "2")  # before paddle is loaded: its own lines below error are for its authors

import data
import numpy as np
import paddle
from paddle import static
from paddle.distributed import fleet

BATCH = 16
HIDDEN = 64
RATE = 0.02
KEPT = 5  # the model is the mean of the last passes: each by itself jumps, as trainers write past each other


def quiet():
    """Paddle prints its tables and modes in many calls; a person wants to see the training."""
    return contextlib.redirect_stdout(io.StringIO())


def build():
    """The network; returns its inputs, its loss, and the names of its parameters in order."""
    pixels = static.data("pixels", [None, 64], "float32")
    label = static.data("label", [None, 1], "int64")
    hidden = static.nn.fc(pixels, HIDDEN, activation="relu")
    scores = static.nn.fc(hidden, 10)
    loss = paddle.mean(paddle.nn.functional.cross_entropy(scores, label))
    names = [p.name for p in static.default_main_program().all_parameters()]
    return [pixels, label], loss, names


def parameters(names):
    """The present values of the parameters as arrays."""
    scope = static.global_scope()
    return [np.array(scope.find_var(name).get_tensor()) for name in names]


def accuracy(values, pixels, labels):
    w1, b1, w2, b2 = values
    scores = np.maximum(pixels @ w1 + b1, 0) @ w2 + b2
    return float(np.mean(scores.argmax(axis=1) == labels))


def train(inputs, names):
    trainer, trainers = fleet.worker_index(), fleet.worker_num()
    passes = int(os.environ.get("NUM_PASS", "20"))
    exe = static.Executor(paddle.CPUPlace())
    with quiet():
        exe.run(static.default_startup_program())
        fleet.init_worker()
    pixels, labels = data.shard(*data.load("train"), trainer, trainers)
    test = data.load("test")
    print(f"trainer {trainer} of {trainers}: {len(labels)} digits", flush=True)
    kept = collections.deque(maxlen=KEPT)
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "part")
        for number in range(1, passes + 1):
            start = time.time()
            data.write_slots(path, pixels, labels, seed=number)
            dataset = paddle.distributed.QueueDataset()
            dataset.init(batch_size=BATCH, thread_num=1, use_var=inputs, pipe_command="cat")
            dataset.set_filelist([path])
            with quiet():
                exe.train_from_dataset(static.default_main_program(), dataset)
            if trainer == 0:
                kept.append(parameters(names))
                now = accuracy(kept[-1], *test)
                print(f"pass {number}/{passes}: test accuracy {now:.4f} ({time.time() - start:.2f} s)", flush=True)
    if trainer == 0:
        save([np.mean(values, axis=0) for values in zip(*kept)], test)
    with quiet():
        fleet.stop_worker()


def save(values, test):
    output = os.environ.get("PADDLE_OUTPUT", "output")
    os.makedirs(output, exist_ok=True)
    np.savez(os.path.join(output, "model.npz"), w1=values[0], b1=values[1], w2=values[2], b2=values[3])
    print(f"final test accuracy {accuracy(values, *test):.4f}", flush=True)
    print(f"saved model.npz to {output}", flush=True)


def main():
    paddle.disable_signal_handler()  # a parameter server is stopped by SIGTERM: no trace of that in its log
    paddle.enable_static()
    with quiet():
        fleet.init(fleet.PaddleCloudRoleMaker(is_collective=False))
        inputs, loss, names = build()
        strategy = fleet.DistributedStrategy()
        strategy.a_sync = True
        optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(RATE), strategy)
        optimizer.minimize(loss)
    if fleet.is_server():
        print(f"parameter server {fleet.server_index()} of {fleet.server_num()}", flush=True)
        with quiet():
            fleet.init_server()
            fleet.run_server()
    else:
        train(inputs, names)


if __name__ == "__main__":
    main()
