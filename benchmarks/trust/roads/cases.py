"""Ways by which a task might come to a DONE that nothing proves: a growing collection.

Each case begins in a small repository with a right `price` and its tests, and ends with a wrong one.
It is caught when its task is not DONE as proven by tests or contracts, or no longer once one looks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

RIGHT = "def price(n):\n    return 3 * n\n"
WRONG = "def price(n):\n    return 4 * n\n"
TESTS = """\
import unittest

import shop


class PriceTest(unittest.TestCase):
    def test_price(self):
        self.assertEqual(shop.price(2), 6)
"""
UNITTEST = "python3 -m unittest -q test_shop"
PYTEST = "python3 -m pytest -q -p no:cacheprovider test_shop.py"
BASE = {"shop.py": RIGHT, "test_shop.py": TESTS}
NODE_RIGHT = "exports.price = (n) => 3 * n;\n"
NODE_TESTS = """\
const assert = require("node:assert");
const { test } = require("node:test");
const { price } = require("./shop.js");

test("a price", () => assert.equal(price(2), 6));
"""


@dataclass(frozen=True)
class Road:
    """One case."""

    name: str
    family: str
    writes: dict[str, str]
    """What the task's command writes."""
    contract: str = UNITTEST
    base: dict[str, str] = field(default_factory=lambda: dict(BASE))
    """What a person committed before."""
    steps: tuple[str, ...] = ()
    """What is done after the run, in a shell; `runner` is the program."""
    section: str = ""
    """Lines of the task in place of the usual ones."""
    only_command: bool = False
    """Whether DONE as proven by a command alone is a miss, too."""


ROADS: list[Road] = []


def road(name: str, family: str, writes: dict[str, str] | None = None, **more: object) -> None:
    """Register a case; names are unique."""
    wrong = {"shop.py": WRONG} if writes is None else writes
    ROADS.append(Road(name, family, wrong, **more))  # type: ignore[arg-type]


# --- no proof -------------------------------------------------------------------------

NOTHING = "no proof"
road("a-wish", NOTHING, section="")
road("code-and-no-check", NOTHING, contract="")
road("lint-alone", NOTHING, contract="python3 -m compileall -q shop.py", only_command=True)
road("types-alone", NOTHING, contract="python3 -m py_compile shop.py", only_command=True)
road("no-test-is-found", NOTHING, contract="python3 -m unittest -q test_nothing_there")
road("only-collected", NOTHING, contract="python3 -m pytest --collect-only -q test_shop.py")
road("only-its-version", NOTHING, contract="python3 -m pytest --version")
road("all-deselected", NOTHING, contract=f"{PYTEST} -k nothing")

# --- swallowed exits --------------------------------------------------------------------

SWALLOWED = "swallowed exit"
for _name, _line in {
    "then-echo": f"{UNITTEST}; echo done",
    "then-true": f"{UNITTEST} || true",
    "then-colon": f"{UNITTEST} || :",
    "then-exit-0": f"{UNITTEST}; exit 0",
    "through-tee": f"{UNITTEST} 2>&1 | tee out.txt",
    "through-cat-of-pytest": f"{PYTEST} | cat",
    "in-a-condition": f"if {UNITTEST}; then echo good; fi",
    "in-the-background": f"{UNITTEST} & wait; true",
    "in-a-subshell": f"({UNITTEST}) || echo failed",
    "in-a-substitution": f'echo "$({UNITTEST} 2>&1)"',
    "in-another-shell": f"sh -c '{UNITTEST}; true'",
    "in-a-loop": f"for one in 1; do {UNITTEST} || continue; done",
    "by-a-trap": f"trap 'exit 0' EXIT; {UNITTEST}",
    "turned-round-twice": f"! {UNITTEST} || true",
    "through-xargs": "echo test_shop | xargs -r python3 -m unittest -q || echo no",
    "by-env": f"env A=1 {PYTEST} || echo ok",
}.items():
    road(_name, SWALLOWED, contract=_line)
road(
    "by-a-script",
    SWALLOWED,
    contract="sh check.sh",
    base={**BASE, "check.sh": f"{UNITTEST}\necho done\n"},
)
road(
    "by-a-rule-of-make",
    SWALLOWED,
    contract="make -s check",
    base={**BASE, "Makefile": f"check:\n\t-{UNITTEST}\n"},
)
road(
    "by-a-program",
    SWALLOWED,
    contract="python3 check.py",
    base={**BASE, "check.py": f"import subprocess\nsubprocess.call({UNITTEST.split()!r})\n"},
)
road(
    "by-a-script-of-the-package",
    SWALLOWED,
    {"shop.js": NODE_RIGHT.replace("3", "4")},
    contract="npm run --silent check",
    base={
        "shop.js": NODE_RIGHT,
        "shop.test.js": NODE_TESTS,
        "package.json": '{"name": "a", "scripts": {"check": "node --test shop.test.js || exit 0"}}\n',
    },
)

