"""Other repositories beside one's own are hidden from commands, but for what these need."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from process_bench import Bench, a_place

from runner.errors import RunnerError
from runner.gates.sandbox_denials import CommandBounds, find_met_bound
from runner.process.base import command_environment
from runner.process.other_trees import follow, other_trees, search
from runner.process.sandbox import choose_sandbox


def a_tree(path: Path, *, linked: bool = False) -> Path:
    """A work tree of git, or one that is linked to another's."""
    path.mkdir(parents=True)
    if linked:
        (path / ".git").write_text("gitdir: /elsewhere\n")
    else:
        (path / ".git").mkdir()
    (path / "private.txt").write_text("theirs\n")
    return path


def a_clock(*times: float):
    left = list(times)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with nothing in it, where what is found is kept."""
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return place


def hidden_from(shown: Path, home: Path, read: tuple[Path, ...] = (), **variables: object):
    """What is hidden for a repository, with these variables."""
    other_trees.cache_clear()
    told = {"HOME": home, "PATH": "/usr/bin:/bin", **variables}
    where = frozenset((name, str(value)) for name, value in told.items())
    found = other_trees(str(shown), where, read)
    return {path for path in found if path.startswith(str(shown.parent))}


# --- the search -----------------------------------------------------------------------


def test_trees_are_found_down_to_the_third_level_and_not_within_each_other(tmp_path):
    one = a_tree(tmp_path / "one")
    two = a_tree(tmp_path / "a/two", linked=True)
    three = a_tree(tmp_path / "a/b/three")
    a_tree(tmp_path / "a/b/c/four")
    a_tree(one / "vendored")
    (tmp_path / "link").symlink_to(one)
    found, left = search([str(tmp_path)], (), a_clock(0.0), 1.0)
    assert found == {str(one), str(two), str(three)}
    assert left == []


def test_when_the_time_is_up_the_rest_is_told_and_the_next_search_begins_there(tmp_path):
    for number in range(5):
        a_tree(tmp_path / f"group{number}" / "tree")
    found, left = search([str(tmp_path)], (), a_clock(0.0, 0.0, 0.0, 9.0), 1.0)
    assert len(found) == 1
    assert len(left) == 4
    rest, none = search([str(tmp_path)], left, a_clock(0.0), 1.0)
    assert (len(found | rest), none) == (5, [])


def test_what_was_found_is_kept_and_what_went_is_forgotten(tmp_path, home):
    shown, other = a_tree(tmp_path / "code/shop"), a_tree(tmp_path / "code/other")
    assert hidden_from(shown, home) == {str(other)}
    (kept,) = home.rglob("other-trees.json")
    assert str(other) in json.loads(kept.read_text())["trees"]
    shutil.rmtree(other)
    assert hidden_from(shown, home) == set()
    kept.write_text("no JSON")
    a_tree(other)
    assert hidden_from(shown, home) == {str(other)}


def test_neither_ones_own_tree_nor_one_around_it_is_hidden(tmp_path, home):
    around = a_tree(tmp_path / "code/around")
    shown = a_tree(around / "shop")
    beside = a_tree(around / "beside")
    assert hidden_from(shown, home) == {str(beside)}


# --- what is needed -------------------------------------------------------------------


def environment_at(root: Path) -> Path:
    packages = root / "lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (root / "bin").mkdir()
    (root / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return packages


def by_pth(shown, other):
    (environment_at(shown / ".venv") / "x.pth").write_text(f"{other}/src\n")


def by_editable_install(shown, other):
    info = environment_at(shown / ".venv") / "other-1.dist-info"
    info.mkdir()
    told = {"url": other.as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(told))


def by_editable_finder(shown, other):
    finder = environment_at(shown / ".venv") / "__editable___other_finder.py"
    finder.write_text(f"MAPPING = {{'other': '{other}/src/other'}}\n")


def by_file(name, text):
    def link(shown, _other):
        (shown / name).parent.mkdir(exist_ok=True)
        (shown / name).write_text(text)

    return link


def by_linked_package(shown, other):
    (shown / "node_modules/@scope").mkdir(parents=True)
    (shown / "node_modules/@scope/other").symlink_to(other)


def by_workspace_of_a_package(shown, _other):
    (shown / "packages/web").mkdir(parents=True)
    (shown / "packages/web/package.json").write_text(
        '{"dependencies": {"o": "link:../../../other"}}'
    )


LINKS = {
    "pth": by_pth,
    "editable install": by_editable_install,
    "editable finder": by_editable_finder,
    "go.work": by_file("go.work", "go 1.19\n\nuse (\n\t.\n\t../other\n)\n"),
    "go.mod": by_file("go.mod", "module shop\n\nreplace example.org/other => ../other\n"),
    "npm link": by_linked_package,
    "package.json": by_file("package.json", '{"dependencies": {"other": "file:../other"}}'),
    "a package's own": by_workspace_of_a_package,
    "Cargo.toml": by_file("Cargo.toml", '[dependencies]\nother = { path = "../other" }\n'),
    "pyproject.toml": by_file("pyproject.toml", '[tool.uv.sources]\no = { path = "../other" }\n'),
    "requirements.txt": by_file("requirements.txt", "-e ../other\n"),
}


@pytest.mark.parametrize("link", LINKS)
def test_what_a_project_is_linked_to_is_never_hidden(tmp_path, home, link):
    shown, other = a_tree(tmp_path / "code/shop"), a_tree(tmp_path / "code/other")
    third = a_tree(tmp_path / "code/third")
    assert hidden_from(shown, home) == {str(other), str(third)}
    LINKS[link](shown, other)
    assert hidden_from(shown, home) == {str(third)}


@pytest.mark.parametrize("name", ["requirements.txt", "go.work", "go.mod", "pyproject.toml"])
def test_a_clones_own_files_are_read_in_linear_time(tmp_path, home, name):
    shown, other = a_tree(tmp_path / "code/shop"), a_tree(tmp_path / "code/other")
    (shown / name).write_text("\n" * 16_000 + "x\n")
    began = time.thread_time()
    assert hidden_from(shown, home) == {str(other)}
    assert time.thread_time() - began < 8


def test_what_no_path_can_be_in_a_clones_files_is_passed_over(tmp_path, home):
    shown, other = a_tree(tmp_path / "code/shop"), a_tree(tmp_path / "code/other")
    (shown / "package.json").write_bytes(b'{"dependencies": {"a": "file:../\0", "b": "file:../x"}}')
    (environment_at(shown / ".venv") / "a.pth").write_bytes(b"/a\0b\n")
    assert hidden_from(shown, home) == {str(other)}


@pytest.mark.parametrize(
    ("name", "below"),
    [
        ("PATH", "bin"),
        ("LD_LIBRARY_PATH", "lib"),
        ("PYTHONPATH", "src"),
        ("CARGO_HOME", ""),
        ("GOPATH", ""),
        ("JAVA_HOME", ""),
        ("NVM_DIR", ""),
        ("CONDA_PREFIX", ""),
        ("VIRTUAL_ENV", ""),
    ],
)
def test_what_a_variable_points_to_is_never_hidden(tmp_path, home, name, below):
    shown, other = a_tree(tmp_path / "code/shop"), a_tree(tmp_path / "code/other")
    for folder in ("bin", "registry", "pkg", below):
        (other / folder).mkdir(exist_ok=True)
    assert hidden_from(shown, home) == {str(other)}
    assert hidden_from(shown, home, **{name: other / below}) == set()


def test_what_a_program_on_path_is_a_link_to_is_never_hidden(tmp_path, home):
    shown, other = a_tree(tmp_path / "code/shop"), a_tree(tmp_path / "code/other")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "tool").symlink_to(other / "private.txt")
    assert hidden_from(shown, home, PATH=programs) == set()


def test_what_a_person_wants_to_be_read_is_not_hidden(tmp_path, home):
    shown, other = a_tree(tmp_path / "code/shop"), a_tree(tmp_path / "code/other")
    assert hidden_from(shown, home, (other,)) == set()


def test_the_interpreter_that_runs_is_never_hidden(home):
    shown = Path(sys.prefix).parent / "beside"
    found = hidden_from(shown, home)
    assert not any(Path(sys.prefix).is_relative_to(path) for path in found)


# --- in the sandbox -------------------------------------------------------------------


@pytest.fixture
def outside():
    """A folder that no sandbox hides for its place."""
    for parent in ("/srv", "/opt", "/mnt"):
        if os.access(parent, os.W_OK):
            folder = Path(tempfile.mkdtemp(prefix="runner-trees-", dir=parent))
            yield folder
            # Runs of other tests hide the trees that they find here: while it goes, none begins.
            for git in folder.rglob(".git"):
                shutil.rmtree(git)
            time.sleep(0.5)
            shutil.rmtree(folder)
            return
    pytest.skip("nothing but folders that are hidden anyway can be written here")


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_a_command_cannot_read_the_repository_beside_its_own(outside, home, kind):
    other_trees.cache_clear()
    shown, other = a_tree(outside / "shop"), a_tree(outside / "group/other")
    (outside / "notes.txt").write_text("no tree\n")
    try:
        sandbox = choose_sandbox(kind)
    except RunnerError as error:
        pytest.skip(f"{kind}: {error}")
    place = replace(a_place(outside / "slots"), shown=shown)
    context = Bench(place, sandbox)
    environ = command_environment({**os.environ, "HOME": str(home)})
    line = f"cat {other}/private.txt || echo hidden; cat {outside}/notes.txt"
    said = context.says(line, environment=environ)
    assert "theirs" not in said
    assert "hidden" in said
    assert said.endswith("no tree\n")  # the tree, and not what holds it


def test_a_repository_that_goes_while_a_run_goes_on_stops_no_command(outside, home):
    other_trees.cache_clear()
    shown, other = a_tree(outside / "shop"), a_tree(outside / "other")
    try:
        sandbox = choose_sandbox("bubblewrap")
    except RunnerError as error:
        pytest.skip(f"no bubblewrap: {error}")
    place = replace(a_place(outside / "slots"), shown=shown)
    environ = command_environment({**os.environ, "HOME": str(home)})
    context = Bench(place, sandbox)
    assert context.says(f"ls {other}", environment=environ) == ""
    shutil.rmtree(other)
    assert context.says("echo on", environment=environ) == "on\n"


def test_a_failing_command_that_names_a_hidden_tree_is_told_what_shows_it():
    bounds = CommandBounds(enclosed=True, others=("/srv/code/other",), own=("/srv/code/shop",))
    tail = "FileNotFoundError: [Errno 2] No such file or directory: '/srv/code/other/x.json'"
    said = find_met_bound(tail, 1, bounds)
    assert "/srv/code/other, a path of another repository" in said
    assert 'sandbox.read = ["/srv/code/other"] in ~/.config/runner/runner.toml' in said
    assert find_met_bound(tail.replace("other", "others"), 1, bounds) == ""


def test_where_a_path_leads_is_what_the_standard_library_says(tmp_path):
    (tmp_path / "one" / "two").mkdir(parents=True)
    (tmp_path / "one" / "file").write_text("")
    links = {
        "to-file": "one/file",
        "up": "one/two/../file",
        "folder": "one/two",
        "through": "folder/../file",
        "absolute": str(tmp_path / "to-file"),
        "chain": "absolute",
        "gone": "one/nothing/more",
        "round": "round",
        "there": "back",
        "back": "there",
        "here": ".",
        "parent": "..",
        "root": "/",
        "top": "/usr",
    }
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    (tmp_path / "one" / "beside").symlink_to("../here/to-file")
    asked = [str(tmp_path / name) for name in (*links, "one/beside", "folder/x", "gone/x", "none")]
    asked += [f"{tmp_path}/one/", f"{tmp_path}/one/.", f"{tmp_path}/folder/..", "/", "//", "/usr"]
    asked += ["relative/path", ".", ""]
    folders = {}
    assert [follow(one, folders) for one in asked] == list(map(os.path.realpath, asked))
