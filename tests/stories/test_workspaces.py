"""Packages of one repository that use each other: a proof loads the proposed one."""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from workplace import a_task, with_sandbox

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
NPM = {"node_modules/@x/core": "../../packages/core"}
"""Links as `npm install`, `pnpm install` and `yarn link` make them."""
PNPM = {
    "packages/app/node_modules/@x/core": "../../../core",
    "node_modules/.pnpm/node_modules/@x/core": "../../../../packages/core",
}
LINKED = {"packages/app/node_modules/@x/core": "{root}/packages/core"}


def node_test(module, name, value):
    return (
        f"const {{ {name} }} = require('{module}');\n"
        f"require('node:test').test('{name}', () => {{\n"
        f"  require('node:assert').strictEqual({name}(), {value});\n}});\n"
    )


@needs_node
@pytest.mark.parametrize(
    ("links", "sandbox"),
    [
        (NPM, "none"),
        (NPM, "landlock"),
        (PNPM, "none"),
        (PNPM, "bubblewrap"),
        (LINKED, "none"),
    ],
    ids=["npm", "npm-landlock", "pnpm", "pnpm-bubblewrap", "yarn-link"],
)
def test_a_change_of_one_package_that_breaks_another_does_not_land(workplace, links, sandbox):
    workplace.commit(
        {
            "package.json": '{"private": true, "workspaces": ["packages/*"]}',
            "packages/core/package.json": '{"name": "@x/core"}',
            "packages/core/index.js": "exports.v = () => 1;\n",
            "packages/app/package.json": '{"name": "app", "dependencies": {"@x/core": "*"}}',
            ".gitignore": "node_modules/\n",
        }
    )
    for path, target in links.items():
        link = workplace.root / path
        link.parent.mkdir(parents=True)
        link.symlink_to(target.format(root=workplace.root))
    workplace.plan(
        a_task(
            "TASK-001",
            "App",
            blocks={
                "packages/app/app.js": (
                    "const { v } = require('@x/core');\nexports.w = () => v() + 1;\n"
                ),
                "packages/app/app.test.js": node_test("./app.js", "w", 2),
            },
            tests=["node --test packages/app/app.test.js"],
        ),
        a_task(
            "TASK-002",
            "Core",
            needs=["TASK-001"],
            blocks={
                "packages/core/index.js": "exports.v = () => 41;\n",
                "packages/core/core.test.js": node_test("./index.js", "v", 41),
            },
            tests=["node --test packages/core/core.test.js"],
        ),
    )
    ended = workplace.run("--review", "off", "--sandbox", with_sandbox(sandbox))
    assert ended.code != 0, ended.said
    assert "TASK-001" in workplace.landings
    assert workplace.read("packages/core/index.js") == "exports.v = () => 1;\n", ended.said
    assert "breaks TASK-001" in ended.said, ended.said


@pytest.mark.parametrize("sandbox", ["none", "landlock", "bubblewrap"])
def test_a_member_of_a_uv_workspace_runs_the_proposed_library(workplace, sandbox):
    """An environment below the top, in which another package is installed in editable form."""
    workplace.commit(
        {
            ".gitignore": ".venv/\n__pycache__/\n",
            "libs/core/src/core/__init__.py": "def value():\n    return 1\n",
            "services/api/test_api.py": (
                "import unittest\n\nimport core\n\n\nclass ApiTest(unittest.TestCase):\n"
                "    def test_value(self):\n        self.assertEqual(core.value(), 1)\n"
            ),
        }
    )
    environment = workplace.root / "services/api/.venv"
    words = [sys.executable, "-m", "venv", "--without-pip", str(environment)]
    subprocess.run(words, check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "core.pth").write_text(f"{workplace.root / 'libs/core/src'}\n")
    line = 'test "$UV_NO_SYNC" = 1 && '
    line += "cd services/api && .venv/bin/python -m unittest -q test_api.py"
    loads = "services/api/.venv/bin/python -c 'import core; print(core.__file__)' > a.txt"
    workplace.plan(
        a_task("TASK-001", "Good", outputs=["a.txt"], command=loads, tests=[line]),
        a_task(
            "TASK-002",
            "Bad",
            blocks={"libs/core/src/core/__init__.py": "def value():\n    return 2\n"},
            tests=[line],
        ),
    )
    ended = workplace.run("--sandbox", with_sandbox(sandbox))
    assert workplace.landings == ["TASK-001"], ended.said
    assert "2 != 1" in ended.said, ended.said
    where = workplace.root if sandbox == "bubblewrap" else workplace.home / "cache"
    assert workplace.read("a.txt").startswith(str(where))


