"""Results of jest, vitest and mocha, as they wrote them down, and by those tools themselves."""

import json
import os
import shutil
import subprocess
from time import process_time

import pytest
from coverage_bench import Yard
from gates_bench import a_check, a_gate, a_story
from growth import grows_as_its_input
from test_gates_base_tests import asked

from runner.gates import script_targets
from runner.gates.base import Check
from runner.gates.check_run import find_place, format_test
from runner.gates.contract_tests import prove
from runner.gates.test_reports import read_reports, read_script_results
from runner.model import Severity
from runner.process.limits import Limits
from runner.text.wording import list_failures

ROOT = "/home/ada/shop"
VITEST = {
    "numTotalTests": 4,
    "success": False,
    "testResults": [
        {
            "assertionResults": [
                {"ancestorTitles": ["g"], "fullName": "g one", "status": "passed", "title": "one"},
                {
                    "ancestorTitles": ["g"],
                    "fullName": "g bad",
                    "status": "failed",
                    "title": "bad",
                    "failureMessages": ["AssertionError: expected 1 to be 2 // Object.is equality"],
                },
                {"ancestorTitles": [], "fullName": "s", "status": "skipped", "title": "s"},
                {"ancestorTitles": [], "fullName": "t", "status": "todo", "title": "t"},
            ],
            "status": "failed",
            "message": "",
            "name": f"{ROOT}/test/a.test.js",
        },
        {
            "assertionResults": [],
            "status": "failed",
            "message": "Failed to load url ./nothing.js",
            "name": f"{ROOT}/test/b.test.js",
        },
    ],
}
MOCHA = {
    "tests": [
        {"titles": ["s"], "file": f"{ROOT}/test/a.js", "status": "pending", "message": ""},
        {"titles": ["g", "one"], "file": f"{ROOT}/test/a.js", "status": "pass", "message": ""},
        {
            "titles": ["g", "bad"],
            "file": f"{ROOT}/test/a.js",
            "status": "fail",
            "message": "AssertionError [ERR_ASSERTION]: 1 == 2",
        },
    ]
}


def read(tmp_path, said):
    file = tmp_path / "a.tests"
    file.write_text(said if isinstance(said, str) else json.dumps(said))
    found = read_script_results(file, ROOT)
    return found and [(test.id, str(test.outcome)) for test in found.tests]


def test_what_vitest_and_jest_say_of_each_test(tmp_path):
    assert read(tmp_path, VITEST) == [
        ("test/a.test.js > g > one", "passed"),
        ("test/a.test.js > g > bad", "failed"),
        ("test/a.test.js > s", "skipped"),
        ("test/a.test.js > t", "skipped"),
        ("test/b.test.js", "error"),
    ]


def test_what_mocha_says_of_each_test(tmp_path):
    assert read(tmp_path, MOCHA) == [
        ("test/a.js > s", "skipped"),
        ("test/a.js > g > one", "passed"),
        ("test/a.js > g > bad", "failed"),
    ]


def test_two_tests_of_one_name_are_two(tmp_path):
    again = {"tests": [MOCHA["tests"][1]] * 2}
    assert [id_ for id_, _ in read(tmp_path, again)] == [
        "test/a.js > g > one",
        "test/a.js > g > one #2",
    ]


@pytest.mark.parametrize("said", ["", "[]", "{}", '{"testResults": 3}', '{"tests": [{}]}', "{"])
def test_what_is_no_such_report_says_nothing(tmp_path, said):
    assert read(tmp_path, said) is None


def test_a_report_that_names_tests_is_heard_before_what_was_printed(tmp_path):
    about = {"tool": "mocha", "key": "k", "pid": 7, "chain": "7", "exit": 0, "tail": "  9 passing"}
    (tmp_path / "node-1-7.json").write_text(json.dumps(about))
    (tmp_path / "node-1-7.tests").write_text(json.dumps(MOCHA))
    told = read_reports(tmp_path, ROOT)
    assert dict(told.counts) == {"passed": 1, "failed": 1, "skipped": 1}
    assert not told.unnamed


