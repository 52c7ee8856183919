"""What failed or could not run before a change does not refuse it, and what is new does."""

import json
import sys
from types import SimpleNamespace

import pytest
from gates_bench import a_check, a_gate, a_story, a_task
from msgspec.structs import replace
from settings_of import settings_of

from runner.gates import commands, contract_tests
from runner.gates.base import ChangeOrigin, Check
from runner.gates.result_parsers import complaints
from runner.gates.script_targets import can_fail, find_lenient
from runner.model import GateSpec, Level, Severity, TestContract, Verdict
from runner.plan.shell.exit_status import no_proof_in
from runner.process.limits import Limits
from runner.process.tools import which

PYTEST = "python -m pytest -q -p no:cacheprovider"


def lint_of(*rows):
    """A linter that prints what stands in a file, and fails where there is something."""
    return {"said": "".join(f"{row}\n" for row in rows), "x.py": f"# {len(rows)} {rows}\n"}


LINT = "! grep . said"
LINT_GATE = GateSpec("lint", f"sh: {LINT}")


def a_project(folder, before, after, *, strict=False, gate=LINT_GATE, **fields):
    return a_story(
        folder, before, after, settings=settings_of(gates=(gate,), strict=strict), **fields
    )


def test_a_gate_that_says_only_no_and_said_so_before_is_known(tmp_path):
    context, _ = a_project(tmp_path, {"a.py": "1"}, {"a.py": "2"}, gate=GateSpec("lint", "exit 3"))
    said = commands.prove(a_gate("exit 3"), context)
    assert said.proof.verdict is Verdict.KNOWN
    since = "first seen at bbbbbbbbb"
    assert said.proof.note == f"failure already present before this change, {since}"
    (finding,) = said.findings
    assert finding.severity is Severity.WARNING


def test_a_gate_that_fails_only_now_refuses(tmp_path):
    context, _ = a_project(tmp_path, {"a.py": "1"}, {"a.py": "2"})
    said = commands.prove(a_gate("grep -q 1 a.py"), context)
    assert said.proof.verdict is Verdict.FAIL
    assert [one.refuses for one in said.findings] == [True]


def test_with_strict_nothing_is_excused(tmp_path):
    context, visits = a_project(tmp_path, {"a.py": "1"}, {"a.py": "2"}, strict=True)
    assert commands.prove(a_gate("exit 3"), context).proof.verdict is Verdict.FAIL
    assert visits == []


def test_a_gate_that_the_task_asks_for_itself_is_excused_only_for_what_it_names(tmp_path):
    said = "a.py:3:1: F401 os imported but unused\n"
    for command, verdict in (("exit 3", Verdict.FAIL), (LINT, Verdict.KNOWN)):
        task = a_task(gates=(GateSpec("lint", f"sh: {command}"),))
        before, after = {"a.py": "1", "said": said}, {"a.py": "2", "said": said}
        folder = tmp_path / str(verdict)
        folder.mkdir()
        context, _ = a_story(folder, before, after, task=task)
        assert commands.prove(a_gate(command), context).proof.verdict is verdict


def test_a_check_that_changes_nothing_is_never_excused(tmp_path):
    context, _ = a_project(tmp_path, {"a.py": "1"}, {"a.py": "1"})
    assert commands.prove(a_gate("exit 3"), context).proof.verdict is Verdict.FAIL


def test_a_tasks_own_contract_is_never_excused(tmp_path):
    context, _ = a_project(tmp_path, {"a.py": "1"}, {"a.py": "2"})
    assert contract_tests.prove(a_check("exit 3"), context).proof.verdict is Verdict.FAIL


def test_a_gate_whose_subject_did_not_exist_is_new(tmp_path):
    context, _ = a_project(tmp_path, {}, {"check.sh": "exit 2\n", "a.py": "2"})
    said = commands.prove(a_gate("sh check.sh"), context)
    assert said.proof.verdict is Verdict.FAIL


