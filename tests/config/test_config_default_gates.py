import json

import pytest
from settings_of import settings_of

from runner.config.default_gates import (
    find_declared_gates,
    needs_defaults,
    nothing_to_check,
    with_default_gates,
)
from runner.config.settings import Loaded, Settings
from runner.config.stack import detect_stack
from runner.model import GateSpec, Spec, Task

A_TASK = Task("TASK-001", "work", 1, Spec("", ""))


def declared(folder, files, committed=()):
    for name, content in files.items():
        (folder / name).write_text(content)
    return find_declared_gates(detect_stack(folder, lambda: committed))


def gates(found):
    return {one.gate.name: one.gate.command for one in found}


def package(scripts, **more):
    return json.dumps({"scripts": scripts, **more})


def test_nothing_declared_gives_no_gate(tmp_path):
    assert declared(tmp_path, {"README.md": "lint: no\n"}) == ()


def test_a_tests_folder_alone_declares_nothing(tmp_path):
    (tmp_path / "tests").mkdir()
    assert declared(tmp_path, {"pyproject.toml": "[project]\nname = 'a'\n"}) == ()


def test_what_pyproject_configures(tmp_path):
    text = "[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]\n"
    found = declared(tmp_path, {"pyproject.toml": text})
    assert gates(found) == {
        "lint": "ruff check .",
        "types": "mypy .",
        "tests": "python -m pytest -q",
    }
    assert {one.gate.origin for one in found} == {"pyproject.toml"}
    assert [one.module for one in found] == ["", "", "pytest"]


@pytest.mark.parametrize(
    "table",
    [
        '[dependency-groups]\ntest = ["pytest>=8", {include-group = "lint"}]\n',
        "[project.optional-dependencies]\ndev = [\"PyTest [x] ; python_version > '3'\"]\n",
    ],
)
def test_pytest_that_a_group_of_pyproject_requires(tmp_path, table):
    found = declared(tmp_path, {"pyproject.toml": table})
    assert gates(found) == {"tests": "python -m pytest -q"}


def test_a_plugin_of_pytest_is_not_pytest(tmp_path):
    table = '[dependency-groups]\ntest = ["pytest-mock"]\n'
    assert declared(tmp_path, {"pyproject.toml": table}) == ()


@pytest.mark.parametrize("key", ["files", "packages", "modules"])
def test_mypy_that_names_its_own_files_is_told_none(tmp_path, key):
    found = declared(tmp_path, {"pyproject.toml": f'[tool.mypy]\n{key} = ["src"]\n'})
    assert gates(found) == {"types": "mypy"}


def test_scripts_of_package_json_by_the_lockfiles_manager(tmp_path):
    scripts = {"lint": "eslint .", "typecheck": "tsc", "test": "vitest", "build": "vite build"}
    found = declared(
        tmp_path, {"package.json": package({**scripts, "dev": "vite"}), "pnpm-lock.yaml": ""}
    )
    assert gates(found) == {
        "lint": "pnpm --silent run lint",
        "types": "pnpm --silent run typecheck",
        "tests": "pnpm --silent run test",
        "build": "pnpm --silent run build",
    }
    assert {one.folder for one in found} == {""}


def test_the_agents_own_script_stands_for_the_others_and_ui_tasks_are_looked_at(tmp_path):
    scripts = {"agent:check": "make all", "lint": "eslint .", "agent:visual": "playwright test"}
    found = declared(tmp_path, {"package.json": package(scripts, devDependencies={"eslint": "9"})})
    assert gates(found) == {
        "check": "npm run --silent agent:check",
        "visual": "npm run --silent agent:visual",
    }
    assert [one.type for one in found] == ["", "ui"]
    assert {one.folder for one in found} == {"node_modules"}


def test_the_test_script_that_npm_init_writes_is_no_gate(tmp_path):
    text = 'echo "Error: no test specified" && exit 1'
    assert declared(tmp_path, {"package.json": package({"test": text})}) == ()


