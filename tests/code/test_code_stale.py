"""Each way by which code or data reaches a training: an edit of it is seen, and no other edit is.

A row is a small project, whose `study.py` has `train`, and one edit of it. The project is trained
in a fork that is recorded. After the edit its trace is compared in another one.
"""

import json
import os
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from repro.code import record
from repro.code import trace as trace_module
from repro.code.trace import TRACER, Today

STUDY = "study.py"
CHILD = "import subprocess, sys\ndef train(): return subprocess.check_output([sys.executable, {}])"
FORK = """
    import multiprocessing
    from work import f
    def train():
        with multiprocessing.get_context({!r}).Pool(1) as pool:
            return pool.map(f, [1])
"""


MAIN = "if __name__ == '__main__':\n {}"
LOAD = """from importlib.util import *
def load(path):
    s = spec_from_file_location('any', path); m = module_from_spec(s); s.loader.exec_module(m)
    return m
"""


@dataclass
class Row:
    """A project, and one edit: a file, what stands there (None for a new file), and what comes."""

    edit: tuple[str, str | None, str]
    study: str
    files: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    """The variables that are set when it is trained, and when it is compared."""


def lib(study, text, old="1", new="2", name="lib.py", **more):
    return Row((name, old, new), study, {name: text, **more})


def here(study, old, new):
    return Row((STUDY, old, new), study)


def variable(expression):
    study = f"import os\ndef train(): return {expression}"
    return Row((STUDY, None, ""), study, {}, {"GAIN": "1"}, {"GAIN": "2"})


