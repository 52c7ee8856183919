"""No test is left out that can fail: each case is run for real before and after its change."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from impact_build import House, a_task, code

from runner.gates.coverage.measurements import read_runs
from runner.impact.change import Changed
from runner.impact.python_blocks import ranges_of
from runner.model import Observed, digest_of

SETTINGS = "[run]\ndynamic_context = test_function\nparallel = true\ndata_file = {}\nsource = {}\n"


class Case:
    """A module `m` (and others), tests of it, and an edit that breaks some of them."""

    def __init__(self, title, module, tests, old, new, at="pkg/m.py", **others):
        self.title, self.old, self.new, self.at = title, old.encode(), new.encode(), at
        self.files = {"pkg/m.py": code(module), "pkg/tests/test_it.py": code(tests)}
        self.files |= {name.replace("__", "/") + ".py": code(text) for name, text in others.items()}


TWO = """
from {where} import {what}

def test_first():
    assert {first}

def test_second():
    assert {second}

def test_other():
    assert True
"""


def two(what, first, second, where="pkg.m"):
    return TWO.format(where=where, what=what, first=first, second=second)


CASES = [
    Case(
        "a memoised function keeps what another calls",
        """
        from functools import lru_cache

        def base(x):
            return x + 1

        @lru_cache
        def kept(x):
            return base(x)
        """,
        two("kept", "kept(1) == 2", "kept(1) + 1 == 3"),
        "x + 1",
        "x + 2",
    ),
    Case(
        "a name of the module is filled once",
        """
        _kept = None

        def load():
            return {"a": 1}

        def settings():
            global _kept
            if _kept is None:
                _kept = load()
            return _kept
        """,
        two("settings", "settings()['a'] == 1", "settings().get('a') == 1"),
        '"a": 1',
        '"a": 2',
    ),
    Case(
        "a table of the module is filled once, and read elsewhere",
        """
        KEPT = {}

        def make(x):
            return x * 2

        def get(x):
            if x not in KEPT:
                KEPT[x] = make(x)
            return KEPT[x]
        """,
        two("KEPT, get", "get(2) == 4", "KEPT[2] == 4"),
        "x * 2",
        "x * 3",
    ),
    Case(
        "a class keeps what its first object made",
        """
        class Pool:
            _one = None

            @staticmethod
            def build():
                return [1]

            @classmethod
            def one(cls):
                if cls._one is None:
                    cls._one = cls.build()
                return cls._one
        """,
        two("Pool", "Pool.one() == [1]", "Pool.one()[0] == 1"),
        "return [1]",
        "return [2]",
    ),
    Case(
        "a fixture of all tests made it",
        "def make():\n    return [1]\n",
        """
        import pytest
        from pkg.m import make

        @pytest.fixture(scope="module")
        def made():
            return make()

        def test_first(made):
            assert made == [1]

        def test_second(made):
            assert len(made) == 1 and made[0] == 1
        """,
        "[1]",
        "[2]",
    ),
    Case(
        "a method is found by a name that is put together",
        """
        class Shell:
            def do_up(self):
                return 1

            def run(self, name):
                return getattr(self, "do_" + name)()
        """,
        two("Shell", "Shell().run('up') == 1", "Shell is not None"),
        "do_up",
        "do_down",
    ),
    Case(
        "a decorator registers under a name",
        """
        TABLE = {}

        def named(name):
            def mark(function):
                TABLE[name] = function
                return function
            return mark

        @named("up")
        def upgrade_schema():
            return 1
        """,
        two("TABLE", "TABLE['up']() == 1", "len(TABLE) == 1"),
        '@named("up")',
        '@named("down")',
    ),
    Case(
        "a hook of subclasses reads an attribute",
        """
        class Base:
            known = {}

            def __init_subclass__(cls):
                Base.known[cls.kind] = cls

        class One(Base):
            kind = "one"
        """,
        two("Base", "'one' in Base.known", "Base.known"),
        'kind = "one"',
        'kind = "two"',
    ),
    Case(
        "an annotation is read when the program runs",
        """
        from dataclasses import dataclass, fields

        @dataclass
        class Point:
            x: int = 0

        def kinds():
            return [field.type for field in fields(Point)]
        """,
        two("kinds", "kinds() == [int]", "kinds()"),
        "x: int",
        "x: str",
    ),
    Case(
        "values of parameters are made by a function",
        "def limits():\n    return [1, 2]\n",
        """
        import pytest
        from pkg.m import limits

        @pytest.mark.parametrize("limit", limits())
        def test_first(limit):
            assert limit <= 2

        def test_other():
            assert True
        """,
        "[1, 2]",
        "[1, 3]",
    ),
    Case(
        "two modules import each other",
        """
        LIMIT = 3

        from pkg import n

        def of_n():
            return n.double()
        """,
        two("of_n", "of_n() == 6", "of_n"),
        "LIMIT = 3",
        "LIMIT = 4",
        pkg__n="from pkg import m\n\ndef double():\n    return m.LIMIT * 2\n",
    ),
    Case(
        "a module is imported by its name",
        "LIMIT = 3\n",
        two("load", "load('m').LIMIT == 3", "load", where="pkg.n"),
        "LIMIT = 3",
        "LIMIT = 4",
        pkg__n="import importlib\n\n"
        "def load(name):\n    return importlib.import_module('pkg.' + name)\n",
    ),
    Case(
        "a condition on import holds no more",
        """
        FAST = True

        if FAST:
            def size():
                return 1
        else:
            def size():
                return 2
        """,
        two("size", "size() == 1", "size"),
        "FAST = True",
        "FAST = False",
    ),
    Case(
        "a default that can change is kept between calls",
        "def add(x, kept=[]):\n    kept.append(x)\n    return list(kept)\n",
        """
        from pkg.m import add

        def test_first():
            assert add(1)[-1] == 1

        def test_second():
            assert add(2)[-1] == 2
        """,
        "list(kept)",
        "list(kept)[:1]",
    ),
    Case(
        "an object of the module keeps what it was told",
        """
        class Registry:
            def __init__(self):
                self.known = {}

            def get(self, key):
                if key not in self.known:
                    self.known[key] = self.make(key)
                return self.known[key]

            def make(self, key):
                return key * 2

        REGISTRY = Registry()
        """,
        two("REGISTRY", "REGISTRY.get(1) == 2", "REGISTRY.get(1) + 1 == 3"),
        "key * 2",
        "key * 3",
    ),
    Case(
        "a property is worked out once for an object of the module",
        """
        from functools import cached_property

        class Box:
            def work(self):
                return 1

            @cached_property
            def size(self):
                return self.work()

        BOX = Box()
        """,
        two("BOX", "BOX.size == 1", "BOX.size + 1 == 2"),
        "return 1",
        "return 2",
    ),
    Case(
        "a class of tests makes it once",
        "def make():\n    return [1]\n",
        """
        import unittest
        from pkg.m import make

        class TestIt(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                cls.made = make()

            def test_first(self):
                assert self.made == [1]

            def test_second(self):
                assert self.made[0] == 1
        """,
        "[1]",
        "[2]",
    ),
    Case(
        "an operator fills a table",
        """
        TABLE = {}

        class Key(str):
            def __add__(self, other):
                return str(self) + other + "!"

        def get(name):
            if name not in TABLE:
                TABLE[name] = Key(name) + "x"
            return TABLE[name]
        """,
        two("get", "get('a') == 'ax!'", "get('a')[-1] == '!'"),
        '"!"',
        '"?"',
    ),
]


def placed(case, at):
    """The files of a case in a package of its own."""
    own = f"s{at:02}".encode()
    files = {"pkg/__init__.py": b"", "pkg/tests/__init__.py": b"", **case.files}
    return {path.replace("pkg", own.decode()): re.sub(rb"\bpkg\b", own, text)
            for path, text in files.items()}  # fmt: skip


def edited(case, at):
    path = case.at.replace("pkg", f"s{at:02}")
    before = placed(case, at)[path]
    assert case.old in before
    return path, before, before.replace(case.old, case.new, 1)


def run(root, *words):
    return subprocess.run(
        [sys.executable, *words, "-q", "-p", "no:cacheprovider", "--import-mode=importlib",
         "-rfE", "--continue-on-collection-errors", "."],
        cwd=root, capture_output=True, text=True, check=False,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(root),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
    )  # fmt: skip


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """What each test of all cases ran, and which of them fail with the edits: two real runs."""
    root = tmp_path_factory.mktemp("cases") / "it"
    for at, case in enumerate(CASES):
        for path, content in placed(case, at).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
    data = root.parent / "data"
    data.mkdir()
    (data / "ini").write_text(SETTINGS.format(data / "data", root))
    done = run(root, "-m", "coverage", "run", f"--rcfile={data / 'ini'}", "-m", "pytest")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [
        Observed("TC-001", test, path, digest_of((root / path).read_bytes()), ranges_of(lines))
        for path, tests in read_runs(data, str(root))[0].items()
        for test, lines in tests.items()
    ]
    for at, case in enumerate(CASES):
        path, _, after = edited(case, at)
        (root / path).write_bytes(after)
    said = run(root, "-m", "pytest").stdout
    found = re.findall(
        r"^(?:FAILED|ERROR) (s\d\d)/tests/test_it\.py(?:::(\w+))?", said, re.MULTILINE
    )
    return rows, set(found)


@pytest.mark.parametrize("at", range(len(CASES)), ids=[case.title for case in CASES])
def test_whoever_fails_was_selected(at, executed):
    rows, failed = executed
    case, own = CASES[at], f"s{at:02}"
    files = placed(case, at)
    broken = {test for place, test in failed if place == own}
    assert broken, "the edit breaks no test"
    house = House(files, [a_task("TASK-001", f"pytest {own}/tests")])
    house.observed.keep("TASK-001", [row for row in rows if row.path in files])
    path, before, after = edited(case, at)
    answer = house.ask(Changed(path, before, after))
    contracts = {name for one in answer.affected for name in one.contracts}
    assert contracts == {"TC-001"}
    tests = [dict(one.tests).get("TC-001") for one in answer.affected]
    if None not in tests:  # else all tests of the contract
        selected = {test.rpartition(".")[2].partition("[")[0] for some in tests for test in some}
        assert broken <= selected
