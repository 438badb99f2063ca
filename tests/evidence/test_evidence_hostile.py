"""Files that somebody made wrong: one sentence each, nothing written, little memory."""

import gzip
import hashlib
import json
import os
import resource
import zlib

import pytest

from repro.evidence import lines
from repro.evidence.errors import EvidenceError
from repro.evidence.file import EvidenceFile
from repro.evidence.lines import LONGEST_LINE, MOST_LINES, encoded, write_lines
from repro.evidence.record import record_of
from repro.store import Result, run_key
from tests.evidence.arms import CODE, RUN, SEEDS, file_of, head, identity_of, line, values_of
from tests.evidence.packs import sealed

CODES = [{"kind": "code", "code": f"{n:032x}", "definitions": {}} for n in range(1000)]


def read(path):
    """Return the values in a file; or the sentence that refuses it."""
    try:
        return [each.result.values for each in EvidenceFile.read(path).records()]
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
    path = file_of(tmp_path, CODE, line())
    whole = path.read_bytes()
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        assert "cut off" in refused(path) or "is empty" in refused(path)


def test_a_file_with_any_byte_flipped_is_refused_or_is_the_same(tmp_path):
    path = file_of(tmp_path, CODE, line())
    whole = path.read_bytes()
    for at in range(0, len(whole), 11):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        # a byte of gzip's head means nothing, such as the system that it was written on
        assert read(path) == [values_of(RUN)] or refused(path)


def test_lines_that_are_missing_or_too_many(tmp_path):
    path = file_of(tmp_path, CODE, line())
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    for wrong, why in [
        (lines[:-1], "cut off"),
        ([*lines, lines[2]], "more after its last line"),
        ([lines[0], *lines[2:]], "not described"),
        ([*lines[:2], lines[3]], "checksums are not those of 2 lines"),
        ([*lines[:2], lines[2].replace(b"0.25", b"0.75"), lines[3]], "line 3 does not match"),
        (lines[1:], "first line is not that of evidence"),
    ]:
        path.write_bytes(gzip.compress(b"".join(wrong)))
        assert why in refused(path)


def test_another_format_and_no_format(tmp_path):
    path = tmp_path / "evidence.jsonl.gz"
    path.write_bytes(sealed([head(0, format=3)]))
    assert "has format 3 where this version of repro reads 2" in refused(path)
    path.write_bytes(sealed([head(7, format=1)]))
    assert "has 7 runs under keys of an earlier version" in read(path)
    assert read(path).endswith(f"with: python -m repro rekey {path}")
    path.write_bytes(b"PK\x03\x04 a zip")
    assert "not whole gzip" in refused(path)
    path.write_bytes(gzip.compress(b"\x80\x04 a pickle"))
    assert "line 1 is not JSON" in refused(path)
    assert "No such file" in refused(tmp_path / "nothing")
    assert "is not a file" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "is not a file" in refused(tmp_path / "pipe")


OTHER = identity_of(SEEDS[1])
VALUES = values_of(RUN)


NONE = [
    ({"key": run_key(OTHER)}, "identity of another run"),
    ({"identity": {**identity_of(RUN), "seed": 2.0}}, "seed that is no int"),
    ({"identity": {**identity_of(RUN), "code": None}}, "code that is no str"),
    ({"values": {**VALUES, "measures": {"slope": "0.25"}}}, "no numbers"),
    ({"values": {**VALUES, "measures": {"slope": 10**400}}}, "no numbers"),
    ({"values": {**VALUES, "measures": {"slope": True}}}, "no numbers"),
    ({"values": {**VALUES, "history": {"loss": [[False]]}}}, "lists of numbers"),
    ({"values": {**VALUES, "steps": -1}}, "no steps"),
    ({"values": {"history": {}}}, "no steps"),
    ({"values": {"history": {}, "diverged_at": "early"}}, "no diverged_at"),
    ({"values": {**VALUES, "history": {"loss": "0.5"}}}, "lists of numbers"),
    ({"provenance": {"machine": 7}}, "no text"),
    ({"provenance": {"engine": 7}}, "no text"),
    ({"provenance": {"packages": ["torch"]}}, "no text"),
    ({"provenance": {"seconds": -1.0}}, "no time"),
    ({"provenance": {"seconds": True}}, "no time"),
    ({"data_sets": [["../../etc"]]}, "no text"),
    ({"keeps_weights": 1}, "keeps_weights that is no bool"),
    ({"kind": "pickle"}, "unknown kind, 'pickle'"),
]
"""Members of a run's line that no run has, and words of the sentence that says so."""


def test_runs_that_are_none(tmp_path):
    for changes, why in NONE:
        changed = line(**changes)
        if "identity" in changes:
            changed["key"] = run_key(changes["identity"])
        sentence = refused(file_of(tmp_path, CODE, changed, runs=1))
        assert "line 3" in sentence
        missing = [part for part in why.split("*") if part not in sentence]
        assert missing == [], sentence


