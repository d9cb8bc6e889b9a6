"""A line is fitted with several learning rates; if the best of them is good enough, it is published. Each function is a step."""

from paddlecloud.pipeline import Pipeline, loop, step, when


@step
def prepare(count: int = 5) -> list:
    return [[x, 3 * x] for x in range(count)]


@step
def train(points: list, rate: float, rounds: int = 100) -> dict:
    slope = 0.0
    for _ in range(rounds):
        slope -= rate * sum(x * (slope * x - y) for x, y in points)
    return {"rate": rate, "slope": slope, "loss": abs(slope - 3)}


@step
def choose(models: list) -> float:
    best = min(models, key=lambda model: model["loss"])
    print("best rate:", best["rate"])
    return best["loss"]


@step
def publish(loss: float) -> None:
    print(f"published with a loss of {loss:.6f}")


@Pipeline(name="line")
def line(rates=(0.0001, 0.01, 0.1)):
    points = prepare()
    for rate in loop(rates):
        model = train(points, rate)
    loss = choose(model)
    with when(f"{loss} < 0.01"):
        publish(loss)


if __name__ == "__main__":
    run = line().run({"rounds": 200}).follow()
    print(f"the smallest loss is {run.result('choose'):.6f}")