SEEN = {
    "a method by a computed name": here(
        "class T:\n def do_plus(self): return 1\n"
        "def train(): return getattr(T(), 'do_' + 'plus')()",
        "return 1",
        "return -1",
    ),
    "a class that registers itself": lib(
        "import lib\nfrom base import KNOWN\ndef train(): return KNOWN['a']().gain()",
        "from base import B\nclass X(B, name='a'):\n def gain(self): return 1",
        **{"base.py": "KNOWN = {}\nclass B:\n def __init_subclass__(cls, name): KNOWN[name] = cls"},
    ),
    "a class that a metaclass registers": lib(
        "import lib\nfrom base import KNOWN\ndef train(): return KNOWN['X'].gain",
        "from base import M\nclass X(metaclass=M):\n gain = 1",
        **{
            "base.py": "KNOWN = {}\nclass M(type):\n def __new__(m, n, b, d):\n"
            "  KNOWN[n] = c = type.__new__(m, n, b, d)\n  return c"
        },
    ),
    "a file that is read at import": lib(
        "import json\nC = json.load(open('c.json'))\ndef train(): return C['x']",
        '{"x": 1}',
        name="c.json",
    ),
    "runpy, by path": lib(
        "import runpy\ndef train(): return runpy.run_path('lib.py')['V']", "V = 1"
    ),
    "runpy, by name": lib(
        "import runpy\ndef train(): return runpy.run_module('lib')['f']()", "def f(): return 1"
    ),
    "a module of a file": lib(
        "from importlib.util import *\ndef train():\n"
        " s = spec_from_file_location('any', 'in/x.py'); m = module_from_spec(s)\n"
        " s.loader.exec_module(m); return m.f()",
        "def f(): return 1",
        name="in/x.py",
    ),
    "a namespace package": lib(
        "import ns.impl\ndef train(): return ns.impl.f()", "def f(): return 1", name="ns/impl.py"
    ),
    "a relative import": lib(
        "from pk.a import f\ndef train(): return f()",
        "V = 1",
        name="pk/b.py",
        **{"pk/__init__.py": "", "pk/a.py": "from .b import V\ndef f(): return V"},
    ),
    "the top of a package": lib(
        "import pk.a\ndef train(): return pk.a.f()",
        "K = 1",
        name="pk/__init__.py",
        **{"pk/a.py": "import pk\ndef f(): return pk.K"},
    ),
    "a script": lib(CHILD.format("'lib.py'"), "print(1)"),
    "a module as a script": lib(CHILD.format("'-m', 'lib'"), "print(1)"),
    "what a script imports by a name": lib(
        CHILD.format("'a.py'"),
        "def f(): return 1",
        **{"a.py": "import importlib\nprint(importlib.import_module('l' + 'ib').f())"},
    ),
    "what a script reads": lib(
        CHILD.format("'a.py'"), "x: 1", name="conf/a.yaml", **{"a.py": "open('conf/a.yaml')"}
    ),
    "a variable of a script": Row(
        (STUDY, None, ""),
        CHILD.format("'a.py'"),
        {"a.py": "import os\nprint(os.environ.get('GAIN'))"},
        {"GAIN": "1"},
        {"GAIN": "2"},
    ),
    "a script of a script": lib(
        CHILD.format("'a.py'"),
        "def f(): return 1",
        **{
            "a.py": "import subprocess, sys\nsubprocess.check_output([sys.executable, '-m', 'b'])",
            "b.py": "import lib\nprint(lib.f())",
        },
    ),
    "a script of a shell": lib(
        "import subprocess, sys\ndef train():\n"
        " subprocess.check_output(sys.executable + ' -m lib', shell=True)",
        "print(1)",
    ),
    "a script that ends at once": lib(
        CHILD.format("'-m', 'b'"),
        "def f(): return 1",
        **{"b.py": "import lib, os\nprint(lib.f(), flush=True)\nos._exit(0)"},
    ),
    "a process that is spawned": lib(FORK.format("spawn"), "def f(x): return 1", name="work.py"),
    "a process that is forked": lib(FORK.format("fork"), "def f(x): return 1", name="work.py"),
    "what a fork reads": lib(
        FORK.format("fork"),
        "1",
        name="d.txt",
        **{"work.py": "def f(x): return open('d.txt').read()"},
    ),
    "what a fork imports": lib(
        FORK.format("fork"),
        "V = 1",
        **{"work.py": "def f(x):\n import lib\n return lib.V"},
    ),
    "a variable": Row(
        (STUDY, None, ""), "import os\ndef train(): return os.getenv('GAIN')", {}, {}, {"GAIN": "2"}
    ),
    "a thread": lib(
        "import threading\nfrom lib import f\ndef train():\n"
        " t = threading.Thread(target=f); t.start(); t.join()",
        "def f(): return 1",
    ),
    "a generator": lib("from lib import g\ndef train(): return list(g())", "def g(): yield 1"),
    "a coroutine": lib(
        "import asyncio\nfrom lib import g\ndef train(): return asyncio.run(g())",
        "async def g(): return 1",
    ),
    "a closure": here(
        "def make(k):\n def inner(x): return x * k\n return inner\nF = make(3)\n"
        "def train(): return F(2)",
        "x * k",
        "x - k",
    ),
    "a descriptor": here(
        "class D:\n def __get__(self, o, t): return 1\nclass C: d = D()\ndef train(): return C().d",
        "return 1",
        "return 2",
    ),
    "a partial": here(
        "from functools import partial\ndef f(a, b): return a - b\nG = partial(f, 1)\n"
        "def train(): return G(2)",
        "f, 1",
        "f, 5",
    ),
    "a star import": lib("from lib import *\ndef train(): return V", "V = 1"),
    "a dispatched function": here(
        "from functools import singledispatch\n@singledispatch\ndef f(x): return 0\n"
        "@f.register\ndef _(x: int): return 1\ndef train(): return f(2)",
        "x: int",
        "x: str",
    ),
    "a late update": here("D = {}\nD.update(a=1)\ndef train(): return D['a']", "a=1", "a=2"),
    "an alias by a computed name": here(
        "class C:\n def m(self): return 1\n n = m\ndef train(): return getattr(C(), chr(110))()",
        "return 1",
        "return 2",
    ),
    "a global by a computed name": here(
        "G_A = 1\ndef train(): return globals()['G_' + 'A']", "G_A = 1", "G_A = 2"
    ),
    "all members of a class": here(
        "class Config:\n lr = 1\ndef train(): return dict(vars(Config))['l' + 'r']",
        "lr = 1",
        "lr = 2",
    ),
    "a module that is handed on": lib(
        "import lib\ndef pick(m, k): return getattr(m, 'gain_' + k)\n"
        "def train(): return pick(lib, 'a')",
        "gain_a = 1",
    ),
    "a name of any module": lib(
        "import lib, sys\ndef train(): return getattr(sys.modules['lib'], 'gain_' + 'a')",
        "gain_a = 1",
    ),
    "a call that registers": here(
        "R = []\ndef register(f): R.append(f)\n_ = register(len)\ndef train(): return R[0]",
        "register(len)",
        "register(min)",
    ),
    "an attribute of a module": lib(
        "import lib\ndef train(): return lib.any", "def __getattr__(n): return 1"
    ),
    "a function of a pickle": lib(
        "import pickle\ndef train(): return pickle.load(open('o.pkl', 'rb'))()",
        "def f(): return 1",
        **{"o.pkl": "clib\nf\n."},
    ),
    "the source of a function": lib(
        "import inspect, lib\ndef train(): return len(inspect.getsource(lib.f))",
        "def f(): return 1",
        "1",
        "100",
    ),
    "a function that is cached": lib(
        "from functools import cache\nfrom lib import base\n@cache\ndef f(): return base()\nf()\n"
        "def train(): return f()",
        "def base(): return 1",
    ),
    "text that is executed": lib(
        "def train():\n d = {}\n exec(open('code.txt').read(), d)\n return d['f']()",
        "def f(): return 1",
        name="code.txt",
    ),
    "a default": here("def f(x, k=1): return x * k\ndef train(): return f(2)", "k=1", "k=2"),
    "a decorator's argument": here(
        "def scale(k):\n def d(f): return lambda x: f(x) * k\n return d\n"
        "@scale(2)\ndef f(x): return x\ndef train(): return f(2)",
        "scale(2)",
        "scale(3)",
    ),
    "an annotation that a decorator reads": here(
        "def deco(f): return f.__annotations__['x']\n@deco\ndef g(x: 1): return 0\n"
        "def train(): return g",
        "x: 1",
        "x: 2",
    ),
    "another import": Row(
        (STUDY, "from a", "from b"),
        "from a import V\ndef train(): return V",
        {"a.py": "V = 1", "b.py": "V = 2"},
    ),
    "another import in a function": Row(
        (STUDY, "from a", "from b"),
        "def train():\n from a import V\n return V",
        {"a.py": "V = 1", "b.py": "V = 2"},
    ),
    "another import in a class": Row(
        (STUDY, "from a", "from b"),
        "class C:\n from a import V\ndef train(): return C.V",
        {"a.py": "V = 1", "b.py": "V = 2"},
    ),
    "another import in a class, renamed": Row(
        (STUDY, "import a", "import b"),
        "class C:\n import a as x\ndef train(): return C.x.V",
        {"a.py": "V = 1", "b.py": "V = 2"},
    ),
    "a name bound once more": Row(
        (STUDY, "import V\n", "import V\nV = 2\n"),
        "from a import V\ndef train(): return V",
        {"a.py": "V = 1"},
    ),
    "the order of statements": here(
        "A = 1\nB = A\nA = 2\ndef train(): return B", "A = 1\nB = A\nA = 2", "A = 1\nA = 2\nB = A"
    ),
    "the order of calls": here(
        "import itertools\nC = itertools.count()\nX = next(C)\nY = next(C)\ndef train(): return X",
        "X = next(C)\nY = next(C)",
        "Y = next(C)\nX = next(C)",
    ),
    "a global that a function sets": here(
        "K = 1\ndef set_k():\n global K\n K = 2\nset_k()\ndef train(): return K", " K = 2", " K = 3"
    ),
    "a setter": here(
        "class C:\n @property\n def x(self): return self._x\n @x.setter\n"
        " def x(self, v): self._x = v * 2\ndef train():\n c = C(); c.x = 1; return c.x",
        "v * 2",
        "v * 3",
    ),
    "a module before another of its name": Row(
        ("front/lib.py", None, "V = 2"),
        "import lib\ndef train(): return lib.V",
        {"lib.py": "V = 1"},
    ),
    "a module that was missing": Row(
        ("fast.py", None, "V = 2"),
        "try:\n import fast\nexcept ImportError: fast = None\ndef train(): return fast",
    ),
    "a file that was missing": Row(
        ("over.json", None, "2"),
        "def train():\n try: return open('over.json').read()\n except OSError: return 1",
    ),
    "a file more in a folder": Row(
        ("parts/b.txt", None, "2"),
        "import glob\ndef train(): return sorted(glob.glob('parts/*.txt'))",
        {"parts/a.txt": ""},
    ),
    "an array": lib(
        "import numpy\ndef train(): return numpy.load('a.npy').sum()", "", name="a.npy"
    ),
    "a file of two names": lib(
        LOAD + "def train():\n a = load('in/x.py'); load('in/x.py'); return a.f()",
        "def f(): return 1",
        name="in/x.py",
    ),
    "a name of two files": lib(
        LOAD + "def train(): return load('in/x.py').f(), load('in/y.py').f()",
        "def f(): return 1",
        name="in/x.py",
        **{"in/y.py": "def f(): return 3"},
    ),
    "a module that is loaded again": lib(
        "import importlib, lib\ndef train():\n v = lib.f(); importlib.reload(lib); return v",
        "def f(): return 1",
    ),
    "a module that a loader changes": lib(
        "from importlib.machinery import SourceFileLoader as S\nclass L(S):\n"
        " def source_to_code(self, t, path): return compile(t.replace(b'V', b'W'), path, 'exec')\n"
        "def train():\n d = {}; exec(L('any', 'in/x.py').get_code('any'), d); return d['W']()",
        "def V(): return 1",
        name="in/x.py",
    ),
    "the block of a script": lib(CHILD.format("'lib.py'"), MAIN.format("print(1)")),
    "the block of a module as a script": lib(CHILD.format("'-m', 'lib'"), MAIN.format("print(1)")),
    "the block of a path": lib(
        "import runpy\ndef train(): return runpy.run_path('lib.py', run_name='__main__')",
        MAIN.format("V = 1"),
    ),
    "the block of a name": lib(
        "import runpy\ndef train(): return runpy.run_module('lib', run_name='__main__')",
        MAIN.format("V = 1"),
    ),
    "a block of what is imported": here(
        "if __name__ != '__main__':\n K = 1\ndef train(): return K", "K = 1", "K = 2"
    ),
    "a field of a class in a function": here(
        "from dataclasses import *\nfrom typing import ClassVar\ndef train():\n"
        " @dataclass\n class C:\n  x: int = 1\n return [f.name for f in fields(C)]",
        "x: int",
        "x: ClassVar[int]",
    ),
    "a text that calls": here(
        "N = []\ndef train():\n f'{N.append(1)}'\n return len(N)", "N.append(1)", "N.clear()"
    ),
    "a constant of a script": lib(
        CHILD.format("'a.py'"), "LR = 1", **{"a.py": "import lib\nprint(lib.LR)"}
    ),
    "a constant of a path": lib(
        "import runpy\ndef train(): runpy.run_path('a.py')",
        "LR = 1",
        **{"a.py": "from lib import LR\nprint(LR)"},
    ),
    "a constant of code as text": lib(CHILD.format("'-c', 'import lib; print(lib.V)'"), "V = 1"),
    "a script without its variables": lib(
        "import subprocess, sys\n"
        "def train(): return subprocess.check_output([sys.executable, 'a.py'], env={})",
        "def f(): return 1",
        **{"a.py": "import lib\nprint(lib.f())"},
    ),
    "a script with another path": lib(
        "import os, subprocess, sys\ndef train():\n"
        " env = {**os.environ, 'PYTHONPATH': 'libs'}\n"
        " return subprocess.check_output([sys.executable, '-m', 'lib'], env=env)",
        "print(1)",
        name="libs/lib.py",
    ),
    "a script on its own": lib(
        CHILD.format("'-I', 'a.py'"),
        "def f(): return 1",
        **{"a.py": "import sys\nsys.path.append('.')\nimport lib\nprint(lib.f())"},
    ),
    "a function of a test's name": here(
        "def test(x, k=1): return x * k\ndef train(): return test(2)", "k=1", "k=2"
    ),
    "a method of a test's name": here(
        "class tester:\n def run(self, k=1): return k\ndef train(): return tester().run()",
        "k=1",
        "k=2",
    ),
    "a test that is registered": here(
        "R = []\ndef register(k): return lambda f: R.append(k)\n@register(1)\ndef test_a(): pass\n"
        "def train(): return R",
        "register(1)",
        "register(2)",
    ),
    "operators that register": lib(
        "import lib\nfrom base import SEEN\ndef train(): return len(SEEN)",
        "from base import A\n_ = A >> A",
        "A >> A",
        "A",
        **{"base.py": "SEEN = []\nclass N: __rshift__ = lambda s, o: SEEN.append(o)\nA = N()"},
    ),
    "a module of a package that is handed on": lib(
        "import pk.lib\ndef train(): return getattr(pk.lib, 'gain_' + 'a')",
        "gain_a = 1",
        name="pk/lib.py",
        **{"pk/__init__.py": ""},
    ),
    "a module of a star import": lib(
        "from mid import *\ndef train(): return getattr(lib, 'gain_' + 'a')",
        "gain_a = 1",
        **{"mid.py": "import lib"},
    ),
    "the globals of a function": lib(
        "from lib import f\ndef train(): return f.__globals__['G_' + 'A']",
        "G_A = 1\ndef f(): pass",
    ),
    "the globals of a frame": here(
        "import sys\nG_A = 1\ndef train(): return sys._getframe().f_globals['G_' + 'A']",
        "G_A = 1",
        "G_A = 2",
    ),
    "a name of a module of a file": lib(
        LOAD + "def train(): return getattr(load('lib.py'), 'G_' + 'A')", "G_A = 1"
    ),
    "a name that a library finds": lib(
        "import pydoc\ndef train(): return pydoc.locate(open('c.txt').read())",
        "G_A = 1",
        **{"c.txt": "lib.G_A"},
    ),
    "a variable as bytes": variable("os.environb.get(b'GAIN')"),
    "the variable CI": Row(
        (STUDY, None, ""), "import os\ndef train(): return os.getenv('CI')", {}, {}, {"CI": "true"}
    ),
    "a variable of a chain": variable("__import__('collections').ChainMap(os.environ)['GAIN']"),
    "a variable of a template": variable(
        "__import__('string').Template('$GAIN').substitute(os.environ)"
    ),
    "a shell's script": lib(
        "import os\ndef train(): return os.system('sh ./s.sh')", "exit 1", name="s.sh"
    ),
    "a script in a shell": lib(
        "import subprocess\ndef train(): return subprocess.getoutput('sh ./s.sh')",
        "echo 1",
        name="s.sh",
    ),
    "a script in place of a fork": lib(
        "import os\ndef train():\n p = os.fork()\n"
        " if not p: os.execv('/bin/sh', ['sh', 's.sh'])\n os.waitpid(p, 0)",
        "exit 1",
        name="s.sh",
    ),
    "the data of a program": lib(
        "import subprocess\ndef train(): return subprocess.check_output(['echo', '--data=c.txt'])",
        "1",
        name="c.txt",
    ),
    "a data base": lib(
        "import sqlite3\ndef train(): return sqlite3.connect('d.db').total_changes",
        "1",
        name="d.db",
    ),
    "a map of a file": lib(
        "import numpy\ndef train(): return numpy.memmap('d.bin', 'u1')[0]", "1", name="d.bin"
    ),
    "a file that could be written": lib(
        "import os\ndef train(): return os.read(os.open('d.txt', os.O_RDWR), 9)",
        "1",
        name="d.txt",
    ),
    "a folder by its number": Row(
        ("d/b", None, ""),
        "import os\ndef train(): return os.listdir(os.open('d', os.O_RDONLY))",
        {"d/a": ""},
    ),
    "another target of a link": Row(
        ("link cur", None, "v2"),
        "def train(): return open('cur/a').read()",
        {"v1/a": "1", "v2/a": "2", "link cur": "v1"},
    ),
    "another folder behind a link": Row(
        ("link cur", None, "v2"),
        "import os\ndef train(): return os.listdir('cur')",
        {"v1/a": "", "v2/b": "", "link cur": "v1"},
    ),
}

