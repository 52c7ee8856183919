"""A gate that could not run before and after a change is no gate that failed before."""

import json
import sys
from types import SimpleNamespace

import pytest
from gates_bench import a_task
from gates_trees import a_gate, a_story
from settings_of import settings_of

from runner.gates import commands
from runner.gates.base import ChangeOrigin, Check
from runner.gates.script_targets import can_fail, find_lenient
from runner.model import GateSpec, Level, Severity, TestContract, Verdict
from runner.plan.shell.exit_status import no_proof_in
from runner.process.limits import Limits
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


# --- the exits that people lose most often --------------------------------------------


LINES = [
    ("pytest -q; echo done", "; echo done", "pytest -q && echo done"),
    ("pytest -q | tee log", "| tee log", "pytest -q"),
    ("pytest -q || true", "|| true", "pytest -q"),
    ("sh -c 'pytest -q; exit 0'", "; exit 0", "pytest -q"),
    ("pytest -q & wait", "& wait", "pytest -q"),
    ("cd app && pytest -q; echo done", "; echo done", "cd app && pytest -q && echo done"),
]
OTHER_PROGRAMS = [
    ("node bad.js; echo done", "; echo done", "node bad.js && echo done"),
    ("node bad.js | tee log", "| tee log", "node bad.js"),
    ("node bad.js || true", "|| true", "node bad.js"),
    ("sh -c 'node bad.js; exit 0'", "; exit 0", "node bad.js"),
    ("node bad.js & wait", "& wait", "node bad.js"),
    ("python3 check.py; exit 0", "; exit 0", "python3 check.py"),
    ("sh check.sh || true", "|| true", "sh check.sh"),
]


@pytest.mark.parametrize(("line", "by", "right"), LINES + OTHER_PROGRAMS)
def test_a_contract_that_loses_its_exit_is_refused_with_a_rewrite(line, by, right):
    why = no_proof_in(TestContract("TC-001", Level.UNIT, line))
    assert (why.by, why.hint) == (by, f"write it as `{right}`")
    assert no_proof_in(TestContract("TC-001", Level.UNIT, right)) is None


def ask(command, files):
    tree = SimpleNamespace(origin=ChangeOrigin(), after=files.get)
    return find_lenient(Check("TC-001", "test", command, Limits(1, 1, 1)), tree)


@pytest.mark.parametrize(("line", "by", "right"), LINES + OTHER_PROGRAMS)
@pytest.mark.parametrize(
    ("command", "path"), [("npm run x", "package.json"), ("make x", "Makefile")]
)
def test_a_script_that_loses_its_exit_is_a_question(line, by, right, command, path):
    def files(text):
        rule = f"x:\n\t{text}\n" if path == "Makefile" else json.dumps({"scripts": {"x": text}})
        return {path: rule.encode()}

    (found,) = ask(command, files(line))
    assert (found.severity, found.path) == (Severity.QUESTION, path)
    assert f"`{by}` in `x` of {path} ignores failures" in found.message
    assert ask(command, files(right)) == ()


@pytest.mark.parametrize("recipe", ["-pytest -q", "@-pytest -q", "-python3 check.py"])
def test_a_recipe_whose_failure_make_ignores_is_a_question(recipe):
    (found,) = ask("make x", {"Makefile": f"x:\n\t{recipe}\n".encode()})
    assert (found.severity, found.path) == (Severity.QUESTION, "Makefile")


@pytest.mark.parametrize(
    ("command", "files", "able"),
    [
        ("true", {}, False),
        ("python3 check.py", {}, True),
        ("python3 check.py", {"check.py": b"exit 0"}, True),
        ("npm run t", {"package.json": b'{"scripts": {"t": "node bad.js; exit 0"}}'}, False),
        ("npm run t", {"package.json": b'{"scripts": {"t": "node bad.js"}}'}, True),
        ("npm run a", {"package.json": b'{"scripts": {"a": "npm run b", "b": ":"}}'}, False),
        ("npm t", {"package.json": b'{"scripts": {"test": "rimraf dist || true; tsc"}}'}, True),
        ("make test", {"Makefile": b"test:\n\t-python3 check.py\n"}, False),
        ("make test", {"Makefile": b"test: build\n\t@echo ok\nbuild:\n\ttsc\n"}, True),
        ("make test", {"Makefile": b"test:\n\t$(PY) -m pytest\n"}, True),
        ("sh ci/check.sh", {"ci/check.sh": b"node bad.js\nexit 0\n"}, False),
        ("sh ci/check.sh", {"ci/check.sh": b"set -e\nnode bad.js\necho done\n"}, True),
        ("sh check.sh", {"check.sh": b"make t", "Makefile": b"t:\n\tjest || true\n"}, False),
    ],
)  # fmt: skip
def test_a_line_is_judged_with_the_scripts_it_leads_to(command, files, able):
    assert can_fail(command, files.get) is able
