"""The example of an agent that decides by exit codes alone, as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOOP = ROOT / "examples" / "keep_or_discard" / "loop.py"


@pytest.mark.thorough
def test_thirty_edits_are_decided_rightly_by_exit_codes_alone(tmp_path):
    done = subprocess.run(
        [sys.executable, LOOP], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 30
    for line in lines:
        name, said = line[:14].strip(), line[14:]
        right = "discarded"
        if name.startswith("better"):
            right = "kept"
        elif name in ("crash", "hang", "diverges"):
            right = "reverted, no answer (3)"
        assert said.startswith(right), line
    named = {line[:14].strip() for line in lines}
    assert named >= {"no-op", "lucky seed", "better rate", "crash", "hang"}


TRAIN = """
import random, sys
draw = random.Random(int(sys.argv[sys.argv.index("--seed") + 1]))
print('{"val_bpb": %.6f}' % (MEAN + 0.001 * draw.gauss(0, 1)))
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("edit", "kept"),
    [("MEAN = 0.98", True), ("MEAN = 1.0 + 0", False), ("MEAN = 1 / 0", False)],
)
def test_the_loop_of_the_skill_goes_as_it_is_written(tmp_path, edit, kept):
    skill = (ROOT / "repro" / "skill" / "SKILL.md").read_text()
    [loop] = re.findall(r"```sh\n(code=2; .*?)```", skill, re.DOTALL)
    assert len(loop.splitlines()) <= 10
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        **{
            f"GIT_{who}_{what}": "a@b"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }

    def shell(command):
        return subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    (tmp_path / "train.py").write_text(f"MEAN = 1.0{TRAIN}")
    assert shell("git init -q && git add -A && git commit -qm first").returncode == 0
    shell("for seed in $(seq 12); do python train.py --seed $seed; done > baseline.jsonl")
    (tmp_path / "train.py").write_text(f"{edit}{TRAIN}")
    done = shell(loop)
    assert done.returncode == 0, done.stderr
    assert (edit in (tmp_path / "train.py").read_text()) is kept
    assert ("Keep" in shell("git log --oneline").stdout) is kept