USUAL = '''
    """Doc."""
    import os
    from lib import f
    RATE = 1
    UNUSED = 2
    def never(): return 3
    class K:
        def n(self): return 4
    def train():
        """Doc."""
        if RATE < 0: raise ValueError(f"bad {RATE}")
        found: list[int] = [f()]
        return found[0] * RATE
    if __name__ == "__main__": print(5)
'''
NOT_SEEN = {
    "a comment": ("import os", "import os  # for nothing"),
    "a docstring": ('"""Doc."""\n    import', '"""Other."""\n    import'),
    "a message": ("bad {RATE}", "worse {RATE}"),
    "a constant that nobody uses": ("UNUSED = 2", "UNUSED = 3\n    NEW = 4"),
    "a function that did not run": ("return 3", "return 33"),
    "a method that did not run": ("return 4", "return 44"),
    "what runs only as a script": ("print(5)", "print(6)"),
    "an import of a library": ("import os", "import os\n    import math"),
    "the order of imports": (
        "import os\n    from lib import f",
        "from lib import f\n    import os",
    ),
    "an annotation": ("list[int]", "list[float]"),
}


def in_fork(folder, work: Callable[[], object], variables):
    """Return what a function returns in a fork that finds the project in a folder."""
    reading, writing = os.pipe()
    if (number := os.fork()) == 0:
        try:
            sys.dont_write_bytecode = False  # as it is for users
            os.environ.pop("CI", None)  # which a row sets, and so does whatever runs these tests
            os.environ.update(variables)
            os.chdir(folder)
            sys.path[:0] = [str(folder / "front"), str(folder)]
            text = json.dumps(work())
        except BaseException as error:
            text = json.dumps(repr(error))
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        found = json.loads(file.read())
    os.waitpid(number, 0)
    return found


