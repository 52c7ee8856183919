"""What a check runs behind its command: shown to a person where a change alters it."""

import json
from time import process_time

import pytest
from gates_trees import a_check, a_gate, a_story

from runner.gates import script_targets


def told(folder, command, before, after, *, gate=True, **fields):
    context, _ = a_story(folder, before, after, **fields)
    check = a_gate(command, "check") if gate else a_check(command)
    return [(one.severity.value, one.message) for one in script_targets.findings(check, context)]


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
