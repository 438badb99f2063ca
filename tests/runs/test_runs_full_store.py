"""A session whose store cannot be written: one sentence, wherever it comes."""

import errno
import io
import itertools
import math
import os
import re

import pytest

from repro.arm import Run
from repro.backends import batch_files
from repro.runs.pool import TrainingStopped
from repro.store import StoreError
from tests.local_work import LocalWork
from tests.studies.small import LADDER

SENTENCE = re.compile(r"The store \S+ (is full|cannot be used) \([^\n]*\); [^\n]*\.")
SMALL = [Run(LADDER.but(trained=1, images=64), seed) for seed in range(2)]


def said_by_a_session(folder):
    """What a session in this process says that could not train everything; None where it could."""
    try:
        here = LocalWork(folder, engine="loop", report=lambda line: None).train(SMALL)
    except (StoreError, TrainingStopped) as error:
        return str(error)
    assert [here.results.failed(run) for run in SMALL] == [None, None]
    return None


@pytest.fixture
def _saving(monkeypatch):
    """Keeps a checkpoint wherever there may be one."""
    monkeypatch.setattr(batch_files, "SAVE_SECONDS", -1.0)
    monkeypatch.setattr(batch_files, "SHARE_OF_SAVING", math.inf)


@pytest.mark.thorough
@pytest.mark.usefixtures("_saving")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_no_room_for_one_more_file_is_one_sentence_wherever_it_comes(code, tmp_path, monkeypatch):
    left = [0]

    def limited(make, is_new):
        def made(path, *more, **named):
            if str(path).startswith(str(tmp_path)) and is_new(*more, **named):
                left[0] -= 1
                if left[0] < 0:
                    raise OSError(code, os.strerror(code), str(path))
            return make(path, *more, **named)

        return made

    monkeypatch.setattr(os, "mkdir", limited(os.mkdir, lambda *more, **named: True))
    monkeypatch.setattr(
        os, "open", limited(os.open, lambda flags=0, *more, **named: flags & os.O_CREAT)
    )
    monkeypatch.setattr(
        io, "open", limited(io.open, lambda mode="r", *more, **named: mode[0] in "wx")
    )
    for room in itertools.count():
        left[0] = room
        said = said_by_a_session(tmp_path / f"store{room}")
        if said is None:
            break
        assert SENTENCE.fullmatch(said)
    assert room > 20
