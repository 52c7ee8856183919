"""What files of each language refer to, and where a command begins."""

from __future__ import annotations

import ast

import pytest
from impact_build import House, a_task, code, names, reasons

from runner.impact.targets import target_of
from runner.languages.python import names as names_module
from runner.languages.registry import language_of


def reaches(files, changed, *, test):
    """Whether a change of one file reaches a test contract that names another."""
    house = House(files, [a_task("TASK-001", f"run-it {test}")])
    before = house.files[changed]
    from runner.impact.change import Changed

    found = house.ask(Changed(changed, before, before + b"\nvar_x = 1\n"))
    return names(found) == {"TASK-001": ("TC-001",)}


@pytest.mark.parametrize(
    ("importer", "statement", "imported"),
    [
        ("tests/test_a.py", "import pkg.a", "pkg/a.py"),
        ("tests/test_a.py", "import pkg.sub.a", "pkg/__init__.py"),
        ("tests/test_a.py", "from pkg import a", "pkg/a.py"),
        ("tests/test_a.py", "from pkg.sub import a", "src/pkg/sub/a.py"),
        ("tests/test_a.py", "from pkg.sub import a", "packages/one/src/pkg/sub/a.py"),
        ("pkg/sub/b.py", "from . import a", "pkg/sub/a.py"),
        ("pkg/sub/b.py", "from .a import x", "pkg/sub/a.py"),
        ("pkg/sub/b.py", "from ..other.a import x", "pkg/other/a.py"),
        ("pkg/sub/b.py", "from .. import x", "pkg/__init__.py"),
        ("pkg/sub/b.py", "x = 1", "pkg/__init__.py"),
        ("tests/test_a.py", "import helper", "tests/helper.py"),
        ("tests/test_a.py", "def f():\n    from pkg import a", "pkg/a.py"),
        ("tests/test_a.py", "import importlib\nimportlib.import_module('pkg.a')", "pkg/a.py"),
        ("pkg/b.py", "import importlib\nimportlib.import_module('.a', __package__)", "pkg/a.py"),
        ("tests/test_a.py", "import pytest\npytest.importorskip('pkg.a')", "pkg/a.py"),
        ("tests/unit/test_a.py", "x = 1", "tests/conftest.py"),
        ("tests/test_a.py", "from unittest.mock import patch\npatch('pkg.a.f')", "pkg/a.py"),
        ("tests/conftest.py", "pytest_plugins = ['plugins.db']", "plugins/db.py"),
        ("tests/conftest.py", "pytest_plugins: list[str] = ['plugins']", "plugins.py"),
        ("tests/a.py", "import importlib\nimportlib.import_module(name='pkg')", "pkg.py"),
        ("web/a.ts", "import {x} from './b'", "web/b.ts"),
        ("web/a.ts", "import {x} from './b.js'", "web/b.ts"),
        ("web/a.ts", "export * from '../lib'", "lib/index.tsx"),
        ("web/a.js", "const b = require('./b')", "web/b.js"),
        ("web/a.js", "const b = await import(\n  `./b`)", "web/b.mjs"),
        ("web/a.ts", "import type {X} from '@/types/x'", "src/types/x.ts"),
        ("web/a.test.js", "jest.mock('../src/b', () => 1)", "src/b.js"),
        ("web/a.js", "import './style.css'", "web/style.css"),
        ("cmd/a.go", 'package main\nimport "example.com/m/pkg/db"', "pkg/db/store.go"),
        ("cmd/a.go", 'package main\nimport (\n  "fmt"\n  q "m/pkg/db"\n)', "pkg/db/store.go"),
        ("cmd/a.go", 'import (\n  "fmt" // Println()\n  "m/pkg/db" // "(\n)', "pkg/db/store.go"),
        ("cmd/a.go", 'import (\n  /* (a) */ "fmt"\n  "m/pkg/db"\n)', "pkg/db/store.go"),
        ("pkg/a_test.go", "package pkg", "pkg/b.go"),
        ("pkg/a.go", "package pkg\n//go:embed static/*\nvar x embed.FS", "pkg/static/x.html"),
        ("src/lib.rs", "mod db;", "src/db.rs"),
        ("src/lib.rs", "pub mod db;", "src/db/mod.rs"),
        ("src/db.rs", "mod pool;", "src/db/pool.rs"),
        ("src/api.rs", "use crate::{db::Pool, other};", "src/db.rs"),
        ("src/db/pool.rs", "use super::row::Row;", "src/db/row.rs"),
        ("src/a.rs", 'const X: &str = include_str!("../sql/x.sql");', "sql/x.sql"),
    ],
)
def test_a_reference_is_followed(importer, statement, imported):
    packages = {
        f"{folder}/__init__.py": b""
        for path in (importer, imported)
        if path.endswith(".py") and "pkg" in path
        for folder in [path.rpartition("/")[0]]
    }
    files = {**packages, importer: statement.encode(), imported: b""}
    assert reaches(files, imported, test=importer)