def trace_of(folder, variables):
    def work():
        record.COUNTED = frozenset()  # the project's code alone, which is quicker
        trace_module._Texts.unrecorded = lambda texts, known: ()  # and not that of these tests
        record._has_libraries.cache_clear()
        TRACER._before.clear()  # of other tests in this process
        made = folder / ".repro/tmp"
        record.start(project=str(folder), store=str(folder / ".repro"), folder=str(made))
        import study

        study.train()
        return TRACER.trace(arms=[])

    (folder / ".repro/tmp").mkdir(parents=True, exist_ok=True)
    return in_fork(folder, work, variables)


def changes(folder, trace, variables):
    return in_fork(folder, lambda: Today(folder).changes(trace, digest=""), variables)


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".npy"):
            np.save(path, np.arange(3))
        elif name.startswith("link "):
            place = folder / name.removeprefix("link ")
            place.unlink(missing_ok=True)
            place.symlink_to(text)
        else:
            path.write_text(textwrap.dedent(text))


@pytest.mark.parametrize("how", SEEN)
def test_an_edit_of_what_a_training_used_is_seen(tmp_path, how):
    row = SEEN[how]
    write(tmp_path, {STUDY: row.study, **row.files})
    trace = trace_of(tmp_path, row.before)
    assert changes(tmp_path, trace, row.before) == []
    name, old, new = row.edit
    path = tmp_path / name
    if name.endswith(".npy"):
        np.save(path, np.arange(4))
    elif old is not None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
    elif name != STUDY:
        write(tmp_path, {name: new})
    assert changes(tmp_path, trace, row.after)