def test_a_new_complaint_among_old_ones_refuses_and_comes_first(tmp_path):
    old = "a.py:3:1: F401 os imported but unused"
    before, after = lint_of(old), lint_of(old.replace(":3:", ":7:"), "a.py:9:1: F811 twice")
    context, _ = a_project(tmp_path, before, after)
    said = commands.prove(a_gate(LINT), context)
    assert said.proof.verdict is Verdict.FAIL
    assert said.findings[0].detail.splitlines()[:2] == [
        "new failures since the change: 1 (already present: 1)",
        "  a.py: F811 twice",
    ]


def test_old_complaints_on_other_lines_are_known(tmp_path):
    before = lint_of("a.py:3:1: F401 os", "b.py:1:1: E501 long")
    context, _ = a_project(tmp_path, before, lint_of("a.py:30:1: F401 os"))
    said = commands.prove(a_gate(LINT), context)
    assert said.proof.verdict is Verdict.KNOWN
    assert said.proof.note.startswith("1 failure already present before this change")


def test_the_same_complaint_once_more_is_new(tmp_path):
    before, after = lint_of("a.py:3:1: F401 os"), lint_of("a.py:3:1: F401 os", "a.py:4:1: F401 os")
    context, _ = a_project(tmp_path, before, after)
    assert commands.prove(a_gate(LINT), context).proof.verdict is Verdict.FAIL


@pytest.mark.parametrize("count", [20_001, 100_000], ids=["much", "more than is read"])
def test_a_new_complaint_behind_very_many_refuses(tmp_path, count):
    old = "a.py:3:1: F401 os imported but unused, as before\n"
    before = {"said": "", "x.py": "1"}
    line = f"yes '{old.strip()}' | head -{count}; cat said; exit 1"
    context, _ = a_project(
        tmp_path,
        before,
        {"said": "b.py:9:1: F811\n", "x.py": "2"},
        gate=GateSpec("lint", f"sh: {line}"),
    )
    said = commands.prove(a_gate(line), context)
    assert said.proof.verdict is Verdict.FAIL
    assert ("too much output to tell" in said.findings[0].hint) is (count == 100_000)


def test_failing_tests_behind_more_than_is_read_are_not_known(tmp_path):
    before, after = ({"said": f"--- FAIL: {name} (0.00s)\n"} for name in ("TestA", "TestB"))
    line = "echo '--- FAIL: TestX (0.00s)'; yes words | head -1000000; cat said; exit 1"
    context, _ = a_project(tmp_path, before, after, gate=GateSpec("lint", f"sh: {line}"))
    assert commands.prove(a_gate(line), context).proof.verdict is Verdict.FAIL


SHAKY = """import pathlib
def test_old(): assert OLD
def test_shaky():
    if "2" in pathlib.Path("a.py").read_text():
        runs = pathlib.Path(RUNS)
        runs.write_text((runs.read_text() if runs.exists() else "") + "x")
        assert len(runs.read_text()) not in FAILS
"""


@pytest.mark.parametrize(
    ("fails", "old", "verdict"),
    [
        ((1,), True, Verdict.FLAKY),
        ((1, 2), True, Verdict.FAIL),
        ((1,), False, Verdict.KNOWN),
        ((1, 2), False, Verdict.FAIL),
    ],
    ids=["once", "twice", "once, beside an old failure", "twice, beside an old failure"],
)
def test_a_test_of_a_gate_refuses_only_where_it_fails_twice(tmp_path, fails, old, verdict):
    text = f"RUNS, FAILS, OLD = {str(tmp_path / 'runs')!r}, {fails}, {old}\n{SHAKY}"
    before, after = ({"test_all.py": text, "a.py": word} for word in ("1", "2"))
    context, _ = a_project(tmp_path, before, after, gate=GateSpec("tests", PYTEST))
    said = commands.prove(a_gate(PYTEST, "tests"), context)
    assert (said.proof.id, said.proof.verdict) == ("gate:tests", verdict)
    assert (tmp_path / "runs").read_text() == "xx"
    flaky = [one for one in said.findings if one.message.startswith("failed once, then passed")]
    assert [one.message.rpartition(": ")[2] for one in flaky] == (
        ["test_all.py::test_shaky"] if 2 not in fails else []
    )
    assert any(one.refuses for one in said.findings) is (verdict is Verdict.FAIL)


def the_tests(**outcomes):
    lines = [f"def test_{name}(): assert {good}" for name, good in outcomes.items()]
    return {"test_all.py": "\n".join(lines) + "\n"}