# --- the tools themselves, from the registry -------------------------------------------------

CODE = "exports.price = (n) => 3 * n;\n"
IMPORTS = {
    "jest": 'const { price } = require("../src/price.js");\n',
    "mocha": 'const { price } = require("../src/price.js");\nconst test = it;\n'
    "const expect = (was) => ({ toBe: (is) => require('assert').strictEqual(was, is) });\n",
    "vitest": 'import { expect, test } from "vitest";\nimport { price } from "../src/price.js";\n',
}
TESTS = """test("a price", () => { expect(price(2)).toBe(6); });
test("no price", () => { expect(price(0)).toBe(0); });
"""
LINES = {"jest": "jest", "mocha": "mocha", "vitest": "vitest run"}


OLDER = ("jest@29", "vitest@2", "mocha@11")
NEWER = ("jest@30", "vitest@4", "mocha@12")


@pytest.fixture(scope="module", params=[OLDER, NEWER], ids=["older", "newer"])
def packages(tmp_path_factory, request):
    """The three tools, installed once."""
    if not os.environ.get("CAMPAIGN_SECONDS"):
        pytest.skip("set CAMPAIGN_SECONDS to install and run jest, vitest and mocha")
    folder = tmp_path_factory.mktemp("packages")
    (folder / "package.json").write_text("{}")
    line = ["npm", "install", "--no-audit", "--no-fund", *request.param]
    if not shutil.which("npm") or subprocess.run(line, cwd=folder, check=False).returncode:
        pytest.skip("npm reaches no registry")
    return folder / "node_modules"


@pytest.mark.parametrize("tool", ["jest", "mocha", "vitest"])
@pytest.mark.parametrize("line", ["npm test --silent", "make -s test", "sh run.sh", "itself"])
@pytest.mark.parametrize(
    "change",
    [
        ("toBe(6)", "toBe(8)", "fails on the new code in its earlier version"),
        ('test("a', 'test.skip("a', "is skipped now"),
        ('test("a price"', '(() => 0)("a price"', "is gone"),
        ("", "", ""),
    ],
    ids=["bent", "skipped", "gone", "kept"],
)
def test_tests_of_the_tools_of_node_are_compared_by_name(tmp_path, packages, tool, line, change):
    old, new, fate = change
    (tmp_path / "node_modules").symlink_to(packages)
    itself = f"../node_modules/.bin/{LINES[tool]}"
    module = ', "type": "module"' if tool == "vitest" else ""
    code = CODE.replace("exports.price", "export const price") if module else CODE
    before = {
        "src/price.js": code,
        "test/price.test.js": IMPORTS[tool] + TESTS,
        "package.json": f'{{"name": "shop"{module}, "scripts": {{"test": "{itself}"}}}}\n',
        "Makefile": ".PHONY: test\ntest:\n\t@npm test --silent\n",
        "run.sh": f"{itself}\n",
        ".mocharc.json": '{"spec": "test/*.js"}\n',
    }
    bent = code.replace("3", "4") if "fails" in fate else code
    after = before | {
        "src/price.js": bent,
        "test/price.test.js": (IMPORTS[tool] + TESTS).replace(old, new) + "// more\n",
    }
    found, _ = asked(tmp_path, before, after, itself if line == "itself" else line)
    said = [message for _, message in found]
    assert said == ([f"`test/price.test.js > a price` {fate}"] if fate else [])


@pytest.mark.parametrize(
    ("status", "message", "outcomes"),
    [
        ("passed", "Failed to resolve entry for package", ["error"]),  # as vitest 1 has it
        ("failed", "", ["error"]),
        ("passed", "", []),
    ],
)
def test_a_file_that_could_not_be_loaded_is_an_error(tmp_path, status, message, outcomes):
    suite = {"name": f"{ROOT}/a.spec.ts", "status": status, "message": message}
    file = tmp_path / "one.json"
    file.write_text(json.dumps({"testResults": [{**suite, "assertionResults": []}]}))
    found = read_script_results(file, ROOT)
    assert [str(one.outcome.value) for one in found.tests] == outcomes
    assert all(one.message == message for one in found.tests)
    shown = [said for one in found.tests for said in list_failures(format_test(one))]
    why = message or "cannot be loaded"
    assert shown == [f"a.spec.ts:1: {why}  (a.spec.ts)"] * len(outcomes), (
        "first of all, in one line"
    )


