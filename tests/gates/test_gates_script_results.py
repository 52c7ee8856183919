"""Results of jest, vitest and mocha, as they wrote them down, and by those tools themselves."""

import json
import os
import shutil
import subprocess

import pytest
from growth import grows_as_its_input
from test_gates_base_tests import asked

from runner.gates.check_run import find_place, format_test
from runner.gates.test_reports import read_reports, read_script_results
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
        ("toBe(6)", "toBe(8)", "fails in its earlier version on this code"),
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
