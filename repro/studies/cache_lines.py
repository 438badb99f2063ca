"""The sizes of matrices for which the bits of a run do not depend on its row in a stack.

Matrix products round differently on rows that start within a cache line. No row does if every row
of every matrix fills whole lines.
"""

FLOATS_PER_LINE = 16


def fills_lines(*sizes: int) -> bool:
    """Return True if rows of these sizes, in floats, fill whole cache lines.

    >>> fills_lines(32, 48), fills_lines(32, 40)
    (True, False)
    """
    return all(size % FLOATS_PER_LINE == 0 for size in sizes)
