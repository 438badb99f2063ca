"""Files that somebody made wrong: one sentence each, nothing written, little memory."""

import gzip
import json
import os
import resource
import zlib
from itertools import chain

import pytest

from repro.evidence import EvidenceError, file
from repro.evidence.file import LONGEST_LINE, EvidenceFile, encoded
from tests.evidence.arms import (
    CODE,
    RUN,
    SEEDS,
    TODAY,
    file_of,
    former,
    head,
    identity_of,
    line,
    trace_line,
    values_of,
)


def read(path):
    """Return the values in a file; or the sentence that refuses it."""
    try:
        found = EvidenceFile.read(path)
        return [found.record(key).result.values for key in found.lines]
    except EvidenceError as error:
        return str(error)


def refused(path):
    sentence = read(path)
    assert isinstance(sentence, str)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert str(path) in sentence
    return sentence


def test_a_file_that_is_cut_off_anywhere(tmp_path):
    path = file_of(tmp_path, TODAY, line())
    whole = path.read_bytes()
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        assert "cut off" in refused(path) or "is empty" in refused(path)


def test_a_file_with_any_byte_flipped_is_refused_or_is_the_same(tmp_path):
    path = file_of(tmp_path, TODAY, line())
    whole = path.read_bytes()
    for at in range(0, len(whole), 11):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        # a byte of gzip's head means nothing, such as the system that it was written on
        assert read(path) == [values_of(RUN)] or refused(path)


def test_lines_that_are_missing_or_too_many(tmp_path):
    path = file_of(tmp_path, TODAY, line())
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    weights = encoded(
        {"kind": "weights", "key": line(SEEDS[1])["key"], "part": 0, "base64": "AAAA"}
    )
    for wrong, why in [
        (lines[:-1], "has 0 runs where its head says 1"),
        ([*lines, lines[2]], "line 4 is a second one for Slope, seed 1"),
        ([*lines, weights], "line 4 has weights of another run"),
        ([lines[0], *lines[2:]], "whose trace does not stand before it"),
        (lines[1:], "line 1 is not the head of evidence"),
        ([encoded(head(0, format=2))], "has format 2 where this version of repro reads 4"),
        ([b"\x80\x04 a pickle"], "line 1 is not JSON"),
    ]:
        path.write_bytes(gzip.compress(b"".join(wrong)))
        assert why in refused(path)


def test_what_is_no_file_of_evidence(tmp_path):
    path, pipe = tmp_path / "evidence.jsonl.gz", tmp_path / "pipe"
    path.write_bytes(b"PK\x03\x04 a zip")
    assert "not whole gzip" in refused(path)
    assert "No such file" in refused(tmp_path / "nothing")
    os.mkfifo(pipe)
    for other in (tmp_path, pipe):
        assert "is not a file" in refused(other)


VALUES, MADE = values_of(RUN), line()["made"]
NONE = [
    ({"key": line(SEEDS[1])["key"]}, "identity of another run"),
    ({"key": former()["key"]}, "identity of another run"),
    ({"identity": identity_of(RUN, seed=2.0)}, "seed that is no int"),
    ({"made": {**MADE, "settings": []}}, "settings that is no dict"),
    ({"made": {**MADE, "trace": 7}}, "trace that is no str"),
    ({"made": {**MADE, "more": ""}}, "value that no result has"),
    ({"values": {**VALUES, "measures": {"slope": "0.25"}}}, "no numbers"),
    ({"values": {**VALUES, "measures": {"slope": 10**400}}}, "no numbers"),
    ({"values": {**VALUES, "steps": -1}}, "no count"),
    ({"values": {"history": {}}}, "no steps"),
    ({"values": {"history": {}, "diverged_at": "early"}}, "diverged_at that is no int"),
    ({"values": {**VALUES, "history": {"loss": "0.5"}}}, "history that is no list"),
    ({"provenance": {"machine": 7}}, "machine that is no str"),
    ({"provenance": {"engine": 7}}, "machine that is no str"),
    ({"provenance": {"rekeyed": 7}}, "machine that is no str"),
    ({"provenance": {"packages": ["torch"]}}, "packages that is no dict"),
    ({"provenance": {"seconds": -1.0}}, "no count"),
    ({"data_sets": [["../../etc"]]}, "data_sets that is no str"),
    ({"keeps_weights": 1}, "keeps_weights that is no bool"),
    ({"kind": "pickle"}, "unknown kind, 'pickle'"),
]
"""Members of a run's line that no run has, and words of the sentence that says so."""


