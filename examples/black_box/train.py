"""A perceptron in plain Python: `python train.py --seed 1 --average` prints its test accuracy."""

import argparse
import random

FEATURES, EXAMPLES = 20, 300


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def draw(rng, truth, noise):
    x = [rng.gauss(0, 1) for _ in truth]
    sign = 1 if dot(x, truth) > 0 else -1
    return x, -sign if rng.random() < noise else sign


def train(rng, examples, epochs):
    """The last weights, and the average of the weights after every example."""
    weights, total = [0.0] * FEATURES, [0.0] * FEATURES
    for _ in range(epochs):
        rng.shuffle(examples)
        for x, y in examples:
            if y * dot(weights, x) <= 0:
                weights = [w + y * v for w, v in zip(weights, x, strict=True)]
            total = [t + w for t, w in zip(total, weights, strict=True)]
    return weights, total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--average", action="store_true")
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    truth = [rng.gauss(0, 1) for _ in range(FEATURES)]
    examples = [draw(rng, truth, chosen.noise) for _ in range(EXAMPLES)]
    last, average = train(rng, examples, chosen.epochs)
    weights = average if chosen.average else last
    unseen = [draw(rng, truth, 0.0) for _ in range(1000)]
    print(sum(y * dot(weights, x) > 0 for x, y in unseen) / len(unseen))


if __name__ == "__main__":
    main()
