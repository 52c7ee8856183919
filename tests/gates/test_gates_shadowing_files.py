"""A file that would run in place of a command's test tool is found where the tool would be."""

from dataclasses import replace

import pytest
from gates_bench import a_task
from gates_trees import a_story

from runner.gates import shadowing_files
from runner.model import GateSpec, Level, TestContract

FRONT = {
    "beside the command": ("python -m pytest -q", "pytest.py", "pytest"),
    "a package": ("python3 -m unittest", "unittest/__init__.py", "unittest"),
    "its inner part": ("python -m pytest", "_pytest/__init__.py", "_pytest"),
    "a package to be run": ("python -m pytest", "pytest/__main__.py", "pytest"),
    "in the folder it goes to": ("cd app && python -m pytest", "app/pytest.py", "pytest"),
    "on the path in the line": ("PYTHONPATH=src pytest -q", "src/pytest.py", "pytest"),
    "on the path, exported": (
        "export PYTHONPATH=lib:$PYTHONPATH; pytest",
        "lib/unittest.py",
        "unittest",
    ),
    "on the path, by env": ("env PYTHONPATH=$PWD/src python -m pytest", "src/pytest.py", "pytest"),
    "beside the tests": ("pytest tests/unit/test_a.py", "tests/unit/unittest.py", "unittest"),
    "what measures": ("coverage run -m pytest", "coverage.py", "coverage"),
    "within a shell": ("sh -c 'cd app && python -m pytest'", "app/pytest.py", "pytest"),
    "a program on the path": ("PATH=./bin:$PATH pytest -q", "bin/pytest", "pytest"),
    "a program of node": ("npx jest", "node_modules/.bin/jest", "jest"),
    "a package of node": ("npx jest", "node_modules/jest/bin/jest.js", "jest"),
    "compiled": ("python -m pytest", "pytest.pyc", "pytest"),
}
FINE = {
    "another folder": ("python -m pytest", "parsers/pytest.py"),
    "a plug-in": ("python -m pytest", "pytest_shop.py"),
    "coverage that is no tool here": ("python -m pytest", "coverage.py"),
    "no Python": ("node --test", "pytest.py"),
    "no module": ("python -m pytest", "pytest.ini"),
    "a part of a package": ("python -m pytest", "unittest/notes.txt"),
    "a program elsewhere": ("pytest -q", "bin/pytest"),
    "not at the start": ("python -m pytest", "sitecustomize.py"),
}


def told(folder, command, before, after, **fields):
    contract = TestContract(id="TC-001", level=Level.UNIT, command=command)
    task = a_task(outputs=("any",), test_contracts=(contract,))
    bench, _ = a_story(folder, before, after, task=task, **fields)
    (check,) = shadowing_files.checks(bench.task, bench.settings)
    return [
        (one.severity.value, one.message) for one in shadowing_files.prove(check, bench).findings
    ]


@pytest.mark.parametrize(("command", "path", "tool"), FRONT.values(), ids=FRONT)
def test_what_a_change_puts_in_front_of_a_tool_refuses(tmp_path, command, path, tool):
    found = told(tmp_path, command, {}, {path: "print('1 passed')\n"})
    assert found == [("error", f"{path} of this repository would run in place of {tool}")]


@pytest.mark.parametrize(("command", "path"), FINE.values(), ids=FINE)
def test_what_no_command_would_find_is_left_alone(tmp_path, command, path):
    assert told(tmp_path, command, {}, {path: "x = 1\n"}) == []


def test_what_every_python_loads_from_the_path_refuses(tmp_path):
    found = told(tmp_path, "PYTHONPATH=. pytest", {}, {"sitecustomize.py": "x = 1\n"})
    assert found == [("error", "sitecustomize.py of this repository would run before every Python")]