GO = {
    "go.work": "go 1.19\n\nuse ./app\nuse CORE\n",
    "core/go.mod": "module example.org/core\n\ngo 1.19\n",
    "core/core.go": "package core\n\nfunc Value() int { return 1 }\n",
    "app/go.mod": "module example.org/app\n\ngo 1.19\n",
    "app/app.go": (
        'package app\n\nimport "example.org/core"\n\nfunc Twice() int { return 2 * core.Value() }\n'
    ),
    "app/app_test.go": (
        'package app\n\nimport "testing"\n\nfunc TestTwice(t *testing.T) {\n'
        "\tif Twice() != 2 {\n\t\tt.Fatal(Twice())\n\t}\n}\n"
    ),
}
RUST = {
    "Cargo.toml": '[workspace]\nmembers = ["app"]\nexclude = ["core"]\nresolver = "2"\n',
    "core/Cargo.toml": '[package]\nname = "core-x"\nversion = "0.1.0"\nedition = "2021"\n',
    "core/src/lib.rs": "pub fn value() -> i32 {\n    1\n}\n",
    "app/Cargo.toml": (
        '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n\n'
        '[dependencies]\ncore-x = { path = "CORE" }\n'
    ),
    "app/src/lib.rs": ("#[test]\nfn is_twice() {\n    assert_eq!(2 * core_x::value(), 2);\n}\n"),
    ".gitignore": "target/\n",
}
LANGUAGES = {
    "go": (GO, "./core", "cd app && go test ./...", "core/core.go", "return 1", "return 2"),
    "cargo": (RUST, "../core", "cargo test --offline -q -p app", "core/src/lib.rs", "1\n}", "2\n}"),
}
"""Files, how one package names the other, the test, and a change that breaks it."""


@pytest.fixture(autouse=True)
def with_rust(monkeypatch):
    """A home of its own has no Rust; this one's is read."""
    rust = Path(pwd.getpwuid(os.getuid()).pw_dir, ".rustup")
    if rust.is_dir():
        monkeypatch.setenv("RUSTUP_HOME", str(rust))


def begin_workspace(workplace, language, name):
    if shutil.which(language) is None:
        pytest.skip(f"{language} is not installed")
    for path, text in LANGUAGES[language][0].items():
        workplace.write({path: text.replace("CORE", name)})
    workplace.commit()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_workspace_of_go_or_rust_is_built_of_proposed_code(workplace, language):
    files, name, line, path, old, new = LANGUAGES[language]
    begin_workspace(workplace, language, name)
    bad = files[path].replace(old, new)
    workplace.plan(a_task("TASK-001", "Bad", blocks={path: bad}, tests=[line]))
    ended = workplace.run("--sandbox", "none")
    assert workplace.landings == [], ended.said
    assert "TC-001 failed" in ended.said, ended.said


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_workspace_that_names_the_repository_itself_fails_the_proof(workplace, language):
    begin_workspace(workplace, language, str(workplace.root / "core"))
    line = LANGUAGES[language][2]
    workplace.plan(a_task("TASK-001", "Good", blocks={"app/a.txt": "a"}, tests=[line]))
    ended = workplace.run("--sandbox", "none")
    assert workplace.landings == [], ended.said
    assert "imported the installed copy of core" in ended.said, ended.said


def test_a_run_with_nothing_to_do_looks_for_no_dependencies(workplace, monkeypatch):
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a"}, tests=["test -s a.txt"]))
    assert workplace.run().code == 0
    monkeypatch.setattr("runner.run.worker_setup.find_shared_folders", None)
    assert workplace.run().code == 0
    assert workplace.runner("status").code == 0