@pytest.mark.parametrize("part", ["./", "-", "a.", "a.py:", "1"])
def test_the_place_of_a_failure_is_looked_for_in_linear_time(part):
    assert grows_as_its_input(lambda size: lambda: find_place(part * size), 4_000)
    assert find_place(f"{part * 50_000}\ntests/test_a.py:5: no") in ("tests/test_a.py:5", "a.py:")


def test_the_last_of_a_long_stack_is_the_place():
    stack = "".join(f'File "src/a{n}.py", line {n}\n' for n in range(9_000))
    assert find_place(stack) == "src/a8999.py:8999"


# --- what a test contract calls may pass over a failure -------------------------------


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
    (one,) = [one for one in found.findings if "ignores failures" in one.message]
    assert one.severity is Severity.QUESTION
    assert (one.path, "`test`" in one.message) == ("package.json", True)


@NPM
def test_a_script_that_fails_is_just_that(yard):
    found = said(scripts(yard, test=f"{FAILS}; exit $?"), "npm test")
    assert [one for one in found.findings if "ignores failures" in one.message] == []
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
    (one,) = [one for one in found.findings if "ignores failures" in one.message]
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
    assert [one for one in found.findings if "ignores failures" in one.message] == []
    assert found.proof.verdict == "fail"


# --- what a check runs behind its command ---------------------------------------------


def told(folder, command, before, after, *, gate=True, **fields):
    context, _ = a_story(folder, before, after, **fields)
    check = a_gate(command, "check") if gate else a_check(command)
    return [
        (one.severity.value, one.message) for one in script_targets.find_changed(check, context)
    ]


def package(**scripts):
    listed = ", ".join(f'"{name}": "{text}"' for name, text in scripts.items())
    return {"package.json": f'{{"name": "a", "scripts": {{{listed}}}}}'}


def test_a_script_that_says_nothing_any_more_is_shown(tmp_path):
    found = told(
        tmp_path,
        "npm run agent:check",
        package(**{"agent:check": "node check.js"}),
        package(**{"agent:check": "true"}),
    )
    assert found == [("question", "a command of gate:check changed: `node check.js` became `true`")]


def test_a_script_behind_a_script_counts_and_others_do_not(tmp_path):
    before = package(test="npm run unit && npm run e2e", unit="node a.js", e2e="node b.js", x="1")
    after = package(test="npm run unit && npm run e2e", unit="node a.js", e2e="true", x="2")
    found = told(tmp_path, "npm test", before, after)
    assert found == [("question", "a command of gate:check changed: `node b.js` became `true`")]


@pytest.mark.parametrize(
    ("files", "changed"),
    [
        ({"Makefile": "check: lint\n\tpytest\nlint:\n\ttrue\n"}, "`ruff check .` became `true`"),
        (
            {"Makefile": "check: lint\n\t-pytest\nlint:\n\truff check .\n"},
            "`pytest` became `-pytest`",
        ),
        ({"GNUmakefile": "check:\n\ttrue\n"}, "`pytest` was removed"),
        ({"Makefile": "check: lint\n\tpytest\nlint:\n\truff check .\nclean:\n\trm b\n"}, ""),
        (
            {"Makefile": "check: lint\n\tpytest -v -x\nlint:\n\truff check .\n"},
            "`pytest` became `pytest -v -x`",
        ),
    ],
)
def test_rules_of_a_makefile_that_a_check_leads_to(tmp_path, files, changed):
    before = {"Makefile": "check: lint\n\tpytest\nlint:\n\truff check .\nclean:\n\trm a\n"}
    found = [message for _, message in told(tmp_path, "make -s check", before, before | files)]
    assert any(changed in message for message in found) if changed else not found


