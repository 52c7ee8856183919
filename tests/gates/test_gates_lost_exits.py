"""The exits that people lose most often: in a contract's line, behind npm, and behind make."""

import json
from types import SimpleNamespace

import pytest

from runner.gates.base import ChangeOrigin, Check
from runner.gates.lenient_scripts import can_fail, findings
from runner.model import Level, Severity, TestContract
from runner.plan.shell.exit_status import no_proof_in
from runner.process.limits import Limits

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
    return findings(Check("TC-001", "test", command, Limits(1, 1, 1)), tree)


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
    assert f"`{by}` in `x` of {path} ignores a failure" in found.message
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
