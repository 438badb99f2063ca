"""Fits a linear model by stochastic gradient descent; prints its run as one line of JSON."""

import json
import math
import random
import sys

RATE = 0.002
STEPS = 400
POINTS = 100
INPUTS = 20


def train(seed):
    draw = random.Random(seed)
    normal = lambda count: [draw.gauss(0, 1) for _ in range(count)]  # noqa: E731
    truth, weights = normal(INPUTS), [0.0] * INPUTS
    points = [
        (x, dot(truth, x) + draw.gauss(0, 1)) for x in (normal(INPUTS) for _ in range(POINTS))
    ]
    for _ in range(STEPS):
        x, y = draw.choice(points)
        error = dot(weights, x) - y
        weights = [weight - RATE * error * each for weight, each in zip(weights, x, strict=True)]
    return math.log(sum((a - b) ** 2 for a, b in zip(weights, truth, strict=True)) / INPUTS)


def dot(first, other):
    return sum(a * b for a, b in zip(first, other, strict=True))


if __name__ == "__main__":
    seed = int(sys.argv[1])
    print(json.dumps({"seed": seed, "loss": train(seed)}))
