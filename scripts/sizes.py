"""The sizes of experiments, as pages name them."""

from repro.data.characters import SENTENCES

PROFILE_SIZES = {"any": "any", "paper": "documented"}


def size_of(profile: str, data: str) -> str:
    """Return the size of the experiments of a profile on some data.

    On source 000's sentences profile `ci` has the documented size.

    >>> size_of("ci", "cifar10"), size_of("ci", "repeated-sentences")
    ('small', 'documented')
    """
    return "documented" if data == SENTENCES else PROFILE_SIZES.get(profile, "small")
