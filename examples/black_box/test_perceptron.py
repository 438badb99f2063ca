"""Is the average of all weights better than the last ones?"""

from perceptron import Perceptron

from repro import claim


@claim("The averaged perceptron beats the last one", source="perceptron, Section 1")
def test_average_is_better(trials):
    averaged, last = trials(Perceptron(average=True), Perceptron())
    assert averaged.accuracy > last.accuracy


@claim("Without noise they are equal, within a point", source="perceptron, Section 2")
def test_equal_without_noise(trials):
    averaged, last = trials(Perceptron(average=True, noise=0.0), Perceptron(noise=0.0))
    assert averaged.accuracy.is_within(0.01, of=last.accuracy)
