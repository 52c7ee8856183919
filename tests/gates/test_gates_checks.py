"""What must pass before a task lands: which checks there are, and what one run of each says."""

import shlex

import pytest
from gates_bench import a_bench, a_story, a_task
from msgspec.structs import replace
from settings_of import settings_of

from runner.gates import commands, contract_tests
from runner.gates.base import ChangeOrigin, Check
from runner.gates.registry import checks_of, prove_all
from runner.model import Contract, GateSpec, Level, Network, TestContract, Verdict
from runner.process.limits import Limits


def a_check(command, **fields):
    return Check(id="TC-001", kind="test", command=command, limits=Limits(5, 5, 5), **fields)


def said_by(proved):
    assert len(proved.findings) <= 1
    return proved.proof, proved.findings[0] if proved.findings else None


def settings(*gates, by_type=()):
    return settings_of(gates=tuple(gates), gates_by_type=by_type)


def test_contracts_come_first_and_a_tasks_own_gate_replaces_the_projects_of_that_name():
    task = a_task(
        outputs=("a.py",),
        test_contracts=(TestContract("TC-001", Level.UNIT, "true"),),
        contracts=(Contract("command", "make schema"), Contract("openapi", "api.yaml")),
        gates=(GateSpec("lint", "ruff check src"), GateSpec("own", "sh: true")),
    )
    project = settings(GateSpec("lint", "ruff check ."), GateSpec("types", "mypy"))
    said = [(one.id, one.command) for one in checks_of(task, project)]
    assert [one for one in said if one[0] != "contract:openapi"][:7] == [
        ("integrity", ""),
        ("TC-001", "true"),
        ("base-tests", ""),
        ("contract:command-1", "make schema"),
        ("gate:types", "mypy"),
        ("gate:lint", "ruff check src"),
        ("gate:own", "true"),
    ]


def test_a_gate_of_its_type_belongs_to_the_task():
    project = settings(
        GateSpec("lint", "lint"), by_type=(("ui", (GateSpec("looks", "screenshot"),)),)
    )
    assert "gate:looks" in [one.id for one in checks_of(a_task(type="ui"), project)]
    assert "gate:looks" not in [one.id for one in checks_of(a_task(type="api"), project)]


@pytest.mark.parametrize(
    ("gate", "seconds"),
    [
        (GateSpec("lint", "x"), 60),
        (GateSpec("types", "x"), 120),
        (GateSpec("smoke", "x"), 300),
        (GateSpec("smoke", "x", seconds=7), 7),
    ],
)
def test_how_long_a_gate_may_take(gate, seconds):
    (check,) = commands.checks(a_task(gates=(gate,)), settings())
    assert check.limits.hard == seconds


def test_a_task_reaches_no_further_than_it_says():
    contract = TestContract("TC-001", Level.E2E, "true")
    (quiet,) = contract_tests.checks(a_task(test_contracts=(contract,)), settings())
    (loud,) = contract_tests.checks(
        a_task(test_contracts=(contract,), network=Network.YES), settings()
    )
    assert (quiet.network, loud.network) == (Network.NO, Network.YES)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("tests/test_a.py", "python -m pytest -q tests/test_a.py"),
        ("tests/test_a.py::test_x[1-2]", "python -m pytest -q tests/test_a.py::test_x[1-2]"),
        ("pytest tests/test_a.py", "pytest tests/test_a.py"),
        ("./check.sh", "./check.sh"),
        ("python tests/test_a.py", "python tests/test_a.py"),
    ],
)
def test_a_bare_test_file_stands_for_pytest_on_it(line, command):
    assert contract_tests.as_command(line) == command


def test_a_check_that_passes_leaves_a_proof_and_its_output(tmp_path):
    context = a_bench(tmp_path)
    proof, finding = said_by(
        contract_tests.prove(a_check("echo fine; echo '3 passed in 0.01s'"), context)
    )
    assert finding is None
    assert (proof.verdict, proof.exit, proof.counts) == (Verdict.PASS, 0, (("passed", 3),))
    assert proof.log == "artifacts/build/logs/TASK-001/1/TC-001.log"
    assert (tmp_path / "logs/TC-001.log").read_text() == "fine\n3 passed in 0.01s\n"


def test_a_check_that_fails_says_how_with_the_end_of_its_output(tmp_path):
    proof, finding = said_by(contract_tests.prove(a_check("echo why; exit 3"), a_bench(tmp_path)))
    assert proof.verdict is Verdict.FAIL
    assert finding.refuses
    assert finding.message == "`echo why; exit 3` ended with exit code 3"
    assert finding.hint == "to reproduce: runner shell TASK-001 -- 'echo why; exit 3'"
    assert finding.detail.strip() == "why"