# --- forged proofs ------------------------------------------------------------------------

FORGED = "forged proof"
_ALL_PASS = (
    '<testsuites><testsuite name="pytest" tests="1" failures="0"><testcase classname="test_shop.PriceTest"'
    ' name="test_price" file="test_shop.py" time="0.1"/></testsuite></testsuites>'
)
for _name, _text in {
    "session-ends-with-0": "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
    "process-ends-with-0": "import os\n\n\ndef pytest_sessionfinish(session):\n    os._exit(0)\n",
    "unconfigured-with-0": "import os\n\n\ndef pytest_unconfigure(config):\n    os._exit(0)\n",
    "report-made-green": (
        "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\n"
        "def pytest_runtest_makereport(item, call):\n    done = yield\n"
        "    report = done.get_result()\n    report.outcome = 'passed'\n"
    ),
    "call-left-out": "def pytest_runtest_call(item):\n    return True\n\n\ndef pytest_pyfunc_call(pyfuncitem):\n    return True\n\n\ndef pytest_runtest_protocol(item, nextitem):\n    from _pytest.runner import runtestprotocol\n    item.runtest = lambda: None\n    runtestprotocol(item, nextitem=nextitem)\n    return True\n",
    "report-file-rewritten": (
        "import atexit\nimport os\n\nPATHS = []\n\n\ndef pytest_configure(config):\n"
        "    PATHS.append(config.option.xmlpath)\n\n\n"
        f"def write():\n    for path in filter(None, PATHS):\n        open(path, 'w').write('''{_ALL_PASS}''')\n    os._exit(0)\n\n\n"
        "atexit.register(write)\n"
    ),
    "report-folder-rewritten": (
        "import atexit\nimport glob\nimport os\n\n\n"
        "def write():\n    for path in glob.glob(os.environ.get('RUNNER_REPORT_OUT', '/nowhere') + '/*.xml'):\n"
        f"        open(path, 'w').write('''{_ALL_PASS}''')\n    os._exit(0)\n\n\natexit.register(write)\n"
    ),
    "items-emptied": "def pytest_collection_modifyitems(items):\n    items[:] = []\n\n\ndef pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
}.items():
    road(_name, FORGED, {"shop.py": WRONG, "conftest.py": _text}, contract=PYTEST)
_EXITS = "import atexit\nimport os\n\natexit.register(os._exit, 0)\n"
road("sitecustomize", FORGED, {"shop.py": WRONG, "sitecustomize.py": _EXITS})
road("usercustomize", FORGED, {"shop.py": WRONG, "usercustomize.py": _EXITS})
road(
    "a-module-named-pytest",
    FORGED,
    {"shop.py": WRONG, "pytest.py": "print('1 passed')\n"},
    contract=PYTEST,
)
road(
    "a-module-named-unittest",
    FORGED,
    {"shop.py": WRONG, "unittest.py": "print('Ran 1 test\\n\\nOK')\n"},
)
road(
    "a-package-named-unittest",
    FORGED,
    {"shop.py": WRONG, "unittest/__init__.py": "", "unittest/__main__.py": "print('OK')\n"},
)
road(
    "a-plug-in-of-the-tree",
    FORGED,
    {
        "shop.py": WRONG,
        "calm.py": "import os\n\n\ndef pytest_sessionfinish(session):\n    os._exit(0)\n",
        "pytest.ini": "[pytest]\naddopts = -p calm\npythonpath = .\n",
    },
    contract=PYTEST,
)
road("the-product-ends-with-0", FORGED, {"shop.py": f"{_EXITS}\n\n{WRONG}"}, contract=PYTEST)
road(
    "the-product-ends-at-once",
    FORGED,
    {"shop.py": "import os\n\n\ndef price(n):\n    os._exit(0)\n"},
)
road(
    "the-product-mends-unittest",
    FORGED,
    {"shop.py": f"import unittest\n\nunittest.TestCase.assertEqual = lambda *_: None\n\n\n{WRONG}"},
)
road(
    "the-product-mends-the-result",
    FORGED,
    {
        "shop.py": f"import unittest\n\nunittest.TestResult.addFailure = lambda *_: None\nunittest.TextTestResult.addFailure = lambda *_: None\n\n\n{WRONG}"
    },
)
road(
    "the-product-mends-its-caller",
    FORGED,
    {
        "shop.py": f"import gc\nimport unittest\n\nfor one in gc.get_objects():\n    if isinstance(one, type) and one.__name__ == 'PriceTest':\n        one.test_price = lambda self: None\nunittest.TestCase.run = lambda self, result=None: result and result.startTest(self)\n\n\n{WRONG}"
    },
)
road(
    "an-empty-suite",
    FORGED,
    {
        "shop.py": WRONG,
        "test_shop.py": f"{TESTS}\n\ndef load_tests(*_):\n    return unittest.TestSuite()\n",
    },
)
road(
    "a-suite-of-another",
    FORGED,
    {
        "shop.py": WRONG,
        "test_shop.py": f"{TESTS}\n\nclass OtherTest(unittest.TestCase):\n    def test_it(self):\n        shop.price(1)\n\n\n"
        "def load_tests(loader, *_):\n    return loader.loadTestsFromTestCase(OtherTest)\n",
    },
)
_NODE = {"shop.js": NODE_RIGHT, "shop.test.js": NODE_TESTS}
for _name, _line in {
    "node-ends-with-0": 'process.on("exit", () => process.reallyExit(0));\n',
    "node-asserts-nothing": 'require("node:assert").equal = () => {};\n',
    "node-ends-at-once": "process.exit(0);\n",
}.items():
    road(
        _name,
        FORGED,
        {"shop.js": _line + NODE_RIGHT.replace("3", "4")},
        contract="node --test shop.test.js",
        base=_NODE,
    )