def test_packages_are_found_by_the_name_in_their_manifest():
    files = {
        "libs/core/package.json": b'{"name": "@acme/core", "main": "./lib/main.js"}',
        "libs/core/lib/main.js": b"export * from './inner'",
        "libs/core/lib/inner.js": b"",
        "web/a.test.js": b"import {x} from '@acme/core'",
        "web/package.json": b'{"imports": {"#db": ["./src/db.js"], "#lib/*": "./src/lib/*.js"}}',
        "web/src/db.js": b"",
        "web/src/lib/text.js": b"",
        "web/b.test.js": b"import {x} from '#db'",
        "web/c.test.js": b"import {x} from '#lib/text'",
        "crates/db/Cargo.toml": b'[package]\nname = "acme-db"\n',
        "crates/db/src/lib.rs": b"mod pool;",
        "crates/db/src/pool.rs": b"",
        "app/tests/it.rs": b"use acme_db::pool::Pool;",
        "svc/go.mod": b"module example.com/acme\n",
        "svc/root.go": b"package acme",
        "cmd/main.go": b'package main\nimport "example.com/acme"',
    }
    assert reaches(files, "libs/core/lib/inner.js", test="web/a.test.js")
    assert reaches(files, "web/src/db.js", test="web/b.test.js")
    assert reaches(files, "web/src/lib/text.js", test="web/c.test.js")
    assert reaches(files, "crates/db/src/pool.rs", test="app/tests/it.rs")
    assert reaches(files, "svc/root.go", test="cmd/main.go")


def test_what_nobody_refers_to_is_not_reached():
    files = {
        "web/a.js": b"import 'react'",
        "web/b.js": b"",
        "pkg/a.py": b"",
        "tests/test_a.py": b"",
    }
    assert not reaches(files, "web/b.js", test="web/a.js")
    assert not reaches(files, "pkg/a.py", test="tests/test_a.py")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "from importlib import import_module as load\nload(name)"),
        ("a.py", "import importlib\nload = importlib.import_module"),
        ("a.py", "import importlib\nimportlib.import_module('b')\nload = importlib.import_module"),
        ("a.py", "from importlib import import_module\nlist(map(import_module, names))"),
        ("a.py", "import importlib\nimportlib.import_module(name=name)"),
        ("a.js", "require('./plugins/' + name)"),
        ("a.js", 'await import("./plugins/" .concat(name))'),
        ("a.ts", "await import(`./plugins/` + name)"),
    ],
)
def test_a_name_that_is_made_at_run_time_may_be_any(path, text):
    language = language_of(path)
    assert set(language.wide) & language.imports_of(path, text.encode())


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "from importlib import import_module\nimport_module('b')"),
        ("a.js", "require('./plugins/a' )"),
        ("a.ts", "await import('./a', {with: {type: 'json'}})"),
    ],
)
def test_a_name_that_is_written_is_that_one(path, text):
    language = language_of(path)
    assert not set(language.wide) & language.imports_of(path, text.encode())


def test_the_syntax_tree_of_a_python_file_is_walked_once(monkeypatch):
    walked = []
    walk = ast.walk
    monkeypatch.setattr(names_module.ast, "walk", lambda tree: walked.append(tree) or walk(tree))
    content = b"from importlib import import_module as load\nload(name)\n"
    assert names_module.DYNAMIC in names_module.imports_of("a.py", content)
    assert len(walked) == 1