@pytest.mark.parametrize(
    ("said", "passes"),
    [
        ("no tests ran in 0.01s", False),
        ("Ran 0 tests in 0.000s", False),
        ("2 skipped in 0.01s", False),
        ("Ran 1 test in 0.000s", True),
        ("5 deselected in 0.1s", False),
        ("1 passed, 5 deselected in 0.1s", True),
        ("nothing that is known", True),
    ],
)
def test_a_test_contract_that_ran_no_test_has_not_passed(tmp_path, said, passes):
    proof, finding = said_by(
        contract_tests.prove(a_check(f"echo; echo '{said}'"), a_bench(tmp_path))
    )
    assert (proof.verdict is Verdict.PASS) is passes
    assert passes or "ran no test" in finding.message


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(9, 0.3, 9), "`sleep 20` printed nothing for 0.3 s and was stopped"),
        (Limits(9, 9, 0.3), "`sleep 20` ran longer than 0.3 s and was stopped"),
    ],
)
def test_a_check_that_hangs_is_ended_and_says_so(tmp_path, limits, message):
    check = Check(id="gate:slow", kind="gate", command="sleep 20", limits=limits)
    proof, finding = said_by(commands.prove(check, a_bench(tmp_path)))
    assert proof.verdict is Verdict.FAIL
    assert finding.message == message
    assert finding.hint == (
        "raise the time limit: Timeout in the task, or limits.gate_seconds in the settings"
    )


def test_a_gate_that_finds_a_package_unbuilt_is_told_to_build_it(tmp_path):
    said = (
        "a.ts(1,1): error TS6305: Output file '/x/core/dist/i.d.ts' has not been built from source"
        " file '/x/core/i.ts'."
    )
    context = a_bench(tmp_path)
    (context.place.tree / "core").mkdir(parents=True)
    for name in ("tsconfig.json", "i.ts"):
        (context.place.tree / "core" / name).write_text("{}")
    line = f'echo "{said}"; exit 2'
    check = Check("gate:types", "gate", f"sh -c {shlex.quote(line)}", limits=Limits(9, 9, 9))
    _, finding = said_by(commands.prove(check, context))
    assert finding.hint == (
        "the package core of this repository is not built in the scratch tree: "
        "have the command build it first"
    )


@pytest.mark.parametrize(
    ("name", "seconds", "where"),
    [
        ("types", 0.0, "Timeout in the task, or limits.types_seconds in the settings"),
        ("slow", 0.3, "the gate slow has its own limit of 0.3 s"),
    ],
)
def test_a_slow_gate_is_told_where_its_time_is_said(tmp_path, name, seconds, where):
    gate = GateSpec(name, "sleep 20", seconds=seconds)
    check = Check(f"gate:{name}", "gate", "sleep 20", limits=Limits(9, 0.3, 0.3))
    context = replace(a_bench(tmp_path), task=a_task(gates=(gate,)))
    _, finding = said_by(commands.prove(check, context))
    assert finding.hint == f"raise the time limit: {where}"


def test_all_checks_run_so_that_the_next_attempt_hears_of_every_failure(tmp_path):
    task = a_task(
        test_contracts=(
            TestContract("TC-001", Level.UNIT, "exit 1"),
            TestContract("TC-002", Level.UNIT, "true"),
        ),
        gates=(GateSpec("lint", "exit 2"),),
    )
    heard = []
    proven = prove_all(
        task,
        settings(),
        a_bench(tmp_path),
        started=lambda check: heard.append(check.id),
        completed=lambda proof: heard.append(str(proof.verdict)),
    )
    assert heard == ["TC-001", "fail", "TC-002", "pass", "gate:lint", "fail"]
    assert [one.check for one in proven.findings] == ["TC-001", "gate:lint"]
    assert len(proven.proofs) == 3


DEEP = {
    "calls": f"    return n{'.a()' * 450}\n",
    "a sum": f"    return {'1 + ' * 700}1\n",
}


@pytest.mark.parametrize("inner", DEEP.values(), ids=DEEP)
def test_code_that_is_nested_too_deep_is_a_question_and_no_crash(tmp_path, inner):
    tests = "def test_price():\n    assert price(1) == 1\n"
    task = a_task(outputs=("any",), test_contracts=(TestContract("TC-001", Level.UNIT, "true"),))
    after = {"shop.py": f"def price(n):\n{inner}", "test_shop.py": f"{tests}{inner}"}
    context, _ = a_story(tmp_path, {"test_shop.py": tests}, after, task=task)
    told = [
        (one.severity.value, one.message)
        for one in prove_all(task, settings(), context, started=print, completed=print).findings
    ]
    assert ("question", "the changed code is nested too deeply to check") in told
    own = replace(context, origin=ChangeOrigin(by_person=True))
    found = prove_all(task, settings(), own, started=print, completed=print).findings
    assert not any(one.refuses for one in found if "nested too deep" in one.message)


def test_a_run_that_is_to_end_starts_no_further_check(tmp_path):
    task = a_task(gates=(GateSpec("lint", "touch ran"),))
    context = a_bench(tmp_path, cancelled=True)
    said = prove_all(task, settings(), context, started=lambda _: None, completed=lambda _: None)
    assert (said.proofs, said.findings) == ((), ())
    assert not (tmp_path / "tree/ran").exists()