def test_an_edit_that_leaves_time_and_size_is_what_runs(tmp_path):
    study = "from lib import f\ndef g(): pass\ndef h(): pass\ndef train(): return [g, h][f()]()"
    for value, ran in (("0", "g()"), ("1", "h()")):
        write(tmp_path, {STUDY: study, "lib.py": f"def f(): return {value}"})
        os.utime(tmp_path / "lib.py", (1, 1))
        units = trace_of(tmp_path, {})["modules"]["study"]
        assert units.keys() & {"g()", "h()"} == {ran}


def test_a_file_that_is_edited_while_it_trains_holds_never_again(tmp_path):
    study = "import subprocess\ndef train():\n open('d').read(); subprocess.run(['sh', 's.sh'])"
    write(tmp_path, {STUDY: study, "d": "1", "s.sh": "echo 22 > d"})
    assert changes(tmp_path, trace_of(tmp_path, {}), {}) == ["d"]


def test_a_file_that_is_read_and_then_written_counts_as_it_was(tmp_path):
    study = "def train():\n n = open('n').read(); open('n', 'w').write(n + '1')"
    write(tmp_path, {STUDY: study, "n": "1"})
    trace = trace_of(tmp_path, {})
    assert changes(tmp_path, trace, {}) == ["n"]
    write(tmp_path, {"n": "1"})
    assert changes(tmp_path, trace, {}) == []