def test_tests_are_compared_one_by_one(tmp_path):
    gate = a_gate(f"{PYTEST} test_all.py", "tests")
    old = the_tests(a=False, b=True)
    known, _ = a_project(tmp_path, old, old | {"x.py": "1"})
    said = commands.prove(gate, known)
    assert said.proof.verdict is Verdict.KNOWN
    assert said.findings[0].detail == "test_all.py::test_a"
    worse, _ = a_project(tmp_path, old, the_tests(a=False, b=False))
    said = commands.prove(gate, worse)
    assert said.proof.verdict is Verdict.FAIL
    assert "  test_all.py::test_b" in said.findings[0].detail.splitlines()


def test_another_tasks_contract_is_measured_against_the_tree_before(tmp_path):
    old = the_tests(a=False, b=True)
    check = replace(a_check(f"{PYTEST} test_all.py"), task="TASK-007")
    context, _ = a_story(tmp_path, old, old | {"x.py": "1"})
    assert contract_tests.prove(check, context).proof.verdict is Verdict.KNOWN
    context, _ = a_story(tmp_path, old, the_tests(a=False, b=False))
    assert contract_tests.prove(check, context).proof.verdict is Verdict.FAIL


def test_a_contract_of_another_task_that_could_not_run_before_is_no_regression(tmp_path):
    check = replace(a_check("python -m unittest -q tests.test_x"), task="TASK-007")
    context, _ = a_story(tmp_path, {"a.py": "1"}, {"a.py": "2"})
    assert contract_tests.prove(check, context).proof.verdict is Verdict.KNOWN


def test_a_tree_is_asked_once_and_the_first_red_commit_is_remembered(tmp_path):
    gate = a_gate("exit 3")
    first, visits = a_project(tmp_path, {"a": "1"}, {"a": "2"}, gate=GateSpec("lint", "exit 3"))
    commands.prove(gate, first)
    commands.prove(gate, first)
    assert len(visits) == 1
    later, visits = a_project(
        tmp_path, {"a": "2"}, {"a": "3"}, gate=GateSpec("lint", "exit 3"), base="c" * 40
    )
    said = commands.prove(gate, later)
    assert len(visits) == 1
    assert said.proof.note.endswith("first seen at bbbbbbbbb")


def test_of_failures_that_came_one_after_the_other_the_first_is_named(tmp_path):
    noted = []
    for commit, rows in (("c", "b"), ("d", "ab"), ("e", "ab"), ("f", "a")):
        there = lint_of(*(f"{name}.py:1:1: F401 os" for name in rows))
        context, _ = a_project(tmp_path, there, there | {"x": commit}, base=commit * 40)
        noted.append(commands.prove(a_gate(LINT), context).proof.note[-9:])
    assert noted == ["c" * 9, "c" * 9, "c" * 9, "d" * 9]


def test_a_damaged_memory_is_asked_again(tmp_path):
    context, visits = a_project(tmp_path, {"a": "1"}, {"a": "2"}, gate=GateSpec("lint", "exit 3"))
    commands.prove(a_gate("exit 3"), context)
    for file in (tmp_path / "kept").rglob("*.json"):
        file.write_text('{"passed": "yes"')
    assert commands.prove(a_gate("exit 3"), context).proof.verdict is Verdict.KNOWN
    assert len(visits) == 2


# --- what a gate runs is changed by the task ------------------------------------------


MAKE = "check:\n\tgrep -q good a.py\n"


def test_a_gate_that_passes_only_since_the_task_changed_it_is_refused(tmp_path):
    before = {"Makefile": MAKE, "a.py": "good"}
    after = {"Makefile": "check:\n\ttrue\n", "a.py": "bad"}
    context, _ = a_project(tmp_path, before, after)
    said = commands.prove(a_gate("make check", "check"), context)
    (finding,) = [one for one in said.findings if one.refuses]
    assert finding.message == "the gate passes only because the task changed Makefile"


def test_a_script_that_a_gate_starts_is_held_against_itself(tmp_path):
    before = {"check.sh": "grep -q good a.py\n", "a.py": "good"}
    context, _ = a_project(tmp_path, before, {"check.sh": "true\n", "a.py": "bad"})
    said = commands.prove(a_gate("sh check.sh", "check"), context)
    assert [one.path for one in said.findings if one.refuses] == ["check.sh"]