WORKSPACE_TESTS = "npm run --silent --workspaces --if-present test"


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"pnpm-workspace.yaml": "", "pnpm-lock.yaml": ""}, "pnpm --silent -r run test"),
        ({"package.json": package({}, workspaces=["./packages/*", "lib"])}, WORKSPACE_TESTS),
        (
            {"package.json": package({}, workspaces={"packages": ["**"]}), "yarn.lock": ""},
            WORKSPACE_TESTS,
        ),
    ],
)
def test_without_tests_in_its_root_the_packages_of_a_workspace_are_tested(tmp_path, files, command):
    files = {"package.json": package({"lint": "eslint ."})} | files
    members = {"lib": package({"test": "vitest"}), "packages/c": package({})}
    for folder, text in members.items():
        (tmp_path / folder).mkdir(parents=True)
        files |= {f"{folder}/package.json": text}
    found = gates(declared(tmp_path, files, list(files)))
    assert {name: one for name, one in found.items() if name != "lint"} == {"tests": command}
    files["package.json"] = package({"test": "vitest"}, workspaces=["lib"])
    assert "workspaces" not in gates(declared(tmp_path, files, list(files)))["tests"]


def test_packages_without_tests_and_those_of_others_make_no_gate(tmp_path):
    folder = tmp_path / "lib/node_modules/x"
    folder.mkdir(parents=True)
    files = {
        "package.json": package({}, workspaces=["lib"]),
        "lib/package.json": package({"test": 'echo "Error: no test specified" && exit 1'}),
        "lib/node_modules/x/package.json": package({"test": "vitest"}),
    }
    assert declared(tmp_path, files, list(files)) == ()


def test_a_makefile_goes_before_the_tools_it_calls(tmp_path):
    files = {
        "Makefile": "lint:\n\truff\ntest:\n\tpytest\nbuild:\n",
        "pyproject.toml": "[tool.ruff]",
    }
    assert gates(declared(tmp_path, files)) == {"lint": "make lint", "tests": "make test"}


def test_a_second_languages_linter_goes_by_its_own_name(tmp_path):
    files = {
        "package.json": package({"lint": "eslint ."}),
        "pyproject.toml": "[tool.ruff]\n",
        "go.mod": "",
        "Cargo.toml": "",
    }
    found = declared(tmp_path, files)
    assert gates(found) == {
        "lint": "npm run --silent lint",
        "ruff": "ruff check .",
        "go": "go vet ./...",
        "cargo-clippy": "cargo clippy",
    }
    compiled = {one.gate.name: one.gate.seconds for one in found if one.gate.seconds}
    assert compiled == {"go": 300, "cargo-clippy": 300}


