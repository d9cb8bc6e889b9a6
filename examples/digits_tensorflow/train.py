"""Handwritten digits with TensorFlow on several workers: MultiWorkerMirroredStrategy finds the others in TF_CONFIG."""

import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

PASSES = int(os.environ.get("NUM_PASS", "30"))
BATCH, HIDDEN, RATE = 64, 64, 0.01  # the batch of one worker


def data():
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype("float32")
    return train_test_split(images, labels.astype("int32"), test_size=0.2, random_state=1, stratify=labels)


class Model:
    """One hidden layer; its variables are mirrored on all workers."""

    def __init__(self):
        random = np.random.default_rng(1)
        self.w1 = tf.Variable(random.normal(0, 0.1, (64, HIDDEN)).astype("float32"))
        self.b1 = tf.Variable(tf.zeros(HIDDEN))
        self.w2 = tf.Variable(random.normal(0, 0.1, (HIDDEN, 10)).astype("float32"))
        self.b2 = tf.Variable(tf.zeros(10))
        self.variables = [self.w1, self.b1, self.w2, self.b2]
        self.moments = [tf.Variable(tf.zeros_like(variable)) for variable in self.variables]

    def __call__(self, images):
        return tf.nn.relu(images @ self.w1 + self.b1) @ self.w2 + self.b2


def make_step(strategy, model):
    """A step with momentum over the mean gradient of all workers."""

    def replica(images, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images)))
        gradients = tape.gradient(loss, model.variables)
        gradients = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
        for variable, moment, gradient in zip(model.variables, model.moments, gradients):
            moment.assign(0.9 * moment + gradient)
            variable.assign_sub(RATE * 5 * moment)
        return loss

    return tf.function(lambda images, labels: strategy.run(replica, (images, labels)))


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    name = f"{task['type']} {task['index']}"
    workers = strategy.num_replicas_in_sync
    rank = strategy.cluster_resolver.task_id
    train_x, test_x, train_y, test_y = data()
    size = len(train_x) // workers
    mine = slice(rank * size, (rank + 1) * size)
    print(f"{name} of {workers}: {size} digits", flush=True)
    with strategy.scope():
        model = Model()
    step = make_step(strategy, model)
    random = np.random.default_rng(rank)
    for number in range(1, PASSES + 1):
        order = random.permutation(size)
        for at in range(0, size - BATCH + 1, BATCH):
            chosen = order[at : at + BATCH]
            step(tf.constant(train_x[mine][chosen]), tf.constant(train_y[mine][chosen]))
        if number % 10 == 0:
            print(f"pass {number}/{PASSES}: test accuracy {accuracy(model, test_x, test_y):.4f}", flush=True)
    print(f"final test accuracy {accuracy(model, test_x, test_y):.4f}", flush=True)
    print(f"weights {sum(float(tf.reduce_sum(variable)) for variable in model.variables):.5f}", flush=True)


def accuracy(model, images, labels):
    return float(np.mean(np.argmax(model(tf.constant(images)).numpy(), axis=1) == labels))


if __name__ == "__main__":
    main()
