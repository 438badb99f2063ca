"""The sizes of matrices for which a run's bits do not depend on its place in a stack.

Matrix products round differently on rows that start within a cache line. Where every row of every
matrix fills whole lines, no row does.
"""

FLOATS_PER_LINE = 16


def fills_lines(*sizes: int) -> bool:
    """Return True if rows of each of these numbers of floats fill whole cache lines.

    >>> fills_lines(32, 48), fills_lines(32, 40)
    (True, False)
    """
    return all(size % FLOATS_PER_LINE == 0 for size in sizes)
