"""A repository told as one document: the same for the same commit, within bounds, nothing run."""

import json
import os

import pytest

from runner.app.build.discovered_gates import find_project_gates
from runner.app.inspect import repository_analysis
from runner.app.inspect.repository_analysis import analyse, analysis_document, as_document
from runner.project import Project

KEY = "HGFDSAPOIUYTREWQAIKA"[::-1]
SHOP = {
    "pyproject.toml": '[project]\nname = "shop"\ndependencies = ["pydantic>=2"]\n'
    '[build-system]\nbuild-backend = "hatchling.build"\n[tool.pytest.ini_options]\n[tool.ruff]\n',
    "src/shop/__init__.py": "",
    "src/shop/models.py": "class Booking: ...\n",
    "src/shop/api.py": "from shop.models import Booking\n\ndef book(): ...\n",
    "tests/test_api.py": "from shop.api import book\n\ndef test_it(): assert book() is None\n",
    "web/package.json": '{"name": "web", "devDependencies": {"vitest": "1"}}',
    "web/a.ts": 'import { b } from "./b";\n',
    "web/b.ts": "export const b = 1;\n",
    "FILE_OWNERSHIP_MAP.md": "| File | Tasks |\n|---|---|\n| `src/shop/api.py` | TASK-003 |\n",
}


def project(workplace):
    return Project.open(workplace.root, os.environ, plan_needed=False)


def test_stack_builds_tests_gates_packages_owners_imports_and_hot_files_are_told(workplace):
    workplace.commit(SHOP)
    workplace.commit({"src/shop/api.py": SHOP["src/shop/api.py"] + "# more\n"})
    found = analyse(project(workplace))
    assert (found.commit, found.stack[0], found.package_manager) == (
        workplace.head,
        "python",
        "pip",
    )
    assert found.dependencies == ("pydantic",)
    assert [(one.manifest, one.tool) for one in found.build_systems] == [
        ("pyproject.toml", "hatchling.build")
    ]
    assert [(one.name, one.command, one.files) for one in found.test_frameworks] == [
        ("pytest", "python -m pytest -q", 1)
    ]
    assert [one.command for one in found.gates] == ["ruff check .", "python -m pytest -q"]
    assert {(one.path, one.name) for one in found.packages} == {
        (".", "shop"), ("src/shop", "shop"), ("web", "web"),
    }  # fmt: skip
    assert [(one.file, one.tasks) for one in found.owners] == [("src/shop/api.py", ("TASK-003",))]
    by_path = {one.path: one for one in found.sources}
    assert "src/shop/models.py" in by_path["src/shop/api.py"].imports
    assert "src/shop/api.py" in by_path["tests/test_api.py"].imports
    assert by_path["web/a.ts"].imports == ("web/b.ts",)
    assert by_path["src/shop/models.py"].names == ("Booking",)
    assert [(one.path, one.commits) for one in found.hot_files] == [("src/shop/api.py", 2)]


@pytest.mark.parametrize(
    ("files", "name", "command"),
    [
        ({"test_a.py": "import unittest\n"}, "unittest", "python -m unittest discover -q"),
        ({"test_a.py": "import pytest\n"}, "pytest", "python -m pytest -q"),
        (
            {"t/test_a.py": "from unittest import TestCase\n"},
            "unittest", "python -m unittest discover -q -s ./t",
        ),
        ({"test_a.py": "from unittest import mock\n"}, "pytest", "python -m pytest -q"),
        (
            {"manage.py": "", "test_a.py": "from django.test import TestCase\n"},
            "django", "python manage.py test",
        ),
        (
            {"t/settings.py": "", "t/test_a.py": "from django.test import TestCase\n"},
            "django", "python -m django test --settings=t.settings",
        ),
        ({"go.mod": "module a\n", "a_test.go": "package a\n"}, "go test", "go test ./..."),
        (
            {"go.work": "go 1.19\nuse (\n\t./a\n\t./b/c\n)\n", "a/a_test.go": "package a\n"},
            "go test", "go test ./a/... ./b/c/...",
        ),
        ({"Cargo.toml": '[package]\nname = "a"\n'}, "cargo test", "cargo test"),
        (
            {"Cargo.toml": '[workspace]\n[package]\nname = "a"\n'},
            "cargo test", "cargo test --workspace",
        ),
        (
            {"package.json": '{"scripts": {"test": "vitest run"}}', "a.test.ts": ""},
            "vitest", "npm test --silent",
        ),
        ({"a.test.mjs": 'import test from "node:test";\n'}, "node --test", "node --test"),
    ],
)  # fmt: skip
def test_the_test_framework_is_told_by_manifests_or_by_what_tests_import(
    workplace, files, name, command
):
    workplace.commit(files)
    found = analyse(project(workplace))
    assert [(one.name, one.command) for one in found.test_frameworks] == [(name, command)]
    assert found.test_command == command


