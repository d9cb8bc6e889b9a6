"""The sweep of pipeline.yaml in Python: each function is a step, with the programs beside it as modules. They are imported in
the steps, since only these have numpy and paddle.

python sweep.py, or: paddle run create -f sweep.py --package-path . --follow
"""

import pathlib

from paddlecloud.pipeline import CacheOptions, Pipeline, loop, step

NETWORKS = [f"{hidden} {rate}" for hidden in (16, 32, 64) for rate in (0.003, 0.01, 0.03, 0.1)]
TWO_TRAINERS = {
    "PF_JOB_TYPE": "distributed",
    "PF_JOB_FRAMEWORK": "paddle",
    "PF_JOB_MODE": "Collective",
    "PF_JOB_WORKER_REPLICAS": "2",
}


@step
def prepare() -> pathlib.Path:
    import preprocess

    preprocess.main("digits.npz")
    return pathlib.Path("digits.npz")


@step(env=TWO_TRAINERS)
def fit(digits: pathlib.Path, network: str, passes: int = 10) -> pathlib.Path:
    import train

    hidden, rate = network.split()
    train.main(digits, "model.npz", hidden, rate, passes)
    return pathlib.Path("model.npz")


@step
def score(digits: pathlib.Path, model: pathlib.Path) -> float:
    import validate

    return validate.accuracy(digits, "validation", model)


@step
def choose(digits: pathlib.Path, models: list, scores: list) -> pathlib.Path:
    import best

    return best.choose(digits, models, scores)


@Pipeline(name="sweep", docker_env="python:3.11", cache_options=CacheOptions(True, fingerprint="content"))
def sweep(networks=NETWORKS):
    digits = prepare()
    for network in loop(networks):
        model = fit(digits, network)
        found = score(digits, model)
    choose(digits, model, found)


if __name__ == "__main__":
    sweep().run(directory=".").follow()