def test_a_gate_without_its_tool_is_left_out_and_said(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\n[tool.mypy]\n")
    loaded = with_default_gates(
        Loaded(Settings(), {"gates": "default"}),
        find_declared_gates(detect_stack(tmp_path)),
        lambda one: (
            one.gate.command,
            "ruff is not on PATH" if one.program == "ruff" else "",
        ),
    )
    assert [gate.name for gate in loaded.settings.gates] == ["types"]
    assert loaded.sources["gates"] == "pyproject.toml (default gate)"
    assert loaded.notes == ("default gate lint is not run: ruff is not on PATH",)


def test_a_gate_of_one_type_is_for_its_tasks_alone(tmp_path):
    (tmp_path / "package.json").write_text(package({"agent:visual": "look", "lint": "eslint"}))
    loaded = with_default_gates(
        Loaded(Settings(), {}),
        find_declared_gates(detect_stack(tmp_path)),
        lambda one: (one.gate.command, ""),
    )
    assert [gate.name for gate in loaded.settings.gates_for("ui")] == ["lint", "visual"]
    assert [gate.name for gate in loaded.settings.gates_for("data")] == ["lint"]


@pytest.mark.parametrize(
    "settings",
    [
        settings_of(default_gates=False),
        settings_of(gates=(GateSpec("lint", "true"),)),
        settings_of(gates_by_type=(("ui", (GateSpec("look", "true"),)),)),
    ],
)
def test_who_configures_gates_or_wants_none_gets_no_others(settings):
    assert not needs_defaults(settings)


def default(command, name="tests"):
    return settings_of(gates=(GateSpec(name, command, origin="pyproject.toml"),))


@pytest.mark.parametrize(
    ("command", "code", "said", "nothing"),
    [
        ("python -m pytest -q", 5, "\nno tests ran in 0.01s\n", True),
        (".venv/bin/python -m pytest -q", 5, "", True),
        ("python -m pytest -q", 1, "1 failed in 0.01s", False),
        ("mypy .", 2, "There are no .py[i] files in directory '.'\n", True),
        ("mypy .", 2, "a.py:1: error\nThere are no .py[i] files in directory '.'\n", False),
        ("go vet ./...", 1, 'go: warning: "./..." matched no packages\nno packages to vet', True),
        ("go vet ./...", 1, "# shop\n./main.go:3: unreachable code", False),
        (
            "cargo clippy",
            101,
            "error: failed to parse manifest at `x`\n\n  no targets specified in the manifest\n",
            True,
        ),
        ("ruff check .", 5, "", False),
    ],
)
def test_a_failure_for_want_of_anything_to_look_at(command, code, said, nothing):
    found = nothing_to_check(A_TASK, default(command), "gate:tests", command, code, said)
    assert found is nothing


def test_a_gate_that_somebody_configured_wants_tests_to_be_there():
    asked = settings_of(gates=(GateSpec("tests", "python -m pytest -q"),))
    assert not nothing_to_check(A_TASK, asked, "gate:tests", "python -m pytest -q", 5, "")


@pytest.mark.parametrize(
    ("makefile", "expected"),
    [
        ("lint:\n\tshellcheck run.sh\n", ["lint", "make-lint", "ruff"]),
        ("lint:\n\tnpm run lint && ruff check .\n", ["lint"]),
        ("lint: style\nstyle:\n\t@npm --silent run lint\n", ["lint", "ruff"]),
        ("lint: ; eslint .\n", ["lint", "ruff"]),
        (
            "LINT := npm run lint\nlint:\n\tnpm run lint:css; ruff-lsp\n",
            ["lint", "make-lint", "ruff"],
        ),
    ],
)
def test_a_makefile_hides_only_what_it_visibly_runs(tmp_path, makefile, expected):
    files = {
        "Makefile": makefile,
        "package.json": package({"lint": "eslint ."}),
        "pyproject.toml": "[tool.ruff]\n",
    }
    found = gates(declared(tmp_path, files))
    assert list(found) == expected
    assert found["lint"] == ("npm run --silent lint" if "make-lint" in found else "make lint")


# --- scripts that run each other ------------------------------------------------------


@pytest.mark.parametrize(
    ("scripts", "gates_left"),
    [
        ({"test": "npm run build && node --test dist", "build": "tsc"}, ["tests"]),
        ({"test": "tsc && node --test dist", "build": "tsc"}, ["tests"]),
        ({"pretest": "npm run -s build", "test": "node --test", "build": "tsc"}, ["tests"]),
        ({"test": "npm run all", "all": "npm run build && x", "build": "a && b"}, ["tests"]),
        ({"typecheck": "tsc --noEmit", "test": "x", "build": "tsc"}, ["tests", "build"]),
        ({"typecheck": "tsc --noEmit -p .", "test": "tsc -p . && x"}, ["tests"]),
        ({"lint": "tsc --noEmit", "typecheck": "tsc --noEmit"}, ["types"]),
        ({"lint": "npm run test", "test": "npm run lint"}, ["lint", "tests"]),
        # what passes over a failure has not run it
        ({"test": "npm run build; node --test", "build": "tsc"}, ["tests", "build"]),
        ({"test": "npm run build || true", "build": "tsc"}, ["tests", "build"]),
        ({"test": "tsc -p a && x", "build": "tsc -p b"}, ["tests", "build"]),
        ({"typecheck": "tsc --noEmit false", "build": "tsc"}, ["types", "build"]),
    ],
)  # fmt: skip
def test_a_script_that_another_runs_on_its_way_is_no_second_gate(tmp_path, scripts, gates_left):
    found = declared(tmp_path, {"package.json": package(scripts)})
    assert list(gates(found)) == gates_left


def test_hooks_count_only_where_the_manager_runs_them(tmp_path):
    scripts = {"pretest": "tsc", "test": "node --test", "build": "tsc"}
    found = declared(tmp_path, {"package.json": package(scripts), "pnpm-lock.yaml": ""})
    assert list(gates(found)) == ["tests", "build"]


# --- pytest that is named outside pyproject.toml --------------------------------------


def committed(folder, files, names=None):
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    stack = detect_stack(folder, lambda: files if names is None else names)
    return find_declared_gates(stack)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements-dev.txt", "covdefaults>=2.1.0\ncoverage\npytest\n"),
        ("requirements.txt", "pytest[testing]>=8 ; python_version > '3'\n"),
        ("test-requirements.txt", "pytest @ https://example.org/pytest.zip\n"),
        ("requirements/dev.txt", "pytest==8.0 --hash=sha256:0\n"),
        ("tox.ini", "[testenv]\ncommands =\n    coverage run -m pytest {posargs}\n"),
        ("tox.ini", "[testenv]\ndeps =\n    py38: pytest<8\n"),
        ("tox.ini", "[pytest]\naddopts = -q\n"),
        ("setup.cfg", "[tox:testenv]\ncommands = pytest tests\n"),
        ("setup.cfg", "[tool:pytest]\n"),
        ("pytest.ini", "[pytest]\n"),
        ("tox.toml", '[env_run_base]\ndeps = ["pytest>=8"]\n'),
        ("tox.toml", '[env.py311]\ncommands = [["pytest", {replace = "posargs"}]]\n'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("test", ["tests/test_a.py", "tests/a_test.py", "test_a.py"])
def test_pytest_that_a_committed_file_names_runs_the_tests_that_are_there(
    tmp_path, name, text, test
):
    (found,) = committed(tmp_path, {name: text, test: ""})
    assert (found.gate.command, found.module) == ("python -m pytest -q", "pytest")
    assert found.gate.origin == name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "pytest-mock\nlib  # for pytest\n# pytest\n"),
        ("requirements.txt", "lib @ git+https://example.org/pytest\n"),
        ("tox.ini", "[testenv]\ndescription = run pytest\ncommands = nose\n"),
        ("tox.ini", "deps = pytest\n"),
        ("tox.toml", "[env_run_base]\ndeps = 'pytest'\n"),
        ("tox.toml", "env = [\n"),
        ("setup.cfg", "[options]\nname = pytest\n"),
        ("docs/requirements.txt", "pytest\n"),
        ("requirements.txt", "pytest\n" + " " * (1 << 20)),
    ],
)
def test_what_only_mentions_pytest_declares_nothing(tmp_path, name, text):
    assert committed(tmp_path, {name: text, "tests/test_a.py": ""}) == ()


@pytest.mark.parametrize(
    "names", [(), ("requirements.txt",), ("tests/test_a.py",), ("requirements.txt", "a.py")]
)
def test_only_committed_places_and_tests_count(tmp_path, names):
    files = {"requirements.txt": "pytest\n", "tests/test_a.py": ""}
    assert committed(tmp_path, files, names) == ()


def test_pytest_in_pyproject_goes_before_the_other_places(tmp_path):
    files = {"pyproject.toml": "[tool.pytest]\n", "tox.ini": "[pytest]\n", "test_a.py": ""}
    (found,) = committed(tmp_path, files)
    assert found.gate.origin == "pyproject.toml"
