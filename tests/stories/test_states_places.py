"""Where a repository may be and what may be in it: folders, worktrees, modules, odd names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from workplace import NO_PROOF, Workplace, a_task, with_sandbox

TEST = """\
import unittest

from shop.price import price


class PriceTest(unittest.TestCase):
    def test_price(self):
        self.assertEqual(price(2), 20)
"""
GOOD = "def price(number):\n    return number * 10\n"
BAD = "def price(number):\n    return number * 11\n"


def test_a_project_below_the_top_of_its_repository(workplace):
    workplace.commit({"README.md": "the top\n", "other/mine.txt": "1\n"})
    below = Workplace(workplace.root / "services/shop", workplace.home)
    below.plan(
        a_task(
            "TASK-001",
            "Price",
            blocks={"shop/__init__.py": "", "shop/price.py": GOOD, "tests/test_price.py": TEST},
            tests=["python3 -m unittest -q tests/test_price.py"],
        ),
        a_task(
            "TASK-002",
            "Where",
            needs=["TASK-001"],
            outputs=["where.txt"],
            command='pwd > where.txt; ls >> where.txt; test -e "$RUNNER_BRIEF"',
            fields=["Gates:\n  - here: `sh: test -e shop/price.py && test -e TASK-GRAPH.md`"],
        ),
        a_task(
            "TASK-003",
            "Outside",
            needs=["TASK-002"],
            outputs=["any"],
            command="echo no > ../../README.md; echo yes > inside.txt",
            fields=[NO_PROOF],
        ),
    )
    ended = below.run("-j", "1")
    assert ended.code == 1, ended.said
    assert below.landings == ["TASK-001", "TASK-002"]
    assert below.git("show", "--name-only", "--format=", "HEAD~1") == "services/shop/where.txt"
    where = below.read("where.txt").split()
    assert where[0] == str(below.root)
    assert {"TASK-GRAPH.md", "shop", "tests"} <= set(where)
    assert "../../README.md" in below.status_line("TASK-003") or "../../README.md" in ended.err
    assert workplace.read("README.md") == "the top\n"
    assert workplace.dirt == []
    assert below.has("artifacts/build/CHECKPOINT.md")
    assert not workplace.has("artifacts")
    assert below.run(here="shop").code == 1


def test_uncommitted_changes_elsewhere_in_the_repository_count_too(workplace):
    workplace.commit({"mine.txt": "1\n"})
    below = Workplace(workplace.root / "sub", workplace.home)
    below.plan(a_task("TASK-001", outputs=["a.txt"], command="echo a > a.txt"))
    workplace.write({"mine.txt": "2\n"})
    ended = below.run()
    assert ended.code == 2
    assert "../mine.txt" in ended.err
    assert below.run("--allow-dirty").code == 0
    assert workplace.dirt == [" M mine.txt"]


def test_a_linked_worktree_builds_on_its_own_branch(workplace):
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="git log --oneline > a.txt"))
    workplace.git("worktree", "add", "-q", "-b", "side", "../side")
    side = Workplace(workplace.root.parent / "side", workplace.home)
    ended = side.run()
    assert ended.code == 0, ended.said
    assert side.landings == ["TASK-001"]
    assert "plan" in side.read("a.txt")
    assert side.dirt == []
    assert workplace.landings == []
    assert workplace.dirt == []
    assert workplace.run().code == 0
    assert workplace.landings == ["TASK-001"]


def test_lfs_and_converted_line_ends_are_said(workplace, tmp_path):
    module = Workplace.begin(tmp_path / "module", workplace.home)
    module.commit({"m.txt": "m\n"})
    allowed = ("-c", "protocol.file.allow=always")
    workplace.git(*allowed, "submodule", "add", "-q", str(module.root), "libs/module")
    workplace.commit({".gitattributes": "*.bin filter=lfs\n", "win.txt": "one\n"})
    workplace.git("config", "core.autocrlf", "true")
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="echo a > a.txt"))
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert "tasks see Git LFS files as pointers" in ended.err
    assert "line endings are converted on checkout" in ended.err
    assert (workplace.root / "libs/module/m.txt").exists()


@pytest.mark.parametrize("sandbox", ["none", "landlock", "bubblewrap"])
def test_submodules_that_are_checked_out_are_there_at_their_commits(workplace, tmp_path, sandbox):
    inner = Workplace.begin(tmp_path / "inner", workplace.home)
    inner.commit({"i.txt": "i\n"})
    module = Workplace.begin(tmp_path / "module", workplace.home)
    module.commit({"m.txt": "m\n"})
    allowed = ("-c", "protocol.file.allow=always")
    module.git(*allowed, "submodule", "add", "-q", str(inner.root), "inner")
    module.commit()
    workplace.git(*allowed, "submodule", "add", "-q", str(module.root), "libs/module")
    workplace.git(*allowed, "submodule", "update", "-q", "--init", "--recursive")
    workplace.commit()
    here = Workplace(workplace.root / "libs/module", workplace.home)
    here.write({"m.txt": "not committed\n"})
    reads = (
        "test -s b.txt && test $(cat libs/module/m.txt libs/module/inner/i.txt | tr -d '\\n') = mi"
    )
    writes = f"{reads} && echo more >> libs/module/m.txt"
    workplace.plan(
        a_task("TASK-001", blocks={"b.txt": "b"}, tests=[writes]),
        a_task("TASK-002", needs=["TASK-001"], blocks={"c.txt": "c"}, tests=[reads]),
        commit=False,
    )
    workplace.git("add", "TASK-GRAPH.md")
    workplace.git("commit", "-q", "-m", "plan")
    ended = workplace.run("--allow-dirty", "--sandbox", with_sandbox(sandbox))
    assert ended.code == 0, ended.said
    assert workplace.landings == ["TASK-001", "TASK-002"]
    assert here.read("m.txt") == "not committed\n"
    assert workplace.git("ls-files", "-s", "libs/module").startswith("160000")


def test_a_task_does_not_change_a_submodule(workplace, tmp_path):
    module = Workplace.begin(tmp_path / "module", workplace.home)
    module.commit({"m.txt": "m\n"})
    allowed = ("-c", "protocol.file.allow=always")
    workplace.git(*allowed, "submodule", "add", "-q", str(module.root), "libs/module")
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], command="echo a | tee a.txt libs/module/m.txt")
    )
    ended = workplace.run()
    assert "m.txt is in a submodule, so a task cannot change it" in ended.said, ended.said
    assert workplace.landings == []
    assert workplace.read("libs/module/m.txt") == "m\n"


def test_a_submodule_that_is_not_checked_out_is_named(workplace, tmp_path):
    module = Workplace.begin(tmp_path / "module", workplace.home)
    module.commit({"m.txt": "m\n"})
    allowed = ("-c", "protocol.file.allow=always")
    workplace.git(*allowed, "submodule", "add", "-q", str(module.root), "libs/module")
    workplace.commit()
    workplace.git("submodule", "deinit", "-q", "-f", "libs/module")
    line = "test -s b.txt && cat libs/module/m.txt"
    workplace.plan(a_task("TASK-001", blocks={"b.txt": "b"}, tests=[line]))
    ended = workplace.run("--no-verify-at-end")
    assert "submodules are not checked out (git submodule update --init): libs/module" in ended.err
    told = "libs/module is a submodule, which is not checked out: git submodule update --init"
    assert told in ended.out, ended.said
    assert told in workplace.runner("why", "1").out
    workplace.git(*allowed, "submodule", "update", "-q", "--init")
    assert workplace.runner("retry", "TASK-001").code == 0
    assert workplace.landings == ["TASK-001"]


# --- what Python imports --------------------------------------------------------------


def _editable(workplace):
    """A virtual environment in which the project itself is installed in editable mode."""
    site = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    env = workplace.root / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True)
    (env / site / "shop.pth").write_text(f"{workplace.root / 'src'}\n")
    return env


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_a_task_that_breaks_a_package_installed_in_editable_mode_fails_its_proof(
    workplace, sandbox
):
    if sandbox == "bubblewrap" and not Path("/usr/bin/bwrap").exists():
        pytest.skip("no bubblewrap")
    workplace.commit(
        {
            ".gitignore": ".venv/\n__pycache__/\n",
            "src/shop/__init__.py": "",
            "src/shop/price.py": GOOD,
            "tests/test_price.py": TEST,
        }
    )
    _editable(workplace)
    workplace.plan(
        a_task(
            "TASK-001",
            "Breaks it",
            blocks={"src/shop/price.py": BAD},
            tests=[".venv/bin/python -m unittest -q tests/test_price.py"],
        )
    )
    ended = workplace.run("--sandbox", sandbox)
    assert ended.code == 1, ended.said
    assert workplace.landings == []
    assert workplace.read("src/shop/price.py") == GOOD
    assert "22 != 20" in ended.err


# --- names ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["-my Läden ✓", "it's;$(touch x)\\b"])
def test_a_repository_at_an_odd_path(tmp_path, alone, name):
    place = Workplace.begin(tmp_path / name, alone)
    place.plan(
        a_task(
            "TASK-001",
            blocks={"shop/__init__.py": "", "shop/price.py": GOOD, "tests/test_price.py": TEST},
            tests=["python3 -m unittest -q tests/test_price.py"],
        )
    )
    ended = place.run()
    assert ended.code == 0, ended.said
    assert place.landings == ["TASK-001"]
    assert place.dirt == []
    assert place.has("shop/price.py")


def test_output_files_with_odd_names(workplace):
    names = ["my file.txt", "-n", "--help.py", "Größe.txt", "naïve ✓/ü.py", "a'b.txt", "x$(y).txt"]
    workplace.plan(
        *(
            a_task(f"TASK-{n:03}", blocks={name: "pass\n"})
            if " " not in name
            else a_task(
                f"TASK-{n:03}",
                outputs=[name],
                command=f"mkdir -p 'naïve ✓'; echo pass > '{name}'",
                fields=[NO_PROOF],
            )
            for n, name in enumerate(names, 1)
        )
    )
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert sorted(workplace.landings) == [f"TASK-{n:03}" for n in range(1, 8)]
    assert all(workplace.read(name) == "pass\n" for name in names)
    assert workplace.dirt == []
    assert all(f"`{name}`" in workplace.read("FILE_OWNERSHIP_MAP.md") for name in names)


# --- content that would like to be a program ------------------------------------------


def test_nothing_that_a_repository_brings_is_run_by_accident(workplace):
    marks = workplace.home / "marks"
    marks.mkdir()

    def python(name):
        return f"open({str(marks / name)!r}, 'w').close()\n"

    def shell(name):
        return f"#!/bin/sh\ntouch '{marks / name}'\ncat\n"

    names = ["json", "rich", "sitecustomize", "usercustomize", "argparse", "git", "pydantic"]
    workplace.commit({f"{name}.py": python(name) for name in names})
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}), commit=False)
    workplace.write(
        {
            ".gitattributes": "*.dat filter=evil diff=evil\n",
            "b.dat": "b\n",
            "run.sh": shell("script"),
        }
    )
    workplace.commit(message="plan")
    workplace.write({".env": "RUNNER_SANDBOX_KIND=none\n"})
    script = workplace.root / ".git/evil.sh"
    for hook in ("pre-commit", "post-commit", "reference-transaction", "post-index-change"):
        path = workplace.root / ".git/hooks" / hook
        path.write_text(shell(hook))
        path.chmod(0o755)
    script.write_text(shell("filter-or-monitor"))
    script.chmod(0o755)
    for key in ("filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "core.fsmonitor"):
        workplace.git("config", key, str(script))
    for key in ("core.pager", "core.editor", "core.sshCommand", "gpg.program"):
        workplace.git("config", key, str(script))
    os.utime(workplace.root / "b.dat")  # git would look into it again, through the filter
    for mark in marks.iterdir():  # git itself ran some of them for the person's own commands
        mark.unlink()

    runs = workplace.start("run", "--trust")
    out, err = runs.communicate(timeout=60)
    assert runs.returncode == 0, (out, err)
    for words in (["status"], ["list", "--json"], ["validate"], ["log"]):
        other = workplace.start(*words)
        out, err = other.communicate(timeout=60)
        assert other.returncode == 0, (words, out, err)
    assert sorted(mark.name for mark in marks.iterdir()) == []


def test_a_file_under_a_filter_is_refused_to_tasks_before_it_is_spoilt(tmp_path, alone):
    places = ("shop/.git", "shop/assets/.git", ".git", ".git/info/")
    for number, place in enumerate(places):
        top = Workplace.begin(tmp_path / f"top{number}", alone)
        top.write({f"{place}attributes": "*.bin filter=lfs\n", "shop/assets/a.bin": "pointer\n"})
        shop = Workplace(top.root / "shop", alone)
        command = "echo new > assets/a.bin"
        shop.plan(a_task("TASK-001", outputs=["assets/*.bin"], command=command, fields=[NO_PROOF]))
        ended = shop.run()
        assert ended.code == 3, (place, ended.said)
        assert "a.bin" in shop.status_line("TASK-001"), place
        assert shop.read("assets/a.bin") == "pointer\n", place
        assert shop.landings == []


def test_settings_of_the_repository_do_not_loosen_the_persons(workplace):
    workplace.commit({"runner.toml": 'sandbox.kind = "none"\nreview.mode = "off"\n'})
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="echo a > a.txt"))
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert "sandbox" in ended.err
    shown = workplace.runner("settings", "--json").document
    assert shown["settings"]["sandbox.kind"]["value"] == "auto"


def test_a_folder_somebody_else_owns_is_explained(workplace):
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}))
    for at, folders, names in os.walk(workplace.root):
        for name in (".", *folders, *names):
            os.chown(Path(at, name), 1234, 1234)
    ended = workplace.run()
    assert ended.code in (0, 2), ended.said
    if ended.code:
        assert "safe.directory" in ended.err