def test_a_folder_that_pytest_is_configured_to_look_in_counts(tmp_path):
    before = {"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n'}
    found = told(tmp_path, "pytest", before, before | {"src/unittest.py": "x = 1\n"})
    assert [severity for severity, _ in found] == ["error"]


def test_the_commands_behind_a_gate_count(tmp_path):
    before = {"Makefile": "check:\n\t@cd app && python -m pytest\n"}
    bench, _ = a_story(tmp_path, before, before | {"app/pytest.py": "x = 1\n"})
    bench = replace(bench, task=a_task(outputs=("any",), gates=(GateSpec("check", "make check"),)))
    (check,) = shadowing_files.checks(bench.task, bench.settings)
    assert [one.path for one in shadowing_files.prove(check, bench).findings] == ["app/pytest.py"]


def test_what_was_there_before_is_told_and_its_edit_is_a_question(tmp_path):
    old, new = {"pytest.py": "x = 1\n"}, {"pytest.py": "x = 2\n"}
    message = "pytest.py of this repository would run in place of pytest"
    assert told(tmp_path, "python -m pytest", old, old | {"a.py": ""}) == [("warning", message)]
    assert told(tmp_path, "python -m pytest", old, new) == [("question", message)]
    assert told(tmp_path, "python -m pytest", old, {}) == []


def test_a_project_in_a_folder_of_its_repository_is_looked_at_there(tmp_path):
    old = {"pytest.py": "x = 1\n"}
    message = "pytest.py of this repository would run in place of pytest"
    found = told(tmp_path, "python -m pytest", old, old | {"a.py": ""}, start="sub/")
    assert found == [("warning", message)]
    line = f"PYTHONPATH={tmp_path}/real/sub/src pytest"
    found = told(tmp_path, line, {}, {"src/unittest.py": "x = 1\n"}, start="sub/")
    assert [severity for severity, _ in found] == ["error"]


def test_a_person_is_only_warned_of_an_edit_and_may_not_add_one_either(tmp_path):
    old, new = {"pytest.py": "x = 1\n"}, {"pytest.py": "x = 2\n"}
    for before, severity in ((old, "warning"), ({}, "error")):
        found = told(tmp_path, "python -m pytest", before, new, by_person=True)
        assert [said for said, _ in found] == [severity]


@pytest.mark.parametrize(
    ("path", "text", "severity"),
    {
        "its project": ("pyproject.toml", '[project]\nname = "pluggy"\n', "warning"),
        "by setup.cfg": ("setup.cfg", "[metadata]\nname = pluggy\n", "warning"),
        "another one": ("pyproject.toml", '[project]\nname = "pluggy-shop"\n', "question"),
    }.values(),
)
def test_the_project_of_a_test_tool_may_edit_it(tmp_path, path, text, severity):
    old = {"src/pluggy/__init__.py": "x = 1\n", path: text}
    new = old | {"src/pluggy/__init__.py": "x = 2\n"}
    found = told(tmp_path, "PYTHONPATH=src python -m pytest -q", old, new)
    assert [said for said, _ in found] == [severity]


def test_a_change_cannot_call_itself_a_test_tool(tmp_path):
    old = {"src/pluggy/__init__.py": "x = 1\n", "pyproject.toml": '[project]\nname = "shop"\n'}
    new = {
        "src/pluggy/__init__.py": "x = 2\n",
        "pyproject.toml": '[project]\nname = "pluggy"\n',
    }
    found = told(tmp_path, "PYTHONPATH=src python -m pytest -q", old, new)
    assert "question" in [said for said, _ in found]


BESIDE = {
    "built beside its source": ("src/index.ts", "src/index.js"),
    "of another ending": ("src/view.tsx", "src/view.js"),
    "a module of node": ("src/index.mts", "src/index.mjs"),
    "the settings of a tool": ("vitest.config.ts", "vitest.config.js"),
    "a package of the same name": ("shop/price.py", "shop/price/__init__.py"),
    "compiled for this machine": ("shop/price.py", "shop/price.cpython-311-x86_64-linux-gnu.so"),
}


@pytest.mark.parametrize(("source", "path"), BESIDE.values(), ids=BESIDE)
def test_a_file_that_is_found_in_place_of_a_source_is_a_question(tmp_path, source, path):
    old = {source: "x\n"}
    found = told(tmp_path, "npx vitest run", old, old | {path: "y\n"})
    assert [said for said, _ in found] == ["question"]
    assert told(tmp_path, "npx vitest run", old, {path: "y\n"}) == []
    assert told(tmp_path, "npx vitest run", old | {path: "x\n"}, old | {path: "y\n"}) == []
    (warned,) = told(tmp_path, "npx vitest run", old, old | {path: "y\n"}, by_person=True)
    assert warned[0] == "warning"


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("src/index.js", "src/index.mjs"),
        ("src/index.js", "src/index.d.ts"),
        ("src/index.ts", "src/index.test.js"),
        ("src/index.ts", "dist/index.js"),
        ("shop/price.py", "shop/prices/__init__.py"),
        ("shop/price.py", "shop/price.pyi"),
    ],
)
def test_a_file_that_takes_nobodys_place_is_fine(tmp_path, source, path):
    assert told(tmp_path, "npx vitest run", {source: "x\n"}, {source: "x\n", path: "y\n"}) == []