def test_what_one_process_writes_and_another_reads_is_no_input(tmp_path):
    study = (
        "import subprocess, sys\ndef train():\n"
        " for name in 'ab': subprocess.check_output([sys.executable, name + '.py'])"
    )
    files = {"a.py": "open('w', 'w').write('1')", "b.py": "open('w').read()"}
    write(tmp_path, {STUDY: study, **files})
    trace = trace_of(tmp_path, {})
    assert "project:w" not in trace.get("files", {})
    (tmp_path / "w").unlink()
    assert changes(tmp_path, trace, {}) == []


def test_a_script_with_another_path_takes_part_in_the_record(tmp_path):
    path = "import os, subprocess, sys\nMORE = {**os.environ, 'PYTHONPATH': 'libs'}\n"
    run = "def train(): return subprocess.check_output([sys.executable, '-m', 'lib'], env=MORE)"
    write(tmp_path, {STUDY: path + run, "libs/lib.py": "print(1)", "other.py": "V = 1"})
    trace = trace_of(tmp_path, {})
    write(tmp_path, {"other.py": "V = 2"})
    assert changes(tmp_path, trace, {}) == []


def test_a_data_base_that_training_writes_is_no_input(tmp_path):
    study = (
        "import sqlite3\ndef train():\n"
        " with sqlite3.connect('d.db') as base: base.execute('create table t(x)')"
    )
    write(tmp_path, {STUDY: study})
    trace = trace_of(tmp_path, {})
    assert "files" not in trace
    (tmp_path / "d.db").unlink()
    assert changes(tmp_path, trace, {}) == []


