"""The error of recorded results that cannot be used as they are."""


class RecordedError(ValueError):
    """Recorded results are not what a claim takes them for; says what is wrong and what to do."""
