"""What the recorder takes for code of a project, for a library, and for neither."""

import ast
import json
import os
import sys
import tempfile
import textwrap

import pytest

import repro
from repro.code import record
from repro.code.record import FACTS, Facts, counts, is_project

URL = "other-1.0.dist-info/direct_url.json"
RECORD = {"other-1.0.dist-info/RECORD": "other/__init__.py,sha256=1,2\nother/a.py,,\n"}
INSTALLED = {  # what an installer left beside a package, and whether that is code of a project
    "by a record": (RECORD, False),
    "by an egg": ({"other.egg-info/installed-files.txt": "../other/__init__.py\n"}, False),
    "from a folder": ({**RECORD, URL: {"url": "file:///tmp", "dir_info": {}}}, True),
    "a folder that is gone": ({**RECORD, URL: {"url": "file:///x", "dir_info": {}}}, False),
    "from version control": ({**RECORD, URL: {"url": "https://x", "vcs_info": {}}}, True),
    "from an archive": ({**RECORD, URL: {"url": "https://x", "archive_info": {}}}, False),
    "without a readable origin": ({**RECORD, URL: "{"}, False),
}


@pytest.mark.parametrize("how", INSTALLED)
def test_a_library_is_what_an_index_provides(tmp_path, how):
    infos, is_of_project = INSTALLED[how]
    for name, text in {**infos, "other/__init__.py": ""}.items():
        (tmp_path / "site-packages" / name).parent.mkdir(parents=True, exist_ok=True)
        content = text if isinstance(text, str) else json.dumps(text)
        (tmp_path / "site-packages" / name).write_text(content)
    assert is_project(str(tmp_path / "site-packages/other/__init__.py")) == is_of_project


def test_of_repro_counts_what_trains():
    inside = os.path.dirname(repro.__file__)
    counted = {"core/train.py", "studies/depth_ladder/arms.py", "data/files.py", "own/arm.py"}
    for name in (*counted, "arm.py", "recipe.py"):
        assert is_project(os.path.join(inside, name))
    for name in ("plugin/plugin.py", "judge/judge.py", "runs/queue.py", "code/record.py"):
        assert not is_project(os.path.join(inside, name))


def test_files_of_machines_stores_caches_and_the_run_itself_do_not_count(tmp_path, monkeypatch):
    project = os.path.join(tmp_path, "project")
    options = {"project": project, "store": f"{project}/results"}
    monkeypatch.setattr(record, "_options", {**record._options, **options})
    monkeypatch.setitem(FACTS.written, f"{project}/out", None)
    for path in (f"{project}/a.csv", f"{project}/deep/.env", "/data/a.csv", "/srv/b.py"):
        assert counts(path), path
    for path in (
        *(f"{project}/.git/HEAD", f"{project}/__pycache__/a.pyc", f"{project}/.venv/x/a.py"),
        *(f"{project}/results/runs/a.json", f"{project}/out", f"{project}/out/model.pt"),
        *("/proc/self/stat", "/usr/share/zoneinfo/UTC", "/dev/null", json.__file__),
        *(f"{tempfile.gettempdir()}/x", pytest.__file__, "relative.py"),
        f"{sys.prefix}/bin/python",
    ):
        assert not counts(path), path


def test_marks_tell_what_ran_and_change_neither_lines_nor_results(monkeypatch):
    monkeypatch.setattr(record, "FACTS", facts := Facts())
    text = textwrap.dedent('''
        """Doc."""
        from __future__ import annotations
        class K:
            def m(self):
                """Only this."""
            def n(self): return [x for x in self.m.__doc__]
        def outer():
            """Doc."""
            def inner(): raise ValueError
            return inner
        async def never(): pass
    ''')
    tree = ast.parse(text)
    facts.functions["toy.py"] = record._mark(tree, "toy.py")
    facts.marks["toy.py"] = [False] * len(facts.functions["toy.py"])
    space = {"__name__": "toy"}
    exec(compile(tree, "toy.py", "exec"), space)
    assert facts.ran("toy.py") == []
    assert "".join(space["K"]().n()) == "Only this."
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        space["outer"]()()
    inner = "    def inner(): raise ValueError"
    assert raised.traceback[-1].lineno == text.splitlines().index(inner)
    assert space["outer"].__doc__ == space["__doc__"] == "Doc."
    assert facts.ran("toy.py") == ["K.n", "outer", "outer.<locals>.inner"]
    facts.files["toy.py"] = None  # whose source was read
    assert facts.ran("toy.py") is None


def test_what_is_kept_beside_bytecode_is_made_anew_for_another_text_or_where_it_is_damaged(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    made = []

    def kept(key="text"):
        return record.remembered("test", str(tmp_path / "a.py"), key, lambda: made.append(1) or 7)

    assert kept() == kept() == 7
    assert len(made) == 1
    [path] = (tmp_path / "__pycache__").iterdir()
    usual = path.read_bytes()
    for content in (b"", usual[:32], usual[:-1] + b"?", b"?" + usual[1:]):
        path.write_bytes(content)
        assert kept() == 7
        assert path.read_bytes() == usual
    kept("other text")
    assert len(made) == 6
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("")  # nothing can be written there
    assert kept() == kept() == 7
    assert len(made) == 8


def test_a_copy_of_all_variables_reads_none_by_name_and_a_part_of_one_does(monkeypatch):
    values = {"FIRST": "1", "SECOND": "2"}
    found = os._Environ(dict(values), str, str, str, str)
    found.__class__ = record._Variables

    def read(use):
        monkeypatch.setattr(record, "FACTS", facts := Facts())
        monkeypatch.setattr(record, "environment", values)
        use()
        record.note_reads()
        return list(facts.variables)

    assert read(lambda: (dict(found), {**found}, list(found))) == []
    assert read(lambda: (list(found), found["FIRST"])) == ["FIRST"]
    assert read(lambda: [found[x] for x in found if x == "FIRST"]) == ["FIRST"]
    assert read(lambda: (list(found), found.get("SECOND"), found.get("FIRST"))) == [
        "SECOND",
        "FIRST",
    ]


def test_variables_of_a_machine_and_those_that_training_sets_do_not_count(monkeypatch):
    monkeypatch.setattr(record, "FACTS", facts := Facts())
    known = {"GAIN": "1", "SLURM_JOB_ID": "7", "HOME": "/root", "LATER": "then"}
    monkeypatch.setattr(record, "environment", known)

    def read(name):  # by code of a project, as this file is
        record._read(name, {**known, "LATER": "now"}.get(name))
        record.note_reads()

    for name in (*known, "MISSING"):
        read(name)
    assert facts.variables == {"GAIN": "1", "MISSING": None}