def test_a_place_of_modules_that_training_adds_is_no_change(tmp_path):
    study = "import sys\ndef train(): sys.path.append('libs'); import lib; return lib.f()"
    write(tmp_path, {STUDY: study, "libs/lib.py": "def f(): return 1"})
    trace = trace_of(tmp_path, {})
    assert changes(tmp_path, trace, {}) == []
    write(tmp_path, {"lib.py": "def f(): return 2"})
    assert changes(tmp_path, trace, {}) == ["lib, which was not there,"]


def test_no_other_edit_is_seen(tmp_path):
    write(
        tmp_path, {STUDY: USUAL, "lib.py": "def f(): return 1\ndef g(): return 2", "data.txt": ""}
    )
    trace, usual = trace_of(tmp_path, {}), (tmp_path / STUDY).read_text()
    seen = []
    for how, (old, new) in NOT_SEEN.items():
        old, new = textwrap.dedent(f"    {old}"), textwrap.dedent(f"    {new}")
        assert old in usual, how
        (tmp_path / STUDY).write_text(usual.replace(old, new, 1))
        seen += [(how, x) for x in changes(tmp_path, trace, {})]
    (tmp_path / STUDY).write_text(usual)
    write(
        tmp_path, {"lib.py": "def f(): return 1\ndef g(): return 3", "data.txt": "1", "new.py": ""}
    )
    assert [*seen, *changes(tmp_path, trace, {})] == []


def test_a_trace_has_no_value_of_a_variable_and_no_path_of_this_machine(tmp_path):
    study = "import os\ndef train(): return os.environ['TOKEN'], {**os.environ}, open('a.txt')"
    write(tmp_path, {STUDY: study, "a.txt": "1"})
    trace = trace_of(tmp_path, {"TOKEN": "not-to-be-told", "OTHER": "neither"})
    assert list(trace["variables"]) == ["TOKEN"]
    assert trace["files"].keys() == {"project:a.txt"}
    assert not [x for x in ("not-to-be-told", str(tmp_path)) if x in json.dumps(trace)]
