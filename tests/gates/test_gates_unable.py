"""A gate that could not run before and after a change is no gate that failed before."""

import sys

import pytest
from gates_bench import a_task
from gates_trees import a_gate, a_story
from settings_of import settings_of

from runner.gates import commands
from runner.model import GateSpec, Severity, Verdict
from runner.process.tools import which

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
UNITTEST = f"{sys.executable} -m unittest -q"
PYTHON_BEFORE = {"pkg/__init__.py": "from pkg._version import v\n", "pkg/price.py": "p = 1\n"}
PYTHON_TEST = (
    "import unittest, pkg.price\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
)
PYTHON = {**PYTHON_BEFORE, "test_price.py": PYTHON_TEST}
NODE = {
    "price.js": "exports.p = 1;\n",
    "price.test.js": "const v = require('./version');\nrequire('node:test')('a', () => {});\n",
}
GO = {
    "go.mod": "module shop\n\ngo 1.19\n",
    "price.go": "package shop\n\nvar P = 1\n",
    "price_test.go": 'package shop\n\nimport "testing"\n\nfunc TestA(t *testing.T) { Version() }\n',
}
RUST = {
    "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
    ".gitignore": "Cargo.lock\ntarget\n",
    "src/lib.rs": "pub const P: i32 = 1;\n#[cfg(test)]\nmod tests;\n",
    "src/tests.rs": "#[test]\nfn a() { assert_eq!(crate::VERSION, 1); }\n",
}
SUITES = {
    "pytest": (PYTEST, PYTHON, "pkg/price.py"),
    "pytest by make": (
        f"make -s test PYTEST='{PYTEST}'",
        {**PYTHON, "Makefile": "test:\n\t$(PYTEST)\n"},
        "pkg/price.py",
    ),
    "pytest conftest": (PYTEST, {**PYTHON, "conftest.py": "import pkg\n"}, "pkg/price.py"),
    "pytest that a module ends": (
        PYTEST,
        {**PYTHON, "test_price.py": "raise SystemExit(1)\n"},
        "pkg/price.py",
    ),
    "unittest": (f"{UNITTEST} test_price", PYTHON, "pkg/price.py"),
    "node": ("node --test", NODE, "price.js"),
    "go": ("go test ./...", GO, "price.go"),
    "cargo": ("cargo test --offline", RUST, "src/lib.rs"),
}


def proved(folder, command, files, changed, after=None, **fields):
    new = {**files, changed: files[changed].replace("1", "2"), **(after or {})}
    settings = settings_of(gates=(GateSpec("tests", command),), strict=fields.pop("strict", False))
    context, _ = a_story(folder, files, new, settings=settings, **fields)
    return commands.prove(a_gate(command, "tests"), context)


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_of_which_no_test_can_be_loaded_asks_a_person(tmp_path, suite):
    command, files, changed = SUITES[suite]
    program = command.split()[0]
    if "/" not in program and which(program, {"PATH": "/usr/bin:/bin:/usr/local/bin"}) is None:
        pytest.skip(f"install {program}")
    said = proved(tmp_path, command, files, changed)
    (finding,) = said.findings
    assert "could not run here: none of its tests ran" in finding.message
    assert finding.asks
    assert (said.proof.verdict, said.proof.note) == (Verdict.SKIPPED, "could not run here")


FAILING = {
    **PYTHON,
    "pkg/__init__.py": "",
    "test_price.py": PYTHON_TEST.replace("pass", "assert 0"),
}


def test_tests_that_ran_and_failed_before_are_known_as_ever(tmp_path):
    assert proved(tmp_path, PYTEST, FAILING, "pkg/price.py").proof.verdict is Verdict.KNOWN


def test_a_suite_that_could_run_before_refuses(tmp_path):
    broken = {"pkg/__init__.py": "import nothing_of_that_name\n"}
    for name, files in (("green", {**PYTHON, "pkg/__init__.py": ""}), ("red", FAILING)):
        (tmp_path / name).mkdir()
        said = proved(tmp_path / name, PYTEST, files, "pkg/price.py", broken)
        assert said.proof.verdict is Verdict.FAIL
        assert any(one.refuses and not one.asks for one in said.findings)


@pytest.mark.parametrize(("command", "code"), [("no-such-program --all", 127), ("make lint", 2)])
def test_a_program_that_is_missing_holds_nothing_up(tmp_path, command, code):
    files = {**PYTHON, "Makefile": "lint:\n\tno-such-program --all\n"}
    said = proved(tmp_path, command, files, "pkg/price.py")
    (finding,) = said.findings
    assert finding.severity is Severity.WARNING
    assert f"its program is missing (exit code {code})" in finding.message
    assert said.proof.verdict is Verdict.SKIPPED


@pytest.mark.parametrize("command", [PYTEST, "no-such-program"])
def test_with_strict_or_where_the_task_asks_for_it_the_gate_refuses(tmp_path, command):
    task = a_task(gates=(GateSpec("tests", command),))
    for name, fields in (("strict", {"strict": True}), ("own", {"task": task})):
        (tmp_path / name).mkdir()
        said = proved(tmp_path / name, command, PYTHON, "pkg/price.py", **fields)
        assert said.proof.verdict is Verdict.FAIL
