"""Sessions that judge one shard of their claims, and the merge of what they leave."""

import re
import sys

import pytest

from repro.plugin.shard import Shard
from tests.evidence.packs import command, evidence
from tests.plugin.sessions import run, run_apart, trained

CLAIMS = """
import pytest
from repro import claim
from line import Line

@claim("steeper targets give steeper lines", source="900, Text")
@pytest.mark.parametrize("low", range(1, 4))
def test_steeper(trials, low):  # a chain: each shares a program with the next
    steep, flat = trials(Line(target=2.0 ** (low + 1)), Line(target=2.0 ** low))
    assert steep.slope > flat.slope

@claim("several statements", source="901, Text")
def test_several(trials):
    assert trials(Line(target=-3.0)).slope < 0
    assert trials(Line(target=-5.0)).slope < 0

@claim("one program, which lies in one shard", source="903, Text")
def test_alone(trials):
    assert trials(Line(target=-7.0)).slope < 0

@claim("parts add up", source="902, Text")
def test_parts(document):
    assert document("40%").is_share_of(5)
"""


@pytest.fixture
def suite(outside_project, monkeypatch):
    """Claims of which some share programs; without a store of their own, each session names one."""
    outside_project.makepyfile(test_lines=CLAIMS)
    monkeypatch.delenv("REPRO_STORE")
    return outside_project


def shard(project, number, of, *arguments):
    """Judge a shard in a store of its own, as on a machine of its own, and pack it."""
    store = f"--store=store{number}"
    result = run(project, "--shard", f"{number}/{of}", store, *arguments)
    packed = evidence("pack", f"{number}.gz", ".", "--shard", f"{number}/{of}", store)
    assert packed.ret == 0, packed.stderr.str()
    return result


def merge(files, *arguments):
    """Run the command `merge` in the folder of the project, and print what it says."""
    done = command("merge", *files, "--claims", ".", *arguments)
    sys.stderr.write(done.stderr.str())
    return done.ret


@pytest.mark.parametrize("text", ["0/8", "9/8", "8", "a/b", "1/0", "-1/2"])
def test_what_is_no_shard_is_refused(suite, text):
    with pytest.raises(ValueError, match="is no shard"):
        Shard.named(text)
    result = run(suite, f"--shard={text}")
    result.stderr.fnmatch_lines([f"*--shard {text} is no shard: the second of eight is *2/8."])


def test_options_that_are_about_all_claims_are_refused(suite):
    result = run(suite, "--shard", "1/2", "--family-wise")
    result.stderr.fnmatch_lines(["*--family-wise counts all claims of a session*"])


def test_the_plan_prints_the_partition_and_the_claims_add_up(suite):
    tables = []
    for number in (1, 2, 3):
        result = run(suite, "--shard", f"{number}/3", "--plan")
        text = result.stdout.str()
        rows = re.findall(r"^ *([123]|merge) +(\d+)", text, re.MULTILINE)
        tables.append(dict(rows))
        assert f"shard {number} of 3: {dict(rows)[str(number)]} of 6 claims" in text
    assert tables[0] == tables[1] == tables[2]
    assert sum(map(int, tables[0].values())) == 6


def test_the_partition_does_not_depend_on_what_is_stored(suite):
    before = run(suite, "--shard", "2/3", "--plan", "--store", "store2").stdout.str()
    shard(suite, 2, 3)
    after = run(suite, "--shard", "2/3", "--plan", "--store", "store2").stdout.str()
    table = re.compile(r"^ +(?:[123] +\d+ +\d+ +[\d.]+|merge +\d+)", re.MULTILINE)
    assert len(table.findall(before)) == 4
    assert table.findall(before) == table.findall(after)


