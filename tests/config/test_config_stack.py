import json
import os

import pytest

from runner.config.loading import load_settings
from runner.config.stack import Stack, detect_stack


def test_an_empty_folder_declares_nothing(tmp_path):
    assert detect_stack(tmp_path) == Stack()


def test_a_python_project_names_its_manager_and_dependencies(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["SQLAlchemy>=2", "pydantic [email] ; python_version > \'3\'"]\n'
    )
    (tmp_path / "uv.lock").touch()
    stack = detect_stack(tmp_path)
    assert (stack.names, stack.package_manager) == (("python",), "uv")
    assert stack.tools == ("python3", "uv")
    assert stack.words == {"python", "sqlalchemy", "pydantic"}


def test_a_node_project_with_types_and_a_makefile(tmp_path):
    manifest = {"scripts": {"test": "vitest"}, "devDependencies": {"React": "19"}}
    (tmp_path / "package.json").write_text(json.dumps(manifest))
    (tmp_path / "pnpm-lock.yaml").touch()
    (tmp_path / "tsconfig.json").touch()
    (tmp_path / "Makefile").write_text("CC := gcc\n.PHONY: lint\nlint: deps\n\truff\nlint: more\n")
    stack = detect_stack(tmp_path)
    assert stack.names == ("node", "typescript", "make")
    assert stack.package_manager == "pnpm"
    assert stack.commands == (("npm:test", "vitest"), ("make:lint", "make lint"))
    assert "react" in stack.words


def test_go_and_rust_are_known(tmp_path):
    (tmp_path / "go.mod").touch()
    (tmp_path / "Cargo.toml").write_text('[dependencies]\nserde = "1"\n')
    stack = detect_stack(tmp_path)
    assert stack.names == ("go", "rust")
    assert stack.tools == ("go", "cargo")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("package.json", b"{"),
        ("package.json", b"[1]"),
        ("package.json", b"[" * 100_000),
        ("package.json", b" " * ((1 << 20) + 1)),
        ("pyproject.toml", b"= ["),
        ("pyproject.toml", b"a = " + b"[" * 100_000),
        ("Cargo.toml", b"\xff\xfe"),
    ],
)
def test_hostile_manifests_become_a_note(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    stack = detect_stack(tmp_path)
    assert len(stack.notes) == 1
    assert stack.notes[0].startswith(name)


@pytest.mark.parametrize(
    "document",
    [
        {"scripts": [1], "dependencies": "x", "packageManager": 7},
        {"scripts": {"a": 1}, "packageManager": "evil;rm"},
    ],
)
def test_wrong_shapes_declare_nothing(tmp_path, document):
    (tmp_path / "package.json").write_text(json.dumps(document))
    stack = detect_stack(tmp_path)
    assert (stack.names, stack.package_manager, stack.commands) == (("node",), "npm", ())


def test_links_and_fifos_are_not_read(tmp_path):
    (tmp_path / "elsewhere").write_text("lint:\n")
    (tmp_path / "Makefile").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "package.json")
    assert detect_stack(tmp_path).names == ()


# --- what work may cost ---------------------------------------------------------------


@pytest.fixture
def loaded(tmp_path):
    def load(mine, theirs):
        home, root = tmp_path / "home", tmp_path / "shop"
        file = home / ".config/runner/runner.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        root.mkdir(exist_ok=True)
        file.write_text(mine)
        (root / "runner.toml").write_text(theirs)
        return load_settings(root, {"HOME": str(home)}, {})

    return load


@pytest.mark.parametrize(
    "name", ["budget.run_dollars", "budget.dollars", "budget.attempt_tokens", "budget.tool_calls"]
)
def test_a_repository_cannot_raise_what_the_person_allows(loaded, name):
    found = loaded(f"{name} = 5\n", f"{name} = 1000000\n")
    assert found.value_of(name) == 5
    note = f"runner.toml:1: {name} = 1000000 is ignored: your own settings allow at most 5"
    assert [said.replace(".0", "") for said in found.notes] == [note]


def test_it_may_lower_it_and_set_what_the_person_leaves_open(loaded):
    found = loaded(
        "budget.run_dollars = 5.0\n",
        "budget.run_dollars = 2.0\nbudget.tokens = 900\nbudget.minutes = 90\n",
    )
    assert (found.settings.budget.run_dollars, found.settings.budget.tokens) == (2.0, 900)
    assert found.settings.budget.minutes == 90
    assert found.notes == ()