@pytest.mark.parametrize("command", ["sh check.sh", "./check.sh", "set -e; bash ./check.sh"])
def test_a_script_that_a_contract_names_is_part_of_it(tmp_path, command):
    before, after = {"check.sh": "node a.js\n"}, {"check.sh": "node a.js || true\n"}
    found = told(tmp_path, command, before, after, gate=False)
    assert found == [
        ("question", "a command of TC-001 changed: `node a.js` became `node a.js || true`")
    ]


def test_what_a_person_wrote_is_only_told_them(tmp_path):
    found = told(tmp_path, "npm test", package(test="a"), package(test="b"), by_person=True)
    assert [severity for severity, _ in found] == ["warning"]


def test_a_script_that_runs_more_is_no_question(tmp_path):
    before, after = package(test="node a.js"), package(test="node a.js && node b.js")
    assert told(tmp_path, "npm test", before, after) == []
    swallowed = package(test="node a.js && node b.js || true")
    assert told(tmp_path, "npm test", before, swallowed)


@pytest.mark.parametrize("tool", ["npm run", "make"])
def test_scripts_that_call_each_other_again_and_again_are_read_once(tool):
    calls = {f"s{n}": " && ".join([f"{tool} s{n + 1}"] * 8) for n in range(6)} | {
        "s6": "ruff check ."
    }
    files = {
        "package.json": json.dumps({"scripts": calls}).encode(),
        "Makefile": "".join(f"{name}:\n\t{line}\n" for name, line in calls.items()).encode(),
    }
    start = process_time()
    found = [name for (_, name), _ in script_targets.behind(f"{tool} s0", files.get)]
    assert process_time() - start < 8
    assert found == list(calls)


def test_manifests_that_cannot_be_read_name_no_script():
    for data in (b"{", b"[]", b'{"scripts": 3}', b'{"scripts": ' + b"[" * 100_000):
        assert list(script_targets.behind("npm test", {"package.json": data}.get)) == []


def test_a_first_script_is_no_change(tmp_path):
    assert told(tmp_path, "npm test", {"a.txt": "a"}, package(test="node --test")) == []


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("npm run --silent team", "package.json"),
        ("npm --silent run team", "package.json"),
        ("yarn -s team --watch=false", "package.json"),
        ("npm --prefix packages/shop run -s team", "packages/shop/package.json"),
        ("cd packages/shop && npm run team", "packages/shop/package.json"),
    ],
)
def test_options_stand_anywhere_before_the_name_of_a_script(tmp_path, command, path):
    (text,) = package(team="node --test test/").values()
    (less,) = package(team="node --test --test-name-pattern=a test/").values()
    found = told(tmp_path, command, {path: text}, {path: less}, gate=False)
    assert [severity for severity, _ in found] == ["question"], found


@pytest.mark.parametrize(
    ("command", "files", "started"),
    [
        ("npm run --silent check", package(check="node --no-warnings ./check.js"), {"check.js"}),
        (
            "npm --prefix web run check",
            {"web/package.json": package(check="node tools/check.js x.js")["package.json"]},
            {"web/tools/check.js"},
        ),
        ("./check", {}, {"check"}),
        ("env A=1 bash -o pipefail tools/check.sh", {}, {"tools/check.sh"}),
        ("python3 -m tools.check", {}, {"tools/check.py", "tools/check/__main__.py"}),
        ("python3 -c 'import check'", {}, set()),
        ("node --test check.test.js", {}, set()),
        ("node -e 'x' check.js", {}, set()),
        ("eslint check.js", {}, set()),
    ],
)
def test_the_files_that_a_check_starts(tmp_path, command, files, started):
    context, _ = a_story(tmp_path, files, files)
    assert script_targets.find_started_files(command, context.before) == started