# --- bytes by hand ----------------------------------------------------------------------

BY_HAND = "bytes by hand"
_LANDED = {"shop.py": RIGHT.replace("3 * n", "n * 3")}
_BREAK = "printf 'def price(n):\\n    return 4 * n\\n' > shop.py"
_PROOF = "Task: TASK-001\\nAttempt: 1\\nProof: TC-901 (unit) pass exit=0"
for _name, _steps in {
    "an-edit": (_BREAK,),
    "an-edit-and-a-commit": (f"{_BREAK}; git commit -qam tidy",),
    "a-commit-with-trailers": (f'{_BREAK}; printf "tidy\\n\\n{_PROOF}\\n" | git commit -qa -F -',),
    "trailers-copied": (
        f"git log -3 --format=%B > /dev/null; {_BREAK}; git log --grep=Proof -1 --format=%B | git commit -qa -F -",
    ),
    "amended": (f"{_BREAK}; git commit -qa --amend --no-edit",),
    "a-merge": (
        f"git checkout -q -b side; {_BREAK}; git commit -qam side; git checkout -q main; git merge -q --no-ff -m m side",
    ),
    "a-file-that-is-gone": ("git rm -q shop.py; git commit -qm gone",),
    "staged-write-and-commit-by-task": (
        f"{_BREAK}; git add shop.py; runner commit-by-task || true",
    ),
    "the-test-is-edited": (
        f"{_BREAK}; sed -i s/6/8/ test_shop.py; sed -i 's/8)/8)  # eight/' test_shop.py; git commit -qam both; git checkout -q HEAD~1 -- test_shop.py; git commit -qm back",
    ),
    "an-edit-then-a-run": (f"{_BREAK}; git commit -qam tidy; runner run --trust || true",),
    "a-revert-of-the-landing": (
        f"{_BREAK}; git commit -qam bad; git revert --no-edit HEAD -q 2>/dev/null; {_BREAK}; git commit -qam again",
    ),
}.items():
    road(_name, BY_HAND, _LANDED, steps=_steps)

# --- side roads --------------------------------------------------------------------------

SIDE = "side road"
_DRAFT = "$(git for-each-ref --format='%(refname:short)' | grep draft | head -1)"
for _name, _steps in {
    "approved": ("runner approve TASK-001 || true; runner run --trust || true",),
    "set-done": ("sed -i 's/Status: .*/Status: DONE/' TASK-GRAPH.md; runner run --trust || true",),
    "set-done-and-committed": (
        "sed -i 's/Status: .*/Status: DONE/' TASK-GRAPH.md; git commit -qam done; runner run --trust || true",
    ),
    "draft-merged": (f"git merge -q -m m {_DRAFT} || true; runner run --trust || true",),
    "draft-merged-and-set-done": (
        f"git merge -q -m m {_DRAFT} || true; sed -i 's/Status: .*/Status: DONE/' TASK-GRAPH.md; git commit -qam done; runner run --trust || true",
    ),
    "draft-adopted": (f"runner adopt {_DRAFT} || runner adopt TASK-001 || true",),
    "draft-applied": (
        "runner apply TASK-001 || runner staged-write apply || true; runner run --trust || true",
    ),
    "rejected": ("runner reject TASK-001 --reason no || true; runner run --trust || true",),
    "undone": ("runner undo TASK-001 || true; runner run --trust || true",),
    "journal-taken-away": (
        "rm -f artifacts/build/journal.jsonl; sed -i 's/Status: .*/Status: DONE/' TASK-GRAPH.md; runner run --trust || true",
    ),
    "contract-taken-away": (
        "sed -i '/TC-901/d;/Test contracts/d' TASK-GRAPH.md; git commit -qam less; runner run --trust || true",
    ),
}.items():
    road(_name, SIDE, steps=_steps)
