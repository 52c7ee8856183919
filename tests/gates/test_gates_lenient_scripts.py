"""What a test contract calls may pass over a failure, where its own line does not."""

import json
import shutil

import pytest
from coverage_bench import Yard

from runner.gates.base import Check
from runner.gates.contract_tests import prove
from runner.model import Severity
from runner.process.limits import Limits

FAILS = "sh tests.sh"


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path).stands("tests.sh", "echo no\nexit 1\n").write("a.py", "A = 1\n")


def said(yard, line):
    yard.set_up(line)
    (contract,) = yard.context.task.test_contracts
    return prove(Check(contract.id, "test", contract.command, Limits(60, 60, 60)), yard.context)


def scripts(yard, **named):
    return yard.stands("package.json", json.dumps({"scripts": named}))


NPM = pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")


@NPM
@pytest.mark.parametrize("line", [f"{FAILS} || true", f"{FAILS} | cat", f"{FAILS}; echo done"])
def test_a_script_of_package_json_that_passes_over_a_failure_is_a_question(yard, line):
    found = said(scripts(yard, test=line), "npm test")
    (one,) = [one for one in found.findings if "ignores a failure" in one.message]
    assert one.severity is Severity.QUESTION
    assert (one.path, "`test`" in one.message) == ("package.json", True)


@NPM
def test_a_script_that_fails_is_just_that(yard):
    found = said(scripts(yard, test=f"{FAILS}; exit $?"), "npm test")
    assert [one for one in found.findings if "ignores a failure" in one.message] == []
    assert found.proof.exit != 0


@NPM
def test_a_script_behind_another_is_read_too(yard):
    yard = scripts(yard, test="npm run unit", unit=f"{FAILS} || :")
    found = said(yard, "npm test")
    assert [one.message for one in found.findings if "`unit`" in one.message]


MAKE = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@MAKE
@pytest.mark.parametrize(
    "recipe", [f"-{FAILS}", f"@-{FAILS}", f"{FAILS} || true", f"{FAILS}; true"]
)
def test_a_rule_that_passes_over_a_failure_is_a_question(yard, recipe):
    found = said(yard.stands("Makefile", f"test:\n\t{recipe}\n"), "make test")
    (one,) = [one for one in found.findings if "ignores a failure" in one.message]
    assert (one.severity, one.path) == (Severity.QUESTION, "Makefile")


@MAKE
@pytest.mark.parametrize("recipe", ["-rm -f log\n\tsh good.sh", "sh good.sh\n\t-rm -f log"])
def test_a_rule_that_passes_over_what_is_no_test_is_let_be(yard, recipe):
    yard.stands("good.sh", "exit 0\n").stands("Makefile", f"test:\n\t{recipe}\n")
    assert said(yard, "make test").findings == ()


def test_a_shell_script_that_passes_over_a_failure_is_a_question(yard):
    found = said(yard.stands("check.sh", f"{FAILS}\necho done\n"), "sh check.sh")
    assert [one.severity for one in found.findings] == [Severity.QUESTION]


def test_a_shell_script_that_ends_at_a_failure_is_let_be(yard):
    yard.stands("tests.sh", "exit 0\n").stands("check.sh", f"set -e\n{FAILS}\necho done\n")
    assert said(yard, "sh check.sh").findings == ()


def test_where_each_test_was_told_a_failure_counts_whatever_the_script_makes_of_it(yard):
    yard.stands("test_a.py", "def test_a():\n    assert 1 == 2\n")
    yard.stands("check.sh", "python3 -m pytest -q test_a.py || true\n")
    found = said(yard, "sh check.sh")
    assert [one for one in found.findings if "ignores a failure" in one.message] == []
    assert found.proof.verdict == "fail"
