"""Already red: what failed before a change does not refuse it, and what is new does."""

import pytest
from gates_bench import a_task
from gates_trees import a_check, a_gate, a_story
from msgspec.structs import replace
from settings_of import settings_of

from runner.gates import commands, contract_tests
from runner.gates.result_parsers import complaints
from runner.model import GateSpec, Severity, Verdict

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
