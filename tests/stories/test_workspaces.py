"""Packages of one repository that use each other: a proof loads the proposed one."""

import shutil
import subprocess
import sys

import pytest
from workplace import a_task

from runner.errors import RunnerError
from runner.process.sandbox import choose_sandbox

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
NPM = {"node_modules/@x/core": "../../packages/core"}
"""Links as `npm install`, `pnpm install` and `yarn link` make them."""
PNPM = {
    "packages/app/node_modules/@x/core": "../../../core",
    "node_modules/.pnpm/node_modules/@x/core": "../../../../packages/core",
}
LINKED = {"packages/app/node_modules/@x/core": "{root}/packages/core"}


def with_sandbox(name):
    try:
        choose_sandbox(name)
    except RunnerError as missing:
        pytest.skip(missing.message)
    return name


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
    line = "cd services/api && .venv/bin/python -m unittest -q test_api.py"
    workplace.plan(
        a_task("TASK-001", "Good", blocks={"libs/core/a.txt": "a"}, tests=[line]),
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
