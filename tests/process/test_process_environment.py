"""A command sees the variables it needs and none that hold a key or load code."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
from pathlib import Path

import pytest

from runner.process.base import command_environment
from runner.process.environments import find_shared_folders, with_own_tools
from runner.process.tools import capture, run_interactive, which

OWN = str(Path(sys.executable).parent)


def test_credentials_and_loaders_stay_behind():
    parent = {
        "PATH": "/usr/bin",
        "HOME": "/home/u",
        "LC_ALL": "C",
        "AWS_SECRET_ACCESS_KEY": "x",
        "GITHUB_TOKEN": "x",
        "LD_PRELOAD": "/evil.so",
        "PYTHONPATH": "/evil",
        "PYTHONSTARTUP": "/evil.py",
        "BASH_ENV": "/evil",
        "GIT_DIR": "/elsewhere",
        "HTTPS_PROXY": "http://u:p@proxy",
    }
    kept = command_environment(parent)
    assert kept == {"PATH": f"/usr/bin:{OWN}", "HOME": "/home/u", "LC_ALL": "C"}


def test_a_person_passes_more_by_name_or_glob_but_loaders_only_by_name():
    parent = {"PATH": "/b", "DB_URL": "1", "DB_USER": "2", "LD_LIBRARY_PATH": "/cuda", "X": "3"}
    assert "LD_LIBRARY_PATH" not in command_environment(parent, pass_env=["*"])
    kept = command_environment(parent, pass_env=["DB_*", "LD_LIBRARY_PATH"])
    assert set(kept) == {"PATH", "DB_URL", "DB_USER", "LD_LIBRARY_PATH"}


def test_a_tasks_own_variables_win():
    kept = command_environment({"PATH": "/b", "TZ": "UTC"}, extra={"TZ": "CET", "STRIPE": "x"})
    assert (kept["TZ"], kept["STRIPE"]) == ("CET", "x")


def test_relative_folders_of_path_would_run_the_repositorys_programs():
    assert command_environment({"PATH": ".::bin:/usr/bin:/usr/bin"})["PATH"] == f"/usr/bin:{OWN}"
    assert command_environment({})["PATH"].endswith(OWN)


def test_which_finds_what_would_start(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho 1.2\n")
    assert which("tool", {"PATH": str(tmp_path)}) is None
    tool.chmod(0o755)
    (tmp_path / "folder").mkdir()
    assert which("tool", {"PATH": f"relative:{tmp_path}"}) == tool
    assert which("folder", {"PATH": str(tmp_path)}) is None
    assert which(str(tool), {}) == tool


def test_a_small_question_gets_its_answer(tmp_path):
    env = {"PATH": os.environ["PATH"]}
    assert capture(["sh", "-c", "echo 1; echo 2 >&2; exit 4"], tmp_path, env, 5) == (4, b"1\n2\n")
    assert capture(["no-such-tool"], tmp_path, env, 5)[0] == 127
    assert capture(["sh", "-c", "echo x; exec sleep 9"], tmp_path, env, 0.3) == (124, b"x\n")


def test_an_interactive_program_says_how_it_ended(tmp_path):
    assert run_interactive(["sh", "-c", "pwd > here; exit 3"], tmp_path) == 3
    assert (tmp_path / "here").read_text().strip() == str(tmp_path)
    assert run_interactive(["no-such-editor"], tmp_path) == 127


# --- a repository's own tools come first on the PATH of its commands ------------------


def an_environment(folder):
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (folder / "bin" / "python").write_text("")
    return folder


def path_of(root, *, home="/nobody", may_use=lambda _: True, **variables):
    given = {"HOME": str(home), "PATH": "/usr/bin:/bin", **variables}
    path = with_own_tools(given, root, may_use=may_use)["PATH"].split(os.pathsep)
    assert path[-2:] == ["/usr/bin", "/bin"]
    return path[:-2]


def short(path):
    return base64.urlsafe_b64encode(hashlib.sha256(str(path).encode()).digest()).decode()[:8]


@pytest.mark.parametrize("name", [".venv", "venv", "env"])
def test_an_environment_in_the_repository_comes_first(tmp_path, name):
    an_environment(tmp_path / name)
    assert path_of(tmp_path) == [str(tmp_path / name / "bin")]
    assert find_shared_folders(tmp_path) == (name,)
    given = {"PATH": f"/usr/bin:{sys.prefix}/bin"}
    assert with_own_tools(given, tmp_path, may_use=lambda _: True)["PATH"].endswith("bin:/usr/bin")


def test_the_first_of_several_is_taken(tmp_path):
    an_environment(tmp_path / "venv")
    an_environment(tmp_path / ".venv")
    assert path_of(tmp_path) == [str(tmp_path / ".venv" / "bin")]


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_what_the_person_activated_stays_first(tmp_path, variable):
    an_environment(tmp_path / ".venv")
    assert path_of(tmp_path, **{variable: "/elsewhere"}) == []


def test_a_folder_without_an_environment_is_none(tmp_path):
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("")
    assert path_of(tmp_path) == []


def test_what_may_not_be_used_is_left(tmp_path):
    an_environment(tmp_path / ".venv")
    (tmp_path / "node_modules" / ".bin").mkdir(parents=True)
    assert path_of(tmp_path, may_use=lambda _: False) == []
    assert path_of(tmp_path, may_use=lambda name: name == "node_modules") == [
        str(tmp_path / "node_modules" / ".bin")
    ]


def test_a_link_in_the_place_of_packages_shares_nothing_else(tmp_path):
    root, private = tmp_path / "shop", tmp_path / "private"
    for folder in (root, private, tmp_path / "whole" / "node_modules"):
        folder.mkdir(parents=True)
    (root / "node_modules").symlink_to(private)
    assert find_shared_folders(root) == ()
    (root / "node_modules").unlink()
    (root / "node_modules").symlink_to("../whole/node_modules")
    assert find_shared_folders(root) == ("node_modules",)


def test_packages_of_node_come_after_python(tmp_path):
    an_environment(tmp_path / ".venv")
    (tmp_path / "node_modules" / ".bin").mkdir(parents=True)
    found = path_of(tmp_path)
    assert [Path(one).relative_to(tmp_path).parts[0] for one in found] == [".venv", "node_modules"]


def test_poetry_keeps_it_by_the_folder_of_the_project(tmp_path):
    root, home = tmp_path / "shop", tmp_path / "home"
    root.mkdir()
    (root / "pyproject.toml").write_text('[tool.poetry]\nname = "My Shop"\n')
    cache = home / ".cache" / "pypoetry" / "virtualenvs"
    an_environment(cache / f"my_shop-{short('/elsewhere')}-py3.11")
    assert path_of(root, home=home) == []
    mine = an_environment(cache / f"my_shop-{short(os.path.realpath(root))}-py3.11")
    assert path_of(root, home=home) == [str(mine / "bin")]


def test_hatch_keeps_it_below_its_data(tmp_path):
    root, home = tmp_path / "shop", tmp_path / "home"
    root.mkdir()
    (root / "pyproject.toml").write_text('[project]\nname = "shop"\n[tool.hatch]\n')
    store = home / ".local" / "share" / "hatch" / "env" / "virtual"
    mine = an_environment(store / "shop" / short(root) / "shop")
    assert path_of(root, home=home) == [str(mine / "bin")]


def test_pdm_says_which_and_only_an_environment_is_believed(tmp_path):
    root = tmp_path / "shop"
    root.mkdir()
    mine = an_environment(tmp_path / "pdm")
    (root / ".pdm-python").write_text(f"{mine}/bin/python\n")
    assert path_of(root) == [str(mine / "bin")]
    secret = tmp_path / "secret" / "bin"
    secret.mkdir(parents=True)
    (root / ".pdm-python").write_text(f"{secret}/python\n")
    assert path_of(root) == []


def test_what_pdm_says_is_no_way_around_what_may_not_be_used(tmp_path, monkeypatch):
    mine = an_environment(tmp_path / "tools" / "python")
    monkeypatch.chdir(tmp_path)
    for said in (mine / "bin/python", "tools/python/bin/python", "./tools/python/bin/python"):
        (tmp_path / ".pdm-python").write_text(f"{said}\n")
        assert path_of(tmp_path, may_use=lambda name: name != "tools/python/bin") == []
    (tmp_path / ".pdm-python").write_text(f"{mine}/bin/python\n")
    assert path_of(tmp_path) == [str(mine / "bin")]


@pytest.mark.parametrize("name", ["a**b", "**", "..", "", "[", "a?", r"\u0000"])
@pytest.mark.parametrize("tool", ["poetry", "hatch"])
def test_a_name_that_is_no_name_leads_nowhere(tmp_path, name, tool):
    for store in (".cache/pypoetry/virtualenvs", ".local/share/hatch/env/virtual"):
        (tmp_path / "home" / store).mkdir(parents=True)
    table = f'[tool.poetry]\nname = "{name}"\n[tool.{tool}.x]\n'
    (tmp_path / "pyproject.toml").write_text(table)
    assert path_of(tmp_path, home=tmp_path / "home") == []


def test_a_folder_whose_name_is_no_text_has_its_environment_too(tmp_path):
    root, home = tmp_path / os.fsdecode(b"caf\xe9"), tmp_path / "home"
    root.mkdir()
    (root / "pyproject.toml").write_text('[project]\nname = "shop"\n[tool.poetry]\n')
    store = home / ".cache" / "pypoetry" / "virtualenvs"
    digest = hashlib.sha256(os.fsencode(root)).digest()
    known = base64.urlsafe_b64encode(digest).decode()[:8]
    mine = an_environment(store / f"shop-{known}-py3.12")
    assert path_of(root, home=home) == [str(mine / "bin")]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".tool-versions", "# ours\nnodejs 20.1.0 # long\npython 3.12.1\n"),
        ("mise.toml", '[tools]\nnode = "20.1.0"\npython = "3.12.1"\n'),
        (".mise.toml", '[tools]\nnode = "20.1.0"\npython = "3.12.1"\n'),
    ],
)
def test_versions_that_are_installed_are_taken(tmp_path, file, text):
    root, home = tmp_path / "shop", tmp_path / "home"
    root.mkdir()
    (root / file).write_text(text)
    assert path_of(root, home=home) == []
    node = home / ".local/share/mise/installs/node/20.1.0/bin"
    python = home / ".asdf/installs/python/3.12.1/bin"
    for folder in (node, python):
        folder.mkdir(parents=True)
    assert path_of(root, home=home) == [str(node), str(python)]


@pytest.mark.parametrize(
    "text", ["python ../../../secret\n", "../secret 1\n", "python\n", "\0\n", "python $HOME\n"]
)
def test_a_hostile_version_leads_nowhere(tmp_path, text):
    root, home = tmp_path / "shop", tmp_path / "home"
    root.mkdir()
    (home / "secret" / "bin").mkdir(parents=True)
    (home / ".asdf" / "installs" / "python").mkdir(parents=True)
    (root / ".tool-versions").write_text(text)
    assert path_of(root, home=home) == []


@pytest.mark.parametrize("text", ["[[[", "tool = 3\n", "\xff", "[project]\nname = 4\n"])
def test_a_manifest_that_cannot_be_read_is_none(tmp_path, text):
    (tmp_path / "pyproject.toml").write_text(text, encoding="latin-1")
    assert path_of(tmp_path) == []


def test_dependencies_are_found_in_every_folder_that_git_tracks(tmp_path):
    an_environment(tmp_path / "services/api/.venv")
    for path in ("node_modules", "packages/app/node_modules", "build/node_modules"):
        (tmp_path / path).mkdir(parents=True)
    folders = {"", "services", "services/api", "packages", "packages/app"}
    found = find_shared_folders(tmp_path, folders)
    assert found == ("node_modules", "packages/app/node_modules", "services/api/.venv")
    assert find_shared_folders(tmp_path, {*folders, "node_modules"}) == found[1:]


def test_no_dependency_is_found_behind_a_link(tmp_path):
    root = tmp_path / "shop"
    (tmp_path / "private/node_modules").mkdir(parents=True)
    root.mkdir()
    (root / "packages").symlink_to("../private")
    assert find_shared_folders(root, {"", "packages"}) == ()