def test_numbers_that_are_none(tmp_path):
    path = tmp_path / "evidence.jsonl.gz"
    lines = gzip.decompress(sealed([head(1), CODE, line()])).decode().splitlines()
    for number in ("NaN", "Infinity", "-Infinity", "1e999"):
        text = json.dumps(line()).replace("0.25", number)
        path.write_bytes(gzip.compress("\n".join([*lines[:2], text, lines[3], ""]).encode()))
        assert "line 3" in refused(path)


def test_a_measure_that_is_true_is_packed_as_a_number(tmp_path):
    result = Result("", identity_of(RUN), {**VALUES, "measures": {"slope": True}}, {})
    record = record_of(RUN, result)
    path = file_of(tmp_path, CODE, line(values=record.result.values))
    assert read(path)[0]["measures"] == {"slope": 1}
    assert '"slope":1}' in encoded(record.line()).decode()


def test_a_name_that_is_there_twice(tmp_path):
    path = tmp_path / "evidence.jsonl.gz"
    text = encoded(line()).replace(b'"slope":', b'"slope":0.75,"slope":')
    parts = [encoded(head(1)), encoded(CODE), text]
    sums = [hashlib.sha256(part).hexdigest() for part in parts]
    parts.append(encoded({"kind": "seal", "lines": sums}))
    path.write_bytes(gzip.compress(b"".join(parts)))
    assert "line 3 has 'slope' twice" in refused(path)


def test_a_run_twice_weights_of_another_and_a_wrong_number_of_runs(tmp_path):
    weights = {"kind": "weights", "key": run_key(OTHER), "part": 0, "base64": "AAAA"}
    assert "weights of another run" in refused(file_of(tmp_path, CODE, line(), weights))
    assert "is a second one for Slope, seed 1" in refused(file_of(tmp_path, CODE, line(), line()))
    path = file_of(tmp_path, CODE, line(), runs=2)
    assert "has 1 runs where its head says 2" in refused(path)


def test_json_that_is_nested_without_end(tmp_path):
    deep = "[" * 100_000 + "]" * 100_000
    path = tmp_path / "evidence.jsonl.gz"
    path.write_bytes(gzip.compress(f'{{"kind": "head", "claims": {deep}}}\n'.encode()))
    assert "line 1 is not JSON" in refused(path)
    for depth in (200, 900):
        nested = 0.5
        for _ in range(depth):
            nested = [nested]
        path = file_of(tmp_path, CODE, line(values={**VALUES, "measures": {"slope": nested}}))
        # where it is read, a claim will say that its slope is no number
        assert isinstance(read(path), list) or "line 3" in refused(path)


def test_text_that_steers_a_terminal_is_written_out(tmp_path):
    arm = {**identity_of(RUN)["arm"], "arm": "\x1b[2J\x1b[31mred\u202e"}
    steering = line(identity={**identity_of(RUN), "arm": arm})
    sentence = refused(file_of(tmp_path, CODE, steering, steering))
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
    many = b"".join(map(encoded, CODES))
    for pieces, why in (
        ([b" " * 2**20] * 256, f"line 2 is longer than {LONGEST_LINE} bytes"),
        ([many] * (MOST_LINES // 1000), f"more than {MOST_LINES} lines"),
    ):
        bomb(path, [encoded(head(1)), *pieces])
        before = peak()
        assert why in refused(path)
        assert peak() - before < 200 * 1024


@pytest.mark.parametrize(
    ("bound", "most", "why"),
    [("MOST_LINES", 5, "more than 5 lines"), ("MOST_BYTES", 900, "more than 900 bytes")],
)
def test_what_could_not_be_read_again_is_not_written(tmp_path, monkeypatch, bound, most, why):
    path = tmp_path / "evidence.jsonl.gz"
    write_lines(path, [head(0), *CODES[:4]])
    before = path.read_bytes()
    write_lines(tmp_path / "long", [head(0), *CODES[:15]])
    monkeypatch.setattr(lines, bound, most)
    assert not EvidenceFile.read(path).lines
    assert why in refused(tmp_path / "long")
    (tmp_path / "long").unlink()
    with pytest.raises(EvidenceError, match=f"was not written, since .*{why}.*in several files"):
        write_lines(path, [head(0), *CODES[:15]])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_seal_may_be_longer_than_other_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 400)
    path = tmp_path / "evidence.jsonl.gz"
    write_lines(path, [head(0), *CODES[:100]])
    assert len(EvidenceFile.read(path).definitions) == 100
    monkeypatch.undo()
    write_lines(path, [head(0), {**CODE, "more": "x" * 400}])
    monkeypatch.setattr(lines, "LONGEST_LINE", 400)
    assert "line 2 is longer than 400 bytes" in refused(path)


def test_a_result_that_could_not_be_read_again_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 4000)
    long = line(values={**VALUES, "measures": {"right": [0.5] * 3000}})
    with pytest.raises(EvidenceError, match="the result of Slope, seed 1 takes 12") as raised:
        write_lines(tmp_path / "evidence.jsonl.gz", [head(1), CODE, long])
    assert "let its study tell fewer values" in str(raised.value)
    assert not list(tmp_path.iterdir())