@pytest.mark.parametrize(
    ("files", "command"),
    [
        (
            {"pyproject.toml": "", "test_a.py": "import unittest\n"},
            "python -m unittest discover -q",
        ),
        ({"Cargo.toml": "[workspace]\n", "a/src/lib.rs": "#[test]\nfn a() {}\n"}, "cargo test"),
        ({"go.mod": "module a\n", "a_test.go": "package a\n"}, "go test ./..."),
    ],
)
def test_a_project_that_declares_no_tests_is_tested_by_what_they_are_written_with(
    workplace, files, command
):
    workplace.commit(files)
    assert command in [one.command for one in analyse(project(workplace)).gates]
    workplace.commit({"Makefile": "test:\n\techo all\n"})
    assert command not in [one.command for one in analyse(project(workplace)).gates]


def test_a_folder_of_another_language_is_tested_in_that_folder(workplace):
    scripts = '{"name": "web", "scripts": {"test": "node --test"}}'
    own = {"pyproject.toml": "[tool.pytest.ini_options]\n", "tests/test_a.py": ""}
    workplace.commit(own | {"web/package.json": scripts, "docs/requirements.txt": "sphinx\n"})
    gates = [(one.name, one.command) for one in analyse(project(workplace)).gates]
    web = ("tests-web", "cd web && npm run --silent test")
    assert gates == [("tests", "python -m pytest -q"), web]
    assert [one.from_root(one.gate.command) for one in find_project_gates(project(workplace))] == [
        "python -m pytest -q",
        f"sh: {web[1]}",
    ]


@pytest.mark.parametrize(
    "files",
    [
        {"Makefile": "test:\n\t$(MAKE) -C web test\n"},
        {"package.json": '{"workspaces": ["web"], "scripts": {"test": "node --test web"}}'},
    ],
)
def test_a_folder_that_the_root_tests_is_not_tested_again(workplace, files):
    web = {"web/package.json": '{"scripts": {"test": "node --test"}}'}
    workplace.commit(files | web)
    assert [one.name for one in analyse(project(workplace)).gates] == ["tests"]


def test_tests_of_installed_packages_are_not_the_project_s(workplace):
    """Somebody may commit an environment by mistake."""
    site = ".venv/lib/python3.11/site-packages"
    own = {"setup.py": "", "tests/test_a.py": "import unittest\n"}
    workplace.commit(own | {f"{site}/test_{n}.py": "import pytest\n" for n in range(3)})
    (found,) = analyse(project(workplace)).test_frameworks
    assert (found.command, found.files) == ("python -m unittest discover -q -s ./tests", 1)


def test_packages_of_a_workspace_are_tested_once(workplace):
    scripts = '{"scripts": {"test": "node --test"}}'
    root = '{"private": true, "workspaces": ["a"]}'
    files = {"package.json": root, "a/package.json": scripts, "a/a.test.js": "'node:test'\n"}
    workplace.commit(files)
    commands = [one.command for one in analyse(project(workplace)).gates]
    assert commands == ["npm run --silent --workspaces --if-present test"]


def test_the_same_commit_gives_the_same_bytes_whatever_lies_in_the_folder(workplace):
    workplace.commit(SHOP)
    fresh = as_document(analyse(project(workplace)))
    first = analysis_document(project(workplace))
    workplace.write({"src/shop/api.py": "import os\n", "extra.py": "", "pyproject.toml": "x"})
    assert first == fresh == analysis_document(project(workplace))
    assert as_document(analyse(project(workplace))) == fresh
    kept = project(workplace).cache / "analysis.json"
    kept.write_bytes(kept.read_bytes().replace(b"hatchling", b"hatchlung"))
    assert analysis_document(project(workplace)) == fresh, "a damaged cache is read anew"
    workplace.commit(message="all of it")
    assert analysis_document(project(workplace)) != fresh


def test_what_comes_with_a_clone_is_read_within_bounds_and_redacted(workplace, monkeypatch):
    monkeypatch.setattr(repository_analysis, "_MOST_ROWS", 3)
    monkeypatch.setattr(repository_analysis, "_MOST_FILES", 4)
    many = {f"p{at}/package.json": json.dumps({"name": f"n{at}"}) for at in range(9)}
    workplace.commit(
        {
            **many,
            "package.json": "[" * 100_000,
            "pyproject.toml": f'[project]\nname = "{KEY}"\n[build-system\n',
            "Cargo.toml": f'[package]\nname = "AKIA{KEY}"\n',
            ".env": "SECRET=1\n",
            **{f"m{at}.py": f"import m{at + 1}\n" for at in range(9)},
        }
    )
    (workplace.root / "link.py").symlink_to("/etc/passwd")
    workplace.commit()
    found = analyse(project(workplace))
    assert len(found.packages) == 3
    assert [one.path for one in found.sources] == [f"m{at}.py" for at in range(4)]
    assert set(found.cut) == {"packages: 3 of 12", "sources: 4 of 9"}
    assert any("pyproject.toml is not TOML" in note for note in found.notes)
    assert KEY not in as_document(found)


def test_before_the_first_commit_there_is_nothing_to_tell(workplace):
    workplace.write({"a.py": "import os\n"})
    found = analyse(project(workplace))
    assert (found.commit, found.files, found.sources) == ("", 0, ())
    assert found.notes == ("no commit yet",)