def test_any_bytes_are_read_without_complaint():
    junk = bytes(range(256)) * 4 + b"'\"`{(\\"
    for path in ("a.py", "a.ts", "package.json", "a.go", "go.mod", "a.rs", "Cargo.toml"):
        language = language_of(path)
        assert isinstance(language.imports_of(path, junk), frozenset)
        assert language.names_of is None or isinstance(language.names_of(path, junk), frozenset)
        language.keys_of(path)


# --- commands ---------------------------------------------------------------------------


class Places:
    FILES = frozenset(
        (
            *("tests/test_a.py", "src/app/cli.py", "web/a.test.ts", "tool.sh", "server.js"),
            *("rows.csv", "tests/test b.py", "tests/test_ä.py", "tests/[id].py"),
        )
    )

    def is_file(self, path):
        return path in self.FILES

    def is_folder(self, path):
        return any(file.startswith(path + "/") for file in self.FILES)


@pytest.mark.parametrize(
    ("command", "files", "folders"),
    [
        ("python -m pytest -q tests/test_a.py", ["tests/test_a.py"], []),
        ("tests/test_a.py::test_x[1]", ["tests/test_a.py"], []),
        ("pytest -k 'a or b' ./tests/", [], ["tests"]),
        ("pytest --cov=src tests -m slow", [], ["tests"]),
        ("cd web && npx vitest a.test.ts", ["web/a.test.ts"], []),
        ("cd web && npm test", [], ["web"]),
        ("(cd web && npm test) && pytest tests/test_a.py", ["tests/test_a.py"], ["web"]),
        ("(cd web && npm test);pytest tests/test_a.py", ["tests/test_a.py"], ["web"]),
        ("(cd web; (true);npx vitest a.test.ts)", ["web/a.test.ts"], []),
        ("cd web && pytest ../tests/test_a.py", ["tests/test_a.py"], []),
        ("cd web && cd .. && pytest tests/test_a.py", ["tests/test_a.py"], []),
        ("cd web\nnpx vitest a.test.ts", ["web/a.test.ts"], []),
        ("pytest tests/test_a.py 'tests/test b.py'", ["tests/test_a.py", "tests/test b.py"], []),
        ("pytest tests/test_a.py tests/test_ä.py", ["tests/test_a.py", "tests/test_ä.py"], []),
        ("pytest 'tests/[id].py'", ["tests/[id].py"], []),
        ("PYTHONPATH=src python tests/test_a.py", ["tests/test_a.py"], []),
        ("go test ./web/...", [], ["web"]),
        ("node server", ["server.js"], []),
        ("cat rows.csv | grep -q 1", ["rows.csv"], []),
    ],
)
def test_a_command_that_names_what_it_tests_is_narrow(command, files, folders):
    found = target_of(command, Places())
    assert (list(found.files), list(found.folders), found.is_whole) == (files, folders, False)


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "make test",
        "cargo test --test web",
        "npm test -- web/a.test.ts",
        "sh tool.sh tests/test_a.py",
        "./tool.sh",
        "pytest $FILES",
        "pytest tests/*.py",
        "python -m mypy",
        "docker run user/image",
        "pytest 'tests",
        "true",
        "pytest --config tests/test_a.py",
        "pytest tests/test_a.py && make lint",
        "pytest tests/test_gone.py",
        "pytest tests/test_a.py tests/test_[bc].py",
        "pytest ../tests/test_a.py",
    ],
)
def test_a_command_that_leaves_a_doubt_is_about_everything(command):
    assert target_of(command, Places()).is_whole


def test_modules_of_a_command_are_followed():
    files = {
        "src/app/__init__.py": b"",
        "src/app/cli.py": "import app.db\n",
        "src/app/db.py": "X = 1\n",
    }
    for command in ("python -m app.cli --help", "python3 -c 'import app.cli'"):
        house = House(files, [a_task("TASK-001", command)])
        assert names(house.edit("src/app/db.py", "1", "2")) == {"TASK-001": ("TC-001",)}
        assert reasons(house.edit("src/app/db.py", "1", "2")) == [
            "imports: src/app/cli.py imports src/app/db.py"
        ]
    house = House(
        {**files, "tests/test_a.py": code("import app.db\n")},
        [a_task("TASK-001", "python -m unittest -q tests.test_a")],
    )
    assert names(house.edit("src/app/db.py", "1", "2")) == {"TASK-001": ("TC-001",)}