VITE = "export default {{ resolve: {{ alias: {} }}, test: {{ globals: true }} }}\n"
MAPPED = '{{"name": "a", "jest": {{"moduleNameMapper": {}}}}}'
REDIRECTED = {
    "an alias": ("vitest.config.js", VITE.format("{ '../lib.js': './fake.js' }")),
    "as an address": (
        "vitest.config.ts",
        VITE.format("{ '../lib.js': new URL('./fake.js', import.meta.url).pathname }"),
    ),
    "as a path": (
        "vite.config.mts",
        VITE.format("[{ find: /.*lib$/, replacement: path.resolve(__dirname, 'fake.js') }]"),
    ),
    "in jest": (
        "jest.config.js",
        "module.exports = {moduleNameMapper: {'^.+/lib(.js)?$': '<rootDir>/fake'}}\n",
    ),
    "in package.json": ("package.json", MAPPED.format('{"lib": "<rootDir>/fake.js"}')),
    "for TypeScript": ("tsconfig.json", '{"compilerOptions": {"paths": {"lib": ["./fake.js"]}}}'),
}
NAMED = {
    "a beginning": ("vitest.config.js", VITE.format("{ '@': './src' }")),
    "what stands for itself": ("vitest.config.js", VITE.format("{ 'lib': './lib.js' }")),
    "an ending": (
        "jest.config.js",
        r"module.exports = {moduleNameMapper: {'^(\\.{1,2}/.*)\\.js$': '$1'}}" + "\n",
    ),
    "styles": ("package.json", MAPPED.format('{"\\\\.css$": "<rootDir>/fake.js"}')),
    "a package": ("package.json", MAPPED.format('{"^lodash-es$": "lodash"}')),
    "another name": ("tsconfig.json", '{"compilerOptions": {"paths": {"@app/*": ["./src/*"]}}}'),
    "for browsers": ("package.json", '{"name": "a", "browser": {"./lib.js": "./fake.js"}}'),
    "the entry": ("package.json", '{"name": "lib", "lib": "./fake.js"}'),
    "no such file": ("vitest.config.js", VITE.format("{ '../lib.js': './nowhere.js' }")),
    "no configuration": ("names.js", "export const alias = { '../lib.js': './fake.js' }\n"),
}
SCRIPTS = {"lib.js": "export const a = 1\n", "test/a.test.js": "import '../lib.js'\n"}


@pytest.mark.parametrize(("path", "text"), REDIRECTED.values(), ids=REDIRECTED)
def test_a_setting_that_hands_another_file_to_who_imports_a_source_is_asked_about(
    tmp_path, path, text
):
    after = {**SCRIPTS, "fake.js": "export const a = 1\n", path: text}
    said = "imports of lib.js find fake.js in its place"
    assert told(tmp_path, "npx vitest run", SCRIPTS, after) == [("question", said)]
    (tmp_path / "there").mkdir()
    assert told(tmp_path / "there", "npx vitest run", {**SCRIPTS, path: text}, after) == []


@pytest.mark.parametrize(("path", "text"), NAMED.values(), ids=NAMED)
def test_a_setting_that_gives_a_source_a_name_is_fine(tmp_path, path, text):
    after = {**SCRIPTS, "fake.js": "export const a = 1\n", "src/b.js": "", path: text}
    assert told(tmp_path, "npx vitest run", SCRIPTS, after) == []
