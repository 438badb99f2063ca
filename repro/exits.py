"""Exit codes that are meant: answers of commands, and no `os._exit` of code under test."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from repro.text import said_in_full, shown

NO_ANSWER = 3
"""The exit code of a command that should answer and cannot."""


@contextmanager
def exit_refused() -> Iterator[None]:
    """Raise within the block if code calls `os._exit`, which would end the whole session.

    With `os._exit(0)` the session would even look successful. A forked child may exit. So may
    another thread with a nonzero status, as a time limit does.

    >>> with exit_refused():
    ...     os._exit(0)
    Traceback (most recent call last):
    RuntimeError: it called os._exit(0), which would end the whole session
    """
    really_exit, process = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        is_main = threading.current_thread() is threading.main_thread()
        if os.getpid() != process or (status and not is_main):
            really_exit(status)
        raise RuntimeError(f"it called os._exit({status}), which would end the whole session")

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = really_exit


def answered(answer: Callable[[], int]) -> int:
    """Return the exit code of an answer, or 3 with one sentence where there is none.

    0, 1 and 2 are answers. Python's own code for an exception is 1, and argparse's for a wrong
    option is 2, so neither may get out.

    >>> answered(lambda: 1)
    1
    """
    try:
        code = answer()
        sys.stdout.flush()
        return code
    except SystemExit as ended:
        return NO_ANSWER if ended.code else 0
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
    except BrokenPipeError:  # the reader, such as `head`, has ended
        with suppress(OSError):  # else the interpreter's own flush at its end says so again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:
        print(shown(str(error)), file=sys.stderr)
    except BaseException as error:
        print(shown(f"No answer: {said_in_full(error)}"), file=sys.stderr)
    return NO_ANSWER
