"""A command that lacks a file of the work tree is told which, and why it is not there."""

import subprocess

import pytest

from runner.gates.absent_files import explain_absent
from runner.process.base import Place

IGNORED = "*.d.ts\n_version.py\n*.gen.json\n/gen/\n.env\nbuild/\n.pytest_cache/\nnode_modules/\n"
TRACKED = {
    ".gitignore": IGNORED,
    "pkg/__init__.py": "from pkg._version import v\n",
    "src/lib/__init__.py": "from . import _version\n",
    "web/index.js": "require('./x.gen.json')\n",
    "suite.js": "require('./web')\n",
    "cmd/main.go": "//go:embed data.gen.json\n",
    "rust/src/main.rs": "mod new;\n",
}
UNSEEN = {
    "pkg/_version.py": "v = 1\n",
    "src/lib/_version.py": "v = 1\n",
    "web/x.gen.json": "{}",
    "suite.d.ts": "",
    "cmd/data.gen.json": "{}",
    "gen/api/api.go": "package api\n",
    ".env": "A=1\n",
    "build/out.js": "",
    ".pytest_cache/x": "",
    "rust/src/new.rs": "",
    "my file.txt": "",
}


def write(folder, files):
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def git(folder, *words):
    name = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def place(tmp_path):
    real, tree = tmp_path / "real", tmp_path / "slot/tree"
    real.mkdir()
    git(real, "init", "-q", "-b", "main")
    write(real, TRACKED)
    git(real, "add", "-A")
    git(real, "commit", "-qm", "begin")
    write(real, UNSEEN)
    write(tree, TRACKED)
    return Place(tree=tree, shown=real, box=tmp_path / "slot/box")


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("ModuleNotFoundError: No module named 'pkg._version'", "/pkg/_version.py"),
        ("No module named pkg._version", "/pkg/_version.py"),
        ("ModuleNotFoundError: No module named 'lib._version'", "/src/lib/_version.py"),
        (
            "ImportError: cannot import name '_version' from 'lib' ({shown}/src/lib/__init__.py)",
            "/src/lib/_version.py",
        ),
        (
            "Error: Cannot find module './x.gen.json'\nRequire stack:\n- {shown}/web/index.js",
            "/web/x.gen.json",
        ),
        ("Error: ENOENT: no such file or directory, open '{tree}/.env'", "/.env"),
        (
            "cmd/main.go:4:12: pattern data.gen.json: no matching files found",
            "/cmd/data.gen.json",
        ),
        (
            "main.go:3:2: package example.com/shop/gen/api is not in std",
            "/gen/",
        ),
        ("cat: .env: No such file or directory", "/.env"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'build/out.js'", "/build/"),
    ],
)
def test_an_ignored_file_is_named_with_the_line_that_brings_it(place, output, line):
    shown = output.format(shown=place.shown, tree=place.tree)
    told = explain_absent(place, shown, "make test")
    assert "is ignored by git" in told
    assert f"add {line} to .worktreeinclude" in told


@pytest.mark.parametrize(
    ("output", "typed"),
    [
        ("error: couldn't read rust/src/new.rs: No such file", "git add rust/src/new.rs"),
        (
            'create file "src/new.rs" for module new; see rust/src/main.rs',
            "git add rust/src/new.rs",
        ),
        ("cannot open 'my file.txt'", "git add 'my file.txt'"),
    ],
)
def test_an_untracked_file_is_named_with_what_to_type(place, output, typed):
    assert typed in explain_absent(place, output, "make test")


def test_a_silent_command_fails_on_what_it_names(place):
    assert "/.env to .worktreeinclude" in explain_absent(place, "", "test -f .env")


def test_a_file_inside_a_repository_of_its_own_is_said_to_be_there(place):
    write(place.shown, {"vendor/lib/x.py": "", ".gitmodules": ""})
    git(place.shown / "vendor/lib", "init", "-q")
    told = explain_absent(place, "No such file: vendor/lib/x.py", "make")
    assert "vendor/lib/x.py is inside the submodule vendor/lib" in told


@pytest.mark.parametrize(
    "output",
    [
        "",
        "AssertionError: assert 1 == 2",
        "ModuleNotFoundError: No module named 'requests'",
        "cachedir: .pytest_cache",
        "FAILED pkg/__init__.py: No such file or directory: '/etc/nothing'",
        "Cannot find module 'node_modules/x'",
    ],
)
def test_what_both_trees_have_and_what_neither_has_is_no_cause(place, output):
    write(place.shown, {"node_modules/x/index.js": ""})
    assert explain_absent(place, output, "make test") == ""


def test_a_name_that_a_file_of_both_trees_has_is_no_cause(place):
    assert explain_absent(place, "  type: 'suite'\n  1 !== 2\n", "node --test") == ""


def test_where_there_is_no_work_tree_nothing_is_said(place, tmp_path):
    elsewhere = Place(tree=place.tree, shown=tmp_path / "none", box=place.box)
    assert explain_absent(elsewhere, "cat: .env: No such file", "cat .env") == ""
