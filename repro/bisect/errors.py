"""The errors of a search."""


class SearchError(Exception):
    """A range in which nothing can be looked for; says what to do."""


class Unmeasurable(Exception):
    """A claim cannot be measured at a commit; says why."""
