"""The same digits with parameter servers: the chief hands steps to the workers, the servers hold the variables."""

import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf
from train import BATCH, RATE, Model, accuracy, data

STEPS = int(os.environ.get("STEPS", "600"))


def serve(cluster, task):
    server = tf.distribute.Server(cluster, job_name=task["type"], task_index=task["index"], protocol="grpc")
    print(f"{task['type']} {task['index']} serves", flush=True)
    server.join()


def coordinate(resolver):
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    train_x, test_x, train_y, test_y = data()
    with strategy.scope():
        model = Model()

    def batches():
        digits = tf.data.Dataset.from_tensor_slices((train_x, train_y))
        return digits.shuffle(len(train_x)).repeat().batch(BATCH)

    @tf.function
    def step(iterator):
        def replica(images, labels):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images)))
            for variable, gradient in zip(model.variables, tape.gradient(loss, model.variables)):
                variable.assign_sub(RATE * 30 * gradient)

        strategy.run(replica, next(iterator))

    iterator = iter(coordinator.create_per_worker_dataset(batches))
    for _ in range(STEPS):
        coordinator.schedule(step, args=(iterator,))
    coordinator.join()
    print(f"final test accuracy {accuracy(model, test_x, test_y):.4f}", flush=True)


def main():
    config = json.loads(os.environ["TF_CONFIG"])
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver(rpc_layer="grpc")
    if config["task"]["type"] in ("ps", "worker"):
        serve(resolver.cluster_spec(), config["task"])
    else:
        coordinate(resolver)


if __name__ == "__main__":
    main()