def test_runs_that_are_none(tmp_path):
    for changes, why in NONE:
        sentence = refused(file_of(tmp_path, TODAY, line(**changes), runs=1))
        assert "line 3" in sentence
        assert why in sentence
    no_code = former(identity={**former()["identity"], "code": None})
    assert "code that is no str" in refused(file_of(tmp_path, CODE, no_code))
    path = tmp_path / "evidence.jsonl.gz"
    for number in ("NaN", "Infinity", "-Infinity", "1e999"):
        texts = map(json.dumps, [head(1), TODAY, line()])
        path.write_bytes(gzip.compress("\n".join(texts).replace("0.25", number).encode()))
        assert "line 3 has a value that no result has" in refused(path)


TRACES = [
    ({"modules": {"toy": "1"}}, "a module that is no dict"),
    ({"files": ["a"]}, "a files that is no dict"),
    ({"missing": {}}, "a missing that is no list"),
    ({"missing": [7]}, "a missing that is no str"),
    ({"arms": [[]]}, "a arms that is no str"),
    ({"salt": 7}, "a salt that is no str"),
    ({"variables": {"GAIN": "1"}}, "variables without a salt"),
    ({"modules": {"toy": {"train()": [[]]}}}, "a digest that is no str"),
    ({"files": {"project:a": 7}}, "a digest that is no str"),
    ({"files": {"/dev/zero": "1"}}, "a file outside of its project"),
    ({"files": {"project:/dev/zero": "1"}}, "a file outside of its project"),
    ({"modules": {"fixtures:../../a.py": {}}}, "a file outside of its project"),
    ({"files": {"project:a\0b": "1"}}, "a file outside of its project"),
    ({"more": {}}, "a trace with 'more', which is no part of one"),
]


def test_traces_that_are_none(tmp_path):
    for trace, why in TRACES:
        assert f"line 2 has {why}" in refused(file_of(tmp_path, trace_line(trace), line()))
    wrong = {**TODAY, "content": {"missing": ["another"]}}
    assert "line 2 is a trace with another digest" in refused(file_of(tmp_path, wrong, line()))


def test_json_that_is_nested_without_end(tmp_path):
    deep = "[" * 100_000 + "]" * 100_000
    path = tmp_path / "evidence.jsonl.gz"
    path.write_bytes(gzip.compress(f'{{"kind": "head", "claims": {deep}}}\n'.encode()))
    assert "line 1 is not JSON" in refused(path)
    for depth in (200, 900):
        nested = 0.5
        for _ in range(depth):
            nested = [nested]
        path = file_of(tmp_path, TODAY, line(values={**VALUES, "measures": {"slope": nested}}))
        # where it is read, a claim will say that its slope is no number
        assert isinstance(read(path), list) or "line 3" in refused(path)


def test_text_that_steers_a_terminal_is_written_out(tmp_path):
    arm = {**identity_of(RUN)["arm"], "arm": "\x1b[2J\x1b[31mred\u202e"}
    steering = line(identity=identity_of(RUN, arm=arm))
    sentence = refused(file_of(tmp_path, TODAY, steering, steering))
    assert "\x1b" not in sentence
    assert "\u202e" not in sentence
    assert r"\x1b[2J" in sentence


def bomb(path, pieces):
    """Write what unpacks to all pieces, without ever holding it."""
    packing = zlib.compressobj(9, wbits=31)
    with path.open("wb") as file:
        for piece in pieces:
            file.write(packing.compress(piece))
        file.write(packing.flush())


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB on Linux


@pytest.mark.thorough
def test_bombs_take_no_memory(tmp_path):
    path = tmp_path / "evidence.jsonl.gz"
    codes = (encoded({**CODE, "code": f"{n:032x}"}) for n in range(10**6))
    for pieces, why in (
        ([b" " * 2**20] * 256, f"line 2 has more than {LONGEST_LINE} bytes"),
        (codes, "is one too many: a file has"),
    ):
        bomb(path, chain([encoded(head(1))], pieces))
        before = peak()
        assert why in refused(path)
        assert peak() - before < 200 * 1024


def test_what_could_not_be_read_again_is_not_written(tmp_path, monkeypatch):
    path = tmp_path / "evidence.jsonl.gz"
    codes = [{**CODE, "code": str(n)} for n in range(3)]
    EvidenceFile.write(path, [head(0), *codes])
    before = path.read_bytes()
    monkeypatch.setattr(file, "MOST_BYTES", 2 * file.LEAST)
    monkeypatch.setattr(file, "LONGEST_LINE", 4000)
    long = line(values={**VALUES, "measures": {"right": [0.5] * 3000}})
    for lines, why in (
        ([head(0), *codes], "line 4 is one too many"),
        ([head(1), TODAY, long], "line 3 has more than 4000 bytes"),
    ):
        with pytest.raises(EvidenceError, match=f"was not written, .*{why}.*in several files"):
            EvidenceFile.write(path, lines)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
    assert "line 4 is one too many" in refused(path)