@pytest.mark.parametrize("place", ["ledger.toml", "ledger/test_lines.toml"])
def test_nothing_is_trained_twice_and_the_ledger_is_that_of_one_session(suite, place):
    """The bar of sharding: eight shards and one session give the same ledger byte for byte."""
    ledger = suite.path / place
    ledger.parent.mkdir(exist_ok=True)
    run(suite, "--update-ledger", "--store", "whole")
    alone = ledger.read_bytes()
    ledger.unlink()
    places = set()
    for number in range(1, 9):
        result = shard(suite, number, 8, "--update-ledger")
        assert result.ret == 0, result.stdout.str()
        assert not ledger.exists()
        runs = {path.name for path in (suite.path / f"store{number}").glob("runs/*/*")}
        assert not runs & places
        places |= runs
    assert merge([f"{n}.gz" for n in range(1, 9)], "--into", "merged", "--update-ledger") == 0
    assert ledger.read_bytes() == alone


def test_a_shard_without_a_claim_of_its_own_trains_its_part_of_others(suite):
    results = [run(suite, "--shard", f"{n}/8", "--store", f"store{n}") for n in range(1, 9)]
    assert all(result.ret in (0, 1) for result in results)
    line = re.compile(r"^shard . of 8: 0 of 6 claims; .* here: [1-9]", re.MULTILINE)
    without = [result for result in results if line.search(result.stdout.str())]
    assert without
    assert all(result.ret == 0 for result in without)


def test_a_run_that_fails_for_a_claim_of_the_merge_fails_its_shard(suite):
    study = suite.path / "line.py"
    study.write_text(study.read_text().replace("    time.sleep(0)", "    1 / 0"))
    results = [run(suite, "--shard", f"{n}/8", "--store", f"store{n}") for n in range(1, 9)]
    shown = "".join(result.stdout.str() for result in results)
    assert "is judged by the merge, and lacks a run of this shard: " in shown
    assert all(result.ret == 1 for result in results if "lacks a run" in result.stdout.str())


def test_a_merge_wants_every_shard_of_one_partition_once(suite, capsys):
    for number in (1, 2):
        shard(suite, number, 2)
    assert merge(["1.gz"], "--into", "merged") == 1
    assert "Shard 2 of 2 is missing" in capsys.readouterr().err
    (suite.path / "again.gz").write_bytes((suite.path / "1.gz").read_bytes())
    assert merge(["1.gz", "again.gz", "2.gz"], "--into", "merged") == 1
    assert "Shard 1 of 2 is there twice" in capsys.readouterr().err
    evidence("pack", "all.gz", ".", "--store", "store1")
    assert merge(["1.gz", "all.gz"], "--into", "merged") == 1
    assert "all.gz is not the file of a shard" in capsys.readouterr().err
    evidence("pack", "k.gz", ".", "-k", "several", "--shard", "2/2", "--store", "store2")
    assert merge(["1.gz", "k.gz"], "--into", "merged") == 1
    assert "are of different partitions" in capsys.readouterr().err
    assert not (suite.path / "merged").exists()


def test_a_merge_of_fewer_claims_than_the_shards_fails(suite, capsys):
    for number in (1, 2):
        shard(suite, number, 2)
    (suite.path / "test_lines.py").write_text(CLAIMS.replace("def test_several", "def several"))
    assert merge(["1.gz", "2.gz"], "--into", "merged", "-p", "no:cacheprovider") == 1
    assert "The shards have claims that are not here: 901/several." in capsys.readouterr().out


@pytest.mark.thorough
def test_workers_share_a_shard(suite):
    alone = run_apart(suite, "--shard", "1/2", "--store", "alone")
    together = run_apart(suite, "--shard", "1/2", "--store", "together", "-n", "2")
    assert together.ret == alone.ret
    assert together.parseoutcomes().keys() >= alone.parseoutcomes().keys() - {"deselected"}
    line = next(each for each in alone.outlines if each.startswith("shard 1 of 2:"))
    together.stdout.fnmatch_lines([line])
    runs = [{p.name for p in (suite.path / s).glob("runs/*/*")} for s in ("alone", "together")]
    assert runs[0] == runs[1]
    assert trained(together) == trained(alone)