READS = "import sys\nsys.exit('good' not in open('a.py').read())\n"


@pytest.mark.parametrize(
    ("command", "script", "others"),
    [
        (
            "make check",
            "tools/check.py",
            {"Makefile": "check:\n\t@python3 -X dev tools/check.py\n"},
        ),
        ("make check", "looks.sh", {"Makefile": "check: all\nall:\n\t-@:\n\tsh -e looks.sh\n"}),
        ("sh all.sh", "tools/check.py", {"all.sh": "set -e\npython3 -m tools.check\n"}),
        ("python3 -W error tools/check.py", "tools/check.py", {}),
    ],
)
def test_a_script_behind_what_a_gate_starts_is_held_against_itself(
    tmp_path, command, script, others
):
    was = "grep -q good a.py\n" if script.endswith(".sh") else READS
    before = {**others, script: was, "a.py": "good"}
    context, _ = a_project(tmp_path, before, {**others, script: "\n", "a.py": "bad"})
    said = commands.prove(a_gate(command, "check"), context)
    assert said.proof.verdict is Verdict.PASS
    assert [one.message for one in said.findings if one.refuses] == [
        f"the gate passes only because the task changed {script}"
    ]


def test_a_test_file_that_a_gates_script_starts_is_no_script(tmp_path):
    make = {"Makefile": "check:\n\tpython3 test_a.py\n"}
    before = {**make, "test_a.py": READS, "a.py": "good"}
    context, _ = a_project(tmp_path, before, {**make, "test_a.py": "\n", "a.py": "bad"})
    said = commands.prove(a_gate("make check", "check"), context)
    assert [one for one in said.findings if one.refuses] == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"Makefile": MAKE, "a.py": "good"}, {"Makefile": MAKE + "\techo\n", "a.py": "good too"}),
        ({"a.py": "good"}, {"Makefile": MAKE, "a.py": "good"}),
        ({"Makefile": "lint:\n", "a.py": "bad"}, {"Makefile": MAKE, "a.py": "good"}),
    ],
    ids=["both pass", "made anew", "was red before"],
)
def test_a_gate_that_is_extended_passes(tmp_path, before, after):
    context, _ = a_project(tmp_path, before, after)
    said = commands.prove(a_gate("make check", "check"), context)
    assert said.proof.verdict is Verdict.PASS
    assert [one for one in said.findings if one.refuses] == []


SUITE = {"test_all.py": "def test_one(): pass\ndef test_two(): pass\n", "pytest.ini": "[pytest]\n"}


@pytest.mark.parametrize(
    "after",
    [
        {"pytest.ini": "[pytest]\naddopts = -k one\n"},
        {"conftest.py": "def pytest_configure(config):\n    config.option.keyword = 'one'\n"},
    ],
    ids=["changed", "new"],
)
def test_a_gate_that_runs_fewer_tests_since_the_task_changed_it_is_refused(tmp_path, after):
    context, _ = a_project(tmp_path, SUITE, SUITE | after)
    said = commands.prove(a_gate(PYTEST, "tests"), context)
    (finding,) = [one for one in said.findings if one.refuses]
    assert finding.message == f"1 test no longer runs since the task changed {next(iter(after))}"
    assert finding.detail == "test_all.py::test_two"


def test_a_new_conftest_that_new_tests_need_is_fine(tmp_path):
    fixture = "import pytest\n@pytest.fixture\ndef shop(): return 1\n"
    after = SUITE | {"conftest.py": fixture, "test_shop.py": "def test_c(shop): assert shop\n"}
    context, _ = a_project(tmp_path, SUITE, after)
    said = commands.prove(a_gate(PYTEST, "tests"), context)
    assert [one for one in said.findings if one.refuses] == []


def test_a_version_in_package_json_is_nothing_that_a_gate_runs(tmp_path):
    before = {"package.json": '{"version": "1", "scripts": {"a": "b"}}'}
    context, visits = a_project(
        tmp_path, before, {"package.json": '{"version": "2", "scripts": {"a": "b"}}'}
    )
    commands.prove(a_gate("echo npm", "check"), context)
    assert visits == []


