"""Commands on evidence, run as a user runs them, and files taken apart to be put together wrong."""

import contextlib
import gzip
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from _pytest.pytester import LineMatcher

from repro.__main__ import main

FILE = "evidence.jsonl.gz"


@dataclass
class Ended:
    """A command that has ended: its exit code, and what it printed."""

    ret: int
    stdout: LineMatcher
    stderr: LineMatcher


def evidence(*arguments):
    """Run the command `evidence` in the folder of a test's project, in this process."""
    return command("evidence", *arguments)


def command(*arguments):
    """Run a command of `python -m repro` in the folder of a test's project, in this process."""
    path = sys.path[:]
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            ret = main(arguments)
    finally:
        for name, module in list(sys.modules.items()):
            if Path(getattr(module, "__file__", None) or "/").is_relative_to(Path.cwd()):
                del sys.modules[name]
        sys.path[:] = path
    print(out.getvalue(), err.getvalue())
    texts = (LineMatcher(each.getvalue().splitlines()) for each in (out, err))
    return Ended(ret, *texts)


def packed(project, *arguments, file=FILE):
    """Pack the results of a project; return the path of the file."""
    result = evidence("pack", file, *arguments)
    assert result.ret == 0, result.stderr.str()
    return project.path / file


def lines_of(path):
    """Return the lines of a file, parsed."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def compressed(lines):
    """Return lines as the bytes of a file, written by another program."""
    return gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode())
