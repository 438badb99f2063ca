"""Commands as studies: what they are given, what is read of them, and how they end."""

import sys
import time
from dataclasses import dataclass
from typing import ClassVar

import pytest

from repro.arm import Metric, Needs, Run
from repro.backends.trainer import train_batch
from repro.own.arm import OutsideArm
from repro.own.command import CommandStudy
from repro.studies import study_of
from tests.own.kept import Kept


@dataclass(frozen=True, kw_only=True)
class Script(OutsideArm):
    study: ClassVar[str] = "tests.own.test_own_command"
    metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds")}
    lr: float = 0.1
    epochs: int = 2
    data: str = "none"


@dataclass(frozen=True, kw_only=True)
class Two(Script):
    metrics: ClassVar[dict[str, Metric]] = {
        "accuracy": Metric("log-odds"),
        "f1": Metric("identity"),
    }


STUDY = CommandStudy("python -c pass")
pytestmark = pytest.mark.thorough


@pytest.fixture
def train(tmp_path):
    """Train a run by a Python script that is given."""

    def train(script, arguments="", arm=None, **options):
        file = tmp_path / "script.py"
        file.write_text(script)
        study = CommandStudy(f"python {file} {arguments}", **options)
        (done,) = study.training([Run(arm or Script(), 7)], Kept(tmp_path / "run"))
        return done.values

    return train


@dataclass(frozen=True, kw_only=True)
class Flagged(Script):
    nesterov: bool = False


def test_a_setting_that_is_true_adds_its_flag(train):
    script = "import sys; print(float('--nesterov' in sys.argv))"
    for on in (True, False):
        found = train(script, arm=Flagged(nesterov=on), flags={"nesterov": "--nesterov"})
        assert found["measures"] == {"accuracy": float(on)}


def test_measures_are_read_of_what_it_prints(train):
    script = "import sys; print('begun'); print(float(sys.argv[1]) + int(sys.argv[2]))"
    assert train(script, "{lr} {seed}")["measures"] == {"accuracy": 7.1}
    script = 'print(\'{"accuracy": 0.5, "f1": 0.25, "name": "x"}\'); print()'
    assert train(script, arm=Two())["measures"] == {"accuracy": 0.5, "f1": 0.25}
    script = "print('test accuracy: 0.25'); print('test accuracy: 0.5'); print('done')"
    found = train(script, pattern=r"test accuracy: (?P<accuracy>[\d.]+)")
    assert found["measures"] == {"accuracy": 0.5}  # the last match counts


def test_a_json_file_is_read_where_it_was_written_now(train, tmp_path):
    file = tmp_path / "run" / "files" / "found.json"
    script = "import sys; open(sys.argv[1] + '/found.json', 'w').write('{\"accuracy\": 0.5}')"
    found = train(script, "{folder}", json_file="{folder}/found.json")
    assert found["measures"] == {"accuracy": 0.5}
    assert file.exists()
    with pytest.raises(ValueError, match=r"found\.json holds no JSON that can be read"):
        train("print(0.5)", json_file="{folder}/found.json")


def test_lines_of_epochs_are_curves(train):
    script = "for n in (1, 2): print(f'epoch {n}: loss {1 / n}')\nprint(0.5)"
    found = train(script, epoch=r"epoch (?P<number>\d+): loss (?P<loss>[\d.]+)")
    assert found["history"] == {"loss": [1.0, 0.5]}


def test_it_runs_in_the_folder_of_its_study_by_this_python_with_its_environment(train):
    script = "import os, sys; assert os.path.isfile('test_own_command.py')\n"
    script += "assert sys.executable == sys.argv[1]\n"
    script += "print(int(os.environ['OMP_NUM_THREADS']) + int(os.environ['MINE']) / 4)"
    found = train(script, sys.executable, environment={"MINE": "2"})
    assert found["measures"] == {"accuracy": 1.5}


WRONG = [
    ("print('fine')", "", {}, "the last line that it printed is 'fine'; let it print a number"),
    ("", "", {}, "the last line that it printed is ''"),
    ("import sys; sys.exit(3)", "", {}, "script.py ended with status 3"),
    (
        "print(1)",
        "--rate {rate}",
        {},
        r"'{rate}' names a setting that the arm does not have \('rate'\)",
    ),
    ("print(1)", "", {"pattern": "acc=(?P<accuracy>.)"}, "no line that it printed matches"),
    ("print('{}')", "", {}, r"also declares \['accuracy'\]"),
    ("print('nan')", "", {"pattern": "(?P<accuracy>nan)"}, "accuracy=nan, which cannot be"),
]


def test_what_goes_wrong_is_said(train):
    for script, arguments, options, sentence in WRONG:
        with pytest.raises((ValueError, RuntimeError), match=sentence):
            train(script, arguments, **options)


def test_one_place_to_read_measures_from_which_no_other_run_writes_to():
    with pytest.raises(ValueError, match="reads a pattern or a json_file; give one"):
        CommandStudy("true", pattern="x", json_file="{folder}/y")
    for shared in ("y.json", "{seed}.json", "/tmp/{{folder}}/y.json", "{folder}.json"):
        with pytest.raises(ValueError, match="would be shared by runs that are trained at once"):
            CommandStudy("true", json_file=shared)


@dataclass(frozen=True, kw_only=True)
class Several(Script):
    layers: tuple[int, ...] = (64, 32)


def test_a_setting_of_several_values_is_several_words_or_has_commas(train):
    for layers, words in (
        ((64, 32), ["64", "32", "--l=64,32", "64", "0.1"]),
        ((8,), ["8", "--l=8", "8", "0.1"]),
    ):
        script = f"import sys; print(float(sys.argv[1:] == {words}))"
        found = train(script, "{layers} --l={layers} {layers[0]} {lr}", Several(layers=layers))
        assert found["measures"] == {"accuracy": 1.0}, layers


def test_one_that_takes_too_long_is_ended_with_all_that_it_started(train):
    began = time.monotonic()
    script = "import subprocess; subprocess.run(['sleep', '60'])"
    with pytest.raises(TimeoutError, match=r"script\.py took longer than 1 seconds"):
        train(script, timeout=1)
    assert time.monotonic() - began < 30


def test_what_it_printed_is_shown_where_it_fails(tmp_path, monkeypatch):
    file = tmp_path / "script.py"
    file.write_text("import sys; print('epoch 1'); sys.exit('no such data')")
    monkeypatch.setattr(study_of(Script()), "words", ["python", str(file)])
    (event,) = train_batch(
        [Run(Script(), 1)], engine="loop", device="cpu", files=Kept(tmp_path / "run")
    )
    assert "script.py ended with status 1" in event.why
    assert "It had printed:\nepoch 1\nno such data\n" in event.details


def test_a_file_that_an_arm_names_is_a_setting(tmp_path, monkeypatch):
    @dataclass(frozen=True, kw_only=True)
    class Scripted(OutsideArm):
        study: ClassVar[str] = "scripted"
        reads: ClassVar[tuple[str, ...]] = ("data/weights.bin",)
        data: str = "points"

    (tmp_path / "scripted.py").touch()
    (tmp_path / "data").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Needs, match=r"weights\.bin, which Scripted names in `reads`"):
        Scripted().given()
    (tmp_path / "data/weights.bin").write_text("1")
    before = Scripted().given()
    assert before["reads"].keys() == {"data/weights.bin"}
    (tmp_path / "data/weights.bin").write_text("-1")
    assert Scripted().given() != before
