"""What a file evaluates on import reaches the tests that can see it, and in doubt all of them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from impact_build import House, a_task, code

from runner.gates.coverage.measurements import read_runs
from runner.impact.change import Changed
from runner.impact.python_blocks import ranges_of
from runner.model import Observed, digest_of

SETTINGS = "[run]\ndynamic_context = test_function\nparallel = true\ndata_file = {}\nsource = {}\n"
EVERY = "every test"


class Case:
    """A module `m` (and others), tests of it, and an edit with the tests that can see it."""

    def __init__(self, title, module, tests, edit, *sees_and_others):
        self.title, self.edit, self.sees = title, edit, sees_and_others[0]
        self.files = {"pkg/m.py": code(module), "tests/test_it.py": code(tests)}
        for others in sees_and_others[1:]:
            self.files |= {name: code(text) for name, text in others.items()}


CASES = [
    Case(
        "a constant is seen by who ran a function that reads it",
        """
        LIMIT = 3

        def cut(x):
            return x[:LIMIT]

        def size(x):
            return len(x)
        """,
        """
        from pkg.m import cut, size

        def test_cut():
            assert cut("abcd") == "abc"

        def test_size():
            assert size("abcd") == 4
        """,
        ("LIMIT = 3", "LIMIT = 2"),
        {"test_cut"},
    ),
    Case(
        "a constant is seen through an attribute of its module, and by a test itself",
        "LIMIT = 3\n\ndef size(x):\n    return len(x)\n",
        """
        from pkg import m

        def test_limit():
            assert m.LIMIT == 3

        def test_size():
            assert m.size("abcd") == 4
        """,
        ("LIMIT = 3", "LIMIT = 2"),
        {"test_limit"},
    ),
    Case(
        "a constant in a default is seen by who called the function",
        """
        LIMIT = 3

        def cut(x, at=LIMIT):
            return x[:at]

        def size(x):
            return len(x)
        """,
        """
        from pkg.m import cut, size

        def test_cut():
            assert cut("abcd") == "abc"

        def test_size():
            assert size("abcd") == 4
        """,
        ("LIMIT = 3", "LIMIT = 2"),
        {"test_cut"},
    ),
    Case(
        "a default is seen by who called the function, or would have got an error",
        "def cut(x, at=3):\n    return x[:at]\n\ndef size(x):\n    return len(x)\n",
        """
        import pytest
        from pkg.m import cut, size

        def test_cut():
            assert cut("abcd") == "abc"

        def test_error():
            with pytest.raises(TypeError):
                cut()

        def test_size():
            assert size("abcd") == 4
        """,
        ("at=3", "at=2"),
        {"test_cut", "test_error"},
    ),
    Case(
        "a constant is followed through other constants, tables and a second module",
        "LIMIT = 3\nTWICE = LIMIT + LIMIT\n\ndef size(x):\n    return len(x)\n",
        """
        from pkg.m import size
        from pkg.n import table, nothing

        def test_table():
            assert table("twice") == 6

        def test_nothing():
            assert nothing() is None

        def test_size():
            assert size("abcd") == 4
        """,
        ("LIMIT = 3", "LIMIT = 2"),
        {"test_table"},
        {
            "pkg/n.py": """
            from pkg.m import TWICE as DOUBLE

            TABLE = {"twice": DOUBLE}

            def table(key):
                return TABLE[key]

            def nothing():
                return None
            """
        },
    ),
    Case(
        "a constant that comes with a star is seen by its bare name",
        "LIMIT = 3\n\ndef size(x):\n    return len(x)\n",
        """
        from pkg.n import limit, size

        def test_limit():
            assert limit() == 3

        def test_size():
            assert size("abcd") == 4
        """,
        ("LIMIT = 3", "LIMIT = 2"),
        {"test_limit"},
        {"pkg/n.py": "from pkg.m import *\n\ndef limit():\n    return LIMIT\n"},
    ),
    Case(
        "a constant that code reads by a name made at run time is seen there",
        "LIMIT_A = 3\n\ndef size(x):\n    return len(x)\n",
        """
        from pkg import m

        def test_made():
            assert getattr(m, "LIMIT_" + "A") == 3

        def test_all():
            assert sum(v for k, v in vars(m).items() if k.isupper()) == 3

        def test_size():
            assert m.size("abcd") == 4
        """,
        ("LIMIT_A = 3", "LIMIT_A = 2"),
        {"test_made", "test_all"},
    ),
    Case(
        "an attribute of a class is seen through objects of classes made of it",
        """
        class Base:
            limit = 3

            def cut(self, x):
                return x[: self.limit]

            def size(self, x):
                return len(x)

        class More(Base):
            pass
        """,
        """
        from pkg.m import More

        def test_cut():
            assert More().cut("abcd") == "abc"

        def test_direct():
            assert More.limit == 3

        def test_size():
            assert More().size("abcd") == 4
        """,
        ("limit = 3", "limit = 2"),
        {"test_cut", "test_direct"},
    ),
    Case(
        "a method that overrides is seen by who has an object of the class",
        """
        class Base:
            def cut(self, x):
                return x[:3]

        class More(Base):
            def size(self, x):
                return len(x)

        class Other(Base):
            pass
        """,
        """
        from pkg.m import More, Other

        def test_more():
            assert More().cut("abcd") == "abc"

        def test_other():
            assert Other().size if False else True
        """,
        (
            "        return len(x)\n",
            "        return len(x)\n\n    def cut(self, x):\n        return None\n",
        ),
        {"test_more"},
    ),
    Case(
        "a function that is gone is seen by who names it",
        "def cut(x):\n    return x[:3]\n\ndef size(x):\n    return len(x)\n",
        """
        from pkg import m

        def test_cut():
            assert m.cut("abcd") == "abc"

        def test_there():
            assert hasattr(m, "cut")

        def test_size():
            assert m.size("abcd") == 4
        """,
        ("def cut(x):\n    return x[:3]\n", "\n"),
        {"test_cut", "test_there"},
    ),
    Case(
        "a function that is gone and imported by name breaks the import of all",
        "def cut(x):\n    return x[:3]\n\ndef size(x):\n    return len(x)\n",
        """
        from pkg.m import cut, size

        def test_size():
            assert size("abcd") == 4
        """,
        ("def cut(x):\n    return x[:3]\n", "\n"),
        EVERY,
    ),
    Case(
        "a value that may raise is seen by all",
        "LIMIT = int('3')\n\ndef size(x):\n    return len(x)\n",
        "from pkg.m import size\n\ndef test_size():\n    assert size('abcd') == 4\n",
        ("int('3')", "int('x')"),
        EVERY,
    ),
    Case(
        "a pattern is tried, and one that is none is seen by all",
        "import re\n\nWORD = re.compile('a+')\n\ndef size(x):\n    return len(x)\n",
        "from pkg.m import size\n\ndef test_size():\n    assert size('abcd') == 4\n",
        ("'a+'", "'a('"),
        EVERY,
    ),
    Case(
        "what a constant makes raise further on is seen by all",
        "ON = 3\nLEFT, *REST = [0] * ON\n\ndef size(x):\n    return len(x)\n",
        "from pkg.m import size\n\ndef test_size():\n    assert size('abcd') == 4\n",
        ("ON = 3", "ON = 0"),
        EVERY,
    ),
    Case(
        "what is registered on import is seen by all",
        "KNOWN = []\nNAME = 'a'\nKNOWN.append(NAME)\n\ndef first():\n    return KNOWN[0]\n",
        "from pkg.m import first\n\ndef test_first():\n    assert first() == 'a'\n",
        ("'a'", "'b'"),
        EVERY,
    ),
    Case(
        "a decorator of the project is told of a default: seen by all",
        """
        KNOWN = {}

        def known(function):
            KNOWN[function.__name__] = function.__defaults__
            return function

        @known
        def cut(x, at=3):
            return x[:at]

        def first():
            return KNOWN["cut"]
        """,
        "from pkg.m import first\n\ndef test_first():\n    assert first() == (3,)\n",
        ("at=3", "at=2"),
        EVERY,
    ),
    Case(
        "a class whose base is told of it: seen by all",
        """
        class Base:
            known = {}

            def __init_subclass__(cls):
                Base.known[cls.__name__] = cls.limit

        class More(Base):
            limit = 3

        def first():
            return Base.known["More"]
        """,
        "from pkg.m import first\n\ndef test_first():\n    assert first() == 3\n",
        ("limit = 3", "limit = 2"),
        EVERY,
    ),
    Case(
        "values of a member of an enumeration are seen by who names the class",
        """
        from enum import Enum

        class Colour(Enum):
            RED = 1

        def red():
            return list(Colour)[0].value

        def size(x):
            return len(x)
        """,
        """
        from pkg.m import red, size

        def test_red():
            assert red() == 1

        def test_size():
            assert size("abcd") == 4
        """,
        ("RED = 1", "RED = 2"),
        {"test_red"},
    ),
    Case(
        "a default of a dataclass is seen by who makes one",
        """
        from dataclasses import asdict, dataclass

        @dataclass
        class Cut:
            at: int = 3

        def made():
            return asdict(Cut())

        def size(x):
            return len(x)
        """,
        """
        from pkg.m import made, size

        def test_made():
            assert made() == {"at": 3}

        def test_size():
            assert size("abcd") == 4
        """,
        ("at: int = 3", "at: int = 2"),
        {"test_made"},
    ),
    Case(
        "a constant in parameters of tests is seen by the tests that have them",
        "ALL = [1, 2]\n\ndef size(x):\n    return len(x)\n",
        """
        import pytest
        from pkg.m import ALL, size

        @pytest.mark.parametrize("one", ALL)
        def test_all(one):
            assert one < 3

        def test_size():
            assert size("abcd") == 4
        """,
        ("[1, 2]", "[1, 3]"),
        {"test_all"},
    ),
    Case(
        "a constant that a test file makes something of is seen by all of its tests",
        "TEXT = '1'\n\ndef size(x):\n    return len(x)\n",
        """
        from pkg.m import TEXT, size

        ONE = int(TEXT)

        def test_size():
            assert size("abcd") == 4
        """,
        ("'1'", "'x'"),
        EVERY,
    ),
    Case(
        "a docstring is seen by nobody where no code reads any",
        'def size(x):\n    """How long."""\n    return len(x)\n',
        "from pkg.m import size\n\ndef test_size():\n    assert size('abcd') == 4\n",
        ("How long.", "How short."),
        set(),
    ),
    Case(
        "a docstring is seen by who reads it of that function",
        """
        def size(x):
            \"\"\"How long.\"\"\"
            return len(x)

        def about(thing):
            return thing.__doc__
        """,
        """
        from pkg.m import about, size

        def test_about():
            assert about(size) == "How long."

        def test_other():
            assert about(len)

        def test_size():
            assert size("abcd") == 4
        """,
        ("How long.", "How short."),
        {"test_about"},
    ),
    Case(
        "a docstring in a file with doctests is seen by all",
        'def size(x):\n    """\n    >>> size("a")\n    1\n    """\n    return len(x)\n',
        """
        import doctest
        from pkg import m

        def test_docs():
            assert not doctest.testmod(m).failed
        """,
        ('size("a")', 'size("ab")'),
        EVERY,
    ),
    Case(
        "an annotation is seen by nobody where no code reads any",
        "def size(x: str):\n    return len(x)\n",
        "from pkg.m import size\n\ndef test_size():\n    assert size('abcd') == 4\n",
        ("x: str", "x: list"),
        set(),
    ),
    Case(
        "an annotation is seen by who reads it",
        """
        import inspect

        def size(x: str):
            return len(x)

        def hints(f):
            return inspect.get_annotations(f)
        """,
        """
        from pkg.m import hints, size

        def test_hints():
            assert hints(size) == {"x": str}

        def test_size():
            assert size("abcd") == 4
        """,
        ("x: str", "x: list"),
        {"test_hints"},
    ),
    Case(
        "an import of Python's own is seen by who uses it",
        """
        import os

        def here():
            return os.sep

        def size(x):
            return len(x)
        """,
        """
        from pkg.m import here, size

        def test_here():
            assert here()

        def test_size():
            assert size("abcd") == 4
        """,
        ("import os\n", "\n"),
        {"test_here"},
    ),
    Case(
        "an import of another module of the project may do anything",
        "import pkg.n\n\ndef size(x):\n    return len(x)\n",
        "from pkg.m import size\n\ndef test_size():\n    assert size('abcd') == 4\n",
        ("import pkg.n\n", "\n"),
        EVERY,
        {"pkg/n.py": "import builtins\n\nbuiltins.patched = 1\n"},
    ),
    Case(
        "a name under a condition is followed as any other",
        """
        import sys

        if sys.platform:
            LIMIT = 3
        else:
            LIMIT = 4

        def cut(x):
            return x[:LIMIT]

        def size(x):
            return len(x)
        """,
        """
        from pkg.m import cut, size

        def test_cut():
            assert cut("abcd") == "abc"

        def test_size():
            assert size("abcd") == 4
        """,
        ("LIMIT = 3", "LIMIT = 2"),
        {"test_cut"},
    ),
    Case(
        "a condition on a constant may change everything",
        """
        ON = True

        if ON:
            def cut(x):
                return x[:3]
        else:
            def cut(x):
                return x
        """,
        "from pkg.m import cut\n\ndef test_cut():\n    assert cut('abcd') == 'abc'\n",
        ("ON = True", "ON = False"),
        EVERY,
    ),
    Case(
        "what a fixture reads is seen by all, since nobody saw which tests have it",
        "LIMIT = 3\n\ndef size(x):\n    return len(x)\n",
        """
        from pkg.m import size

        def test_has(limit):
            assert limit == 3

        def test_size():
            assert size("abcd") == 4
        """,
        ("LIMIT = 3", "LIMIT = 2"),
        EVERY,
        {
            "tests/conftest.py": """
            import pytest
            from pkg import m

            @pytest.fixture
            def limit():
                return m.LIMIT
            """
        },
    ),
    Case(
        "what a process reads that a test starts is seen by all",
        "LIMIT = 3\n\ndef limit():\n    return LIMIT\n",
        """
        import subprocess, sys

        def test_process():
            code = "import pkg.m as m; print(m.limit())"
            said = subprocess.check_output([sys.executable, "-c", code])
            assert said.strip() == b"3"
        """,
        ("LIMIT = 3", "LIMIT = 2"),
        EVERY,
    ),
    Case(
        "a module's own `__getattr__`, which importing asks, may read anything",
        """
        _LIMIT = 3

        def __getattr__(name):
            return globals()["_" + name]

        def size(x):
            return len(x)
        """,
        """
        from pkg import m

        def test_limit():
            assert m.LIMIT == 3

        def test_size():
            assert m.size("abcd") == 4
        """,
        ("_LIMIT = 3", "_LIMIT = 2"),
        EVERY,
    ),
    Case(
        "what a cache keeps is seen by all, also by who finds it there",
        """
        import functools

        LIMIT = 3

        @functools.lru_cache
        def limit():
            return LIMIT
        """,
        """
        from pkg.m import limit

        def test_first():
            assert limit() == 3

        def test_second():
            assert limit() == 3
        """,
        ("LIMIT = 3", "LIMIT = 2"),
        EVERY,
    ),
    Case(
        "what a test is the first to import is seen by all",
        """
        LIMIT = 3

        def made():
            return [LIMIT]
        """,
        """
        def test_first():
            from pkg import n
            assert n.MADE == [3]

        def test_second():
            from pkg.n import MADE
            assert MADE == [3]
        """,
        ("LIMIT = 3", "LIMIT = 2"),
        EVERY,
        {"pkg/n.py": "from pkg.m import made\n\nMADE = made()\n"},
    ),
    Case(
        "a function of the project with a known name is not the one of Python",
        """
        KNOWN = []

        def partial(value):
            KNOWN.append(value)
            return value

        LIMIT = partial(3)

        def first():
            return KNOWN[0]
        """,
        "from pkg.m import first\n\ndef test_first():\n    assert first() == 3\n",
        ("partial(3)", "partial(2)"),
        EVERY,
    ),
    Case(
        "an object made on import has what its class has: seen by who reads it",
        """
        class Cut:
            limit = 3

            def size(self, x):
                return len(x)

        MADE = Cut()

        def limit():
            return MADE.limit
        """,
        """
        from pkg.m import MADE, limit

        def test_limit():
            assert limit() == 3

        def test_size():
            assert MADE.size("abcd") == 4
        """,
        ("limit = 3", "limit = 2"),
        {"test_limit"},
    ),
    Case(
        "an attribute of that name on objects of another class is none of it",
        """
        class Cut:
            limit = 3

        class Other:
            limit = 4

        def of_cut():
            return Cut().limit

        def of_other():
            return Other().limit
        """,
        """
        from pkg.m import of_cut, of_other

        def test_cut():
            assert of_cut() == 3

        def test_other():
            assert of_other() == 4
        """,
        ("limit = 3", "limit = 2"),
        {"test_cut"},
    ),
    Case(
        "a module that is passed on is read by names made at run time",
        "LIMIT = 3\n\ndef size(x):\n    return len(x)\n",
        """
        from pkg import m, n

        def test_all():
            assert n.numbers(m) == [3]

        def test_size():
            assert m.size("abcd") == 4
        """,
        ("LIMIT = 3", "LIMIT = 2"),
        {"test_all"},
        {"pkg/n.py": "def numbers(it):\n    return [v for v in vars(it).values() if v == 3]\n"},
    ),
    Case(
        "a text with fields reads the attributes it names",
        """
        class Cut:
            limit = 3

        TEXT = "at {0.limit}"

        def told():
            return TEXT.format(Cut())

        def size(x):
            return len(x)
        """,
        """
        from pkg.m import size, told

        def test_told():
            assert told() == "at 3"

        def test_size():
            assert size("abcd") == 4
        """,
        ("limit = 3", "limit = 2"),
        {"test_told"},
    ),
    Case(
        "what an object keeps that a fixture makes is seen by all, since nobody saw who has it",
        """
        STEP = 2

        class Counter:
            def __init__(self):
                self.value = STEP

            def get(self):
                return self.value

        def size(x):
            return len(x)
        """,
        """
        import pytest
        from pkg.m import Counter, size

        @pytest.fixture
        def counter():
            return Counter()

        def test_get(counter):
            assert counter.get() == 2

        def test_size():
            assert size("abcd") == 4
        """,
        ("STEP = 2", "STEP = 3"),
        EVERY,
    ),
    Case(
        "an annotation of a model is no comment: what its library does on import, all may see",
        """
        from pydantic import BaseModel

        class Item(BaseModel):
            count: int = 3

        def size(x):
            return len(x)
        """,
        """
        from pkg.m import Item, size

        def test_made():
            assert Item(count="4").count == 4

        def test_size():
            assert size("abcd") == 4
        """,
        ("count: int = 3", "count: str = '3'"),
        EVERY,
    ),
    Case(
        "what a model of a library keeps by default is seen by all",
        """
        from pydantic import BaseModel, Field

        class Item(BaseModel):
            count: int = Field(default=3, le=9)

        def size(x):
            return len(x)
        """,
        """
        from pkg.m import Item, size

        def test_made():
            assert Item().count == 3

        def test_size():
            assert size("abcd") == 4
        """,
        ("default=3", "default=4"),
        EVERY,
    ),
    Case(
        "what is imported for types alone is seen by nobody",
        "LIMIT = 3\n\ndef size(x):\n    return len(x)\n",
        "from pkg.user import half\n\ndef test_half():\n    assert half(4) == 2\n",
        ("LIMIT = 3", "LIMIT = 2"),
        set(),
        {
            "pkg/user.py": """
            from __future__ import annotations
            from typing import TYPE_CHECKING

            if TYPE_CHECKING:
                from pkg.m import LIMIT

            def half(x: LIMIT) -> int:
                return x // 2
            """
        },
    ),
]


def placed(case, at):
    """The files of a case in a package of its own."""
    own = f"c{at:02}".encode()
    files = {"pkg/__init__.py": b"", "tests/__init__.py": b"", **case.files}
    return {
        (path if path.startswith("pkg/") else f"pkg/{path}").replace("pkg", own.decode()): text
        for path, text in ((one, text.replace(b"pkg", own)) for one, text in files.items())
    }


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """What each test of all cases ran, by one real run."""
    root = tmp_path_factory.mktemp("cases") / "it"
    for at, case in enumerate(CASES):
        for path, content in placed(case, at).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
    data = root.parent / "data"
    data.mkdir()
    (data / "ini").write_text(SETTINGS.format(data / "data", root) + "patch = subprocess\n")
    words = [sys.executable, "-m", "coverage", "run", f"--rcfile={data / 'ini'}", "-m", "pytest"]
    done = subprocess.run(
        [*words, "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "."],
        cwd=root,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(root),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [
        Observed("TC-001", test, path, digest_of((root / path).read_bytes()), ranges_of(lines))
        for path, tests in read_runs(data, str(root))[0].items()
        for test, lines in tests.items()
    ]


@pytest.mark.parametrize("at", range(len(CASES)), ids=[case.title for case in CASES])
def test_a_change_on_import_reaches_who_can_see_it(at, executed):
    case = CASES[at]
    files = placed(case, at)
    house = House(files, [a_task("TASK-001", f"pytest c{at:02}/tests")])
    house.observed.keep("TASK-001", [row for row in executed if row.path in files])
    path = f"c{at:02}/m.py"
    old, new = (text.replace("pkg", f"c{at:02}").encode() for text in case.edit)
    assert old in files[path]
    answer = house.ask(Changed(path, files[path], files[path].replace(old, new, 1)))
    found = {
        test.rpartition(".")[2]
        for one in answer.affected
        for test in dict(one.tests).get("TC-001", (EVERY,))
    }
    assert found == ({EVERY} if case.sees == EVERY else case.sees)
