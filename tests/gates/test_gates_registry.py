"""A family of checks is loaded where a task needs it, and not before."""

from gates_bench import a_bench, a_task
from msgspec.structs import replace

from runner.config.settings import Settings
from runner.gates.registry import FAMILIES
from runner.model import Action, Change, Level, TestContract, digest_of

CONTRACTS = (TestContract("TC-001", Level.UNIT, "grep -q a copy.txt"),)
TASK = a_task(outputs=("copy.txt",), command="cp a.txt copy.txt", test_contracts=CONTRACTS)


def needed(folder, path):
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(b"a"), b"a")
    context = replace(a_bench(folder), task=TASK, changes=(change,))
    return [one.name for one in FAMILIES if one.applies(TASK, Settings()) and one.reads(context)]


def test_a_task_that_a_copy_makes_and_a_search_proves_needs_three_families(tmp_path):
    plain = ["contract_tests", "coverage_gate", "mutation.can_fail"]
    assert needed(tmp_path, "copy.txt") == plain


def test_code_and_settings_need_what_reads_tests(tmp_path):
    assert {"integrity", "base_tests.rerun", "test_awareness"} <= {*needed(tmp_path, "copy.py")}
    assert {"integrity", "base_tests.rerun"} <= {*needed(tmp_path, "pytest.ini")}


def test_every_family_has_the_shape_that_the_registry_calls():
    for family in FAMILIES:
        assert family.own or callable(family._module.checks)
        assert callable(family._module.prove)