@pytest.mark.parametrize("name", ["package.json", "pyproject.toml"])
def test_a_manifest_that_nothing_can_read_is_something_else_that_a_gate_runs(tmp_path, name):
    context, visits = a_project(tmp_path, {name: "a = " + "[" * 100_000}, {name: ""})
    commands.prove(a_gate("echo npm", "check"), context)
    assert visits


# --- shell lines ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("ruff check . || true", "joins commands with `||`"),
        ("true; true", "joins commands with `;`"),
        ("git commit --no-verify", "skips checks (`--no-verify`)"),
        ("SKIP=mypy pre-commit run", "skips checks (`SKIP=mypy`)"),
    ],
)
def test_a_gate_that_could_pass_over_a_failure_is_not_run(tmp_path, command, why):
    context, _ = a_project(tmp_path, {}, {"a": "1"}, gate=GateSpec("lint", command))
    said = commands.prove(a_gate(command), context)
    assert said.proof.verdict is Verdict.FAIL
    assert said.findings[0].message == f"`{command}` {why}"


def test_words_that_leave_out_checks_are_to_be_taken_out_of_shell_lines_too(tmp_path):
    gate = GateSpec("lint", "sh: true && git commit --no-verify -m x")
    context, _ = a_project(tmp_path, {}, {"a": "1"}, gate=gate)
    (check,) = commands.checks(context.task, context.settings)
    (finding,) = commands.prove(check, context).findings
    assert (finding.refuses, finding.hint) == (True, "remove `--no-verify` from it")


def test_a_gate_that_says_that_it_is_a_shell_line_is_one(tmp_path):
    context, _ = a_project(tmp_path, {}, {"a": "1"}, gate=GateSpec("lint", "sh: true && true"))
    (check,) = commands.checks(context.task, context.settings)
    assert commands.prove(check, context).proof.verdict is Verdict.PASS


# --- complaints -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("a.py:1:2: F401 [*] `os` unused", ["a.py: F401 [*] `os` unused"]),
        ("a.py:7: error: no  [misc]", ["a.py: error: no [misc]"]),
        ("src/a.ts(3,5): error TS2304: no", ["src/a.ts: error TS2304: no"]),
        ("/repo/src/a.js\n  3:5  error  no  no-undef\n", ["src/a.js: error no no-undef"]),
        ("F401 `os` unused\n --> a.py:1:8\n  |\n", ["a.py: F401 `os` unused"]),
        ("error: mismatched\n   --> src/a.rs:1:8\n", ["src/a.rs: error: mismatched"]),
        ("\x1b[31m./a.go:3:2: vet\x1b[0m", ["a.go: vet"]),
        ("a.py:9: twice, first on line 3", ["a.py: twice, first on line N"]),
        ("Found 3 errors.\nhttp://x.org:80: no", []),
    ],
)
def test_what_tools_complain_of(output, found):
    assert list(complaints(output, "/repo")) == found


THIS_PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
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
    "pytest": (THIS_PYTEST, PYTHON, "pkg/price.py"),
    "pytest by make": (
        f"make -s test THIS_PYTEST='{THIS_PYTEST}'",
        {**PYTHON, "Makefile": "test:\n\t$(THIS_PYTEST)\n"},
        "pkg/price.py",
    ),
    "pytest conftest": (THIS_PYTEST, {**PYTHON, "conftest.py": "import pkg\n"}, "pkg/price.py"),
    "pytest that a module ends": (
        THIS_PYTEST,
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
    assert proved(tmp_path, THIS_PYTEST, FAILING, "pkg/price.py").proof.verdict is Verdict.KNOWN


def test_a_suite_that_could_run_before_refuses(tmp_path):
    broken = {"pkg/__init__.py": "import nothing_of_that_name\n"}
    for name, files in (("green", {**PYTHON, "pkg/__init__.py": ""}), ("red", FAILING)):
        (tmp_path / name).mkdir()
        said = proved(tmp_path / name, THIS_PYTEST, files, "pkg/price.py", broken)
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


@pytest.mark.parametrize("command", [THIS_PYTEST, "no-such-program"])
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
