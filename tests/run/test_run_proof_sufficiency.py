"""What has to prove a task is asked before anybody is called, and asked of the proof."""

from types import SimpleNamespace

import pytest
from run_build import a_task
from settings_of import settings_of

from runner.config.settings import Settings
from runner.gates.registry import checks_of, checks_that_show
from runner.model import Contract, GateSpec, Level, Proof, Reason, TestContract, Verdict
from runner.model.grades import would_show
from runner.run.proof_sufficiency import (
    WISH,
    is_proven_by_exit_code,
    lacks_contracts,
    too_little,
    unprovable,
)

AGENT, BLOCKS, CHECK = (SimpleNamespace(name=name) for name in ("agent", "blocks", "check"))
TESTS = (TestContract("TC-001", Level.UNIT, "pytest tests/test_shop.py"),)
ONLY_RUNS = (TestContract("TC-001", Level.UNIT, "./serve --once"),)
NEVER, AGENTS, ALWAYS = (settings_of(require_proof=one) for one in ("never", "agents", "always"))


def code(**fields):
    return a_task(outputs=("src/shop.py",), **fields)


def proof(**fields):
    return Proof("TC-001", "test", "pytest", Verdict.PASS, 0, 0.1, "sha256:0", **fields)


PASSED = proof(counts=(("passed", 3),))
EXIT_CODE = Proof("gate:serve", "gate", "./serve --once", Verdict.PASS, 0, 0.1, "sha256:0")


def test_a_section_with_nothing_to_build_or_check_is_a_wish_to_the_one_who_would_check_it():
    wish = a_task()
    assert unprovable(wish, AGENTS, CHECK) == (Reason.WISH, WISH)
    assert unprovable(wish, AGENTS, AGENT) is None


@pytest.mark.parametrize(
    ("settings", "who", "asked"),
    [(NEVER, AGENT, False), (AGENTS, AGENT, True), (AGENTS, BLOCKS, False), (ALWAYS, BLOCKS, True)],
)
def test_code_that_nothing_proves_does_not_begin_where_a_proof_is_asked_for(settings, who, asked):
    found = unprovable(code(), settings, who)
    assert (found is not None) is asked
    if found:
        assert found[0] is Reason.PROOF
        assert found[1].startswith("no check proves any part")


def test_what_could_be_proven_by_its_tests_may_begin():
    assert unprovable(code(test_contracts=TESTS), ALWAYS, AGENT) is None


def lines(*commands, **fields):
    every = (TestContract(f"TC-{n}", Level.UNIT, one) for n, one in enumerate(commands))
    return code(test_contracts=tuple(every), **fields)


@pytest.mark.parametrize("line", ["grep -q A src/shop.py", "test -f src/shop.py && cat README.md"])
def test_what_can_only_be_an_exit_code_does_not_begin_where_tests_are_always_asked_for(line):
    assert unprovable(lines(line, "grep -q b c"), ALWAYS, AGENT)[0] is Reason.PROOF
    assert unprovable(lines(line, "pytest tests/test_shop.py"), ALWAYS, AGENT) is None
    assert unprovable(lines(line), NEVER, AGENT) is None


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (lines('python -c "import shop"'), True),
        (lines("sh check.sh", "./serve --once"), True),
        (code(gates=(GateSpec("serve", "./serve --once"),)), True),
        (lines("make test"), False),
        (lines("./run_tests.sh"), False),
        (lines("sh check.sh", "pytest tests/test_shop.py"), False),
        (lines("sh check.sh", contracts=(Contract("openapi", "api.yml", "shop:app"),)), False),
        (lines("sh check.sh", no_proof="looked at by hand"), False),
        (a_task(outputs=("data/prices.csv",), test_contracts=ONLY_RUNS), False),
    ],
)
def test_what_may_come_to_an_exit_code_alone_is_told_before(task, told):
    assert is_proven_by_exit_code(task, ALWAYS) is told
    assert unprovable(task, ALWAYS, AGENT) is None
    assert not is_proven_by_exit_code(task, AGENTS)


def test_an_exit_code_is_enough_for_an_agent_and_not_where_tests_are_always_asked_for():
    assert too_little(code(), AGENTS, "agent", [EXIT_CODE], ["src/shop.py"]) is None
    found = too_little(code(), ALWAYS, "agent", [EXIT_CODE], ["src/shop.py"])
    assert found.message.startswith("the only proof is an exit code, but code needs tests or a")
    assert too_little(code(), ALWAYS, "agent", [PASSED], ["src/shop.py"]) is None
    assert too_little(code(), ALWAYS, "agent", [EXIT_CODE], ["data/prices.csv"]) is None


def test_what_was_written_decides_and_else_what_may_be_written():
    assert too_little(code(), AGENTS, "agent", [], ["README.md"]) is None  # a document alone
    assert too_little(code(), AGENTS, "agent", [], []) is not None
    assert "its command" in too_little(code(), AGENTS, "command", [], []).message


def test_a_reason_in_the_plan_is_enough_where_nothing_can_prove_it():
    told = code(no_proof="a logo")
    assert unprovable(told, ALWAYS, AGENT) is None
    assert too_little(told, ALWAYS, "agent", [], ["src/shop.py"]) is None


@pytest.mark.parametrize(
    ("fields", "lacks"),
    [
        ({"type": "api"}, True),
        ({"type": "data"}, False),  # only where that is asked for, too
        ({"type": ""}, False),
        ({"type": "api", "contracts": (Contract("openapi", "api.yaml"),)}, False),
        ({"type": "api", "no_contracts": "an inner one"}, False),
    ],
)
def test_a_type_that_promises_an_interface_says_it_by_contracts(fields, lacks):
    task = code(test_contracts=TESTS, **fields)
    assert lacks_contracts(task, settings_of(require_contracts="api")) is lacks
    found = unprovable(task, settings_of(require_contracts="api"), BLOCKS)
    assert (found is not None) is lacks
    if found:
        assert found[1].startswith(
            "type api needs Contracts, but the task has none; add Contracts: o"
        )


def test_data_needs_its_schema_where_that_is_asked_for():
    assert lacks_contracts(code(type="data"), settings_of(require_contracts="api,data"))
    assert not lacks_contracts(code(type="other"), settings_of(require_contracts="api,data"))


@pytest.mark.parametrize("type_", ["", "api", "data", "refactor", "migration", "bugfix", "test"])
def test_what_may_show_the_work_is_all_that_any_check_would_show(type_):
    task = code(
        type=type_,
        test_contracts=TESTS,
        contracts=(Contract("schema", "a.json = a:A"), Contract("command", "./check")),
        gates=(GateSpec("lint", "ruff check src"),),
    )
    settings = Settings()
    showing = {one.id for one in checks_that_show(task, settings)}
    for check in checks_of(task, settings):
        shown = would_show(check.kind, check.id, check.command)
        assert (shown is not None) == (check.id in showing), check
