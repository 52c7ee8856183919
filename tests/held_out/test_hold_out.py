"""`runner hold-out` moves tests out of reach, says what is in reach, and loses nothing."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from runner import effects
from runner.app.write.hold_out import HoldOut, drop_held_out, hold_out, list_held_out
from runner.errors import RunnerError
from runner.journal.events import AttemptStarted, RunStarted
from runner.journal.lock import RunLock
from runner.journal.log import Journal
from runner.model import Spec, digest_of
from runner.project import Project

if TYPE_CHECKING:
    from pathlib import Path

PLAN = """# Shop

## TASK-001: Bookings

- Status: PENDING
- Output files: `bookings.py`
- Test contracts:
  - TC-001 (unit): `python -m pytest -q tests/test_a.py`

## TASK-002: Prices

- Output files: `prices.py`
"""
TEST = b"import bookings\n\n\ndef test_a1_end():\n    assert bookings.book(2, 1) is None\n"
PATH = "tests/test_a.py"


class Shop:
    """A repository with a plan and a test that git does not know."""

    def __init__(self, top: Path) -> None:
        self.root, self.top = top / "shop", top
        (self.root / "tests").mkdir(parents=True)
        self.git("init", "-q")
        self.write("TASK-GRAPH.md", PLAN.encode())
        self.git("add", "-A")
        self.git("commit", "-qm", "plan")
        self.write(PATH, TEST)

    def git(self, *words):
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(
            ["git", "-C", self.root, *names, *words], check=True, capture_output=True, text=True
        ).stdout

    def write(self, path, content):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(content)

    def project(self):
        environ = {**os.environ, "HOME": str(self.top), "XDG_STATE_HOME": str(self.top / "state")}
        environ |= {"XDG_CONFIG_HOME": str(self.top / "config")}
        environ |= {"XDG_CACHE_HOME": str(self.top / "cache")}
        return Project.open(self.root, environ)

    def hold_out(self, *files, task="TASK-001", **more):
        project = self.project()
        return hold_out(project, HoldOut(task, files, **more), project.environ)

    def task(self, number=0):
        project = self.project()
        return project.plan(project.plan_bytes).tasks[number]

    def stored(self, path=PATH, task="TASK-001"):
        return self.project().held_out.store.read(task, path)

    def plan(self):
        return (self.root / "TASK-GRAPH.md").read_text()


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path)


# --- moving -----------------------------------------------------------------------------


def test_a_file_goes_into_the_store_and_its_contract_becomes_held_out(shop):
    done = shop.hold_out(PATH)
    assert done.contracts == ("TC-001",)
    assert shop.stored() == TEST
    assert not (shop.root / PATH).exists()
    assert shop.plan() == PLAN.replace("(unit)", "(unit, held out)").replace(
        "test_a.py`\n", f"test_a.py`\n- Held-out files:\n  - `{PATH}` {digest_of(TEST)}\n"
    )
    assert [(one.state, one.once_in_git) for one in list_held_out(shop.project())] == [
        ("in the store", False)
    ]


def test_a_contract_is_added_where_none_names_the_file(shop):
    shop.write("tests/test_b.py", TEST)
    shop.hold_out("tests/test_b.py", contract="python -m pytest -q tests/test_b.py")
    assert [(one.id, one.held_out) for one in shop.task().test_contracts] == [
        ("TC-001", False),
        ("TC-002", True),
    ]


def test_tests_of_an_author_stay_visible_until_more_are_held_out(shop):
    listed = f"- Held-out files:\n  - `{PATH}` {digest_of(TEST)}\n"
    author = f"{listed}- Acceptance:\n  - A1: an end\n- Test author: claude\n"
    shop.write("TASK-GRAPH.md", PLAN.replace("test_a.py`\n", f"test_a.py`\n{author}").encode())
    shop.git("add", PATH)
    before = shop.plan()
    shop.hold_out(PATH, source=shop.root)
    assert (shop.plan(), shop.stored()) == (before, TEST)
    shop.write(PATH, TEST + b"# mended\n")
    shop.hold_out(PATH, replace=True)
    assert [one.held_out for one in shop.task().test_contracts] == [False]
    shop.write("tests/test_b.py", TEST + b"# more\n")
    shop.hold_out("tests/test_b.py", contract="python -m pytest -q tests/test_b.py")
    assert [one.held_out for one in shop.task().test_contracts] == [True, True]


def test_dropped_tests_of_an_author_leave_the_plan_without_its_contract(shop):
    listed = f"- Held-out files:\n  - `{PATH}` {digest_of(TEST)}\n"
    author = f"{listed}- Acceptance:\n  - A1: an end\n- Test author: claude\n"
    other = "  - TC-007 (unit): `python -m pytest -q tests/test_c.py`\n"
    text = PLAN.replace("test_a.py`\n", f"test_a.py`\n{other}{author}")
    shop.write("TASK-GRAPH.md", text.encode())
    shop.hold_out(PATH, source=shop.root)
    drop_held_out(shop.project(), "1", [PATH], "others are needed")
    assert [one.id for one in shop.task().test_contracts] == ["TC-007"]
    assert shop.task().held_out_files == ()


def test_the_same_command_again_changes_nothing(shop):
    shop.hold_out(PATH)
    before = shop.plan()
    shop.hold_out(PATH)
    assert (shop.plan(), shop.stored()) == (before, TEST)


def test_an_empty_init_file_goes_along(shop):
    shop.write("tests/__init__.py", b"")
    shop.git("add", "tests/__init__.py")
    shop.git("rm", "--cached", "-q", "tests/__init__.py")
    shop.hold_out(PATH, "tests/__init__.py")
    assert shop.stored("tests/__init__.py") == b""


def test_mended_tests_replace_the_old_ones(shop):
    shop.hold_out(PATH)
    shop.write(PATH, TEST + b"# mended\n")
    with pytest.raises(RunnerError, match="with other content") as error:
        shop.hold_out(PATH)
    assert error.value.hint == f"to replace it: runner hold-out TASK-001 {PATH} --replace"
    shop.hold_out(PATH, replace=True)
    assert shop.stored() == TEST + b"# mended\n"
    assert shop.task().held_out_files[0].digest == digest_of(TEST + b"# mended\n")


def test_a_dropped_file_leaves_plan_and_store_and_a_copy_with_the_reason(shop):
    shop.hold_out(PATH)
    with pytest.raises(RunnerError, match="needs a reason"):
        drop_held_out(shop.project(), "1", [PATH], " ")
    kept = drop_held_out(shop.project(), "1", [PATH], "asks too much")
    assert (kept / PATH).read_bytes() == TEST
    assert (kept / "REASON").read_text() == "asks too much\n"
    assert shop.stored() is None
    assert shop.task().held_out_files == ()
    assert shop.task().held_out_contracts == ()


def test_a_fresh_clone_takes_the_files_of_its_plan_from_a_folder(shop):
    shop.hold_out(PATH)
    file = shop.project().held_out.store.folder_of("TASK-001") / PATH
    file.unlink()
    assert list_held_out(shop.project())[0].state == "missing"
    folder = shop.top / "from"
    (folder / "tests").mkdir(parents=True)
    (folder / PATH).write_bytes(b"assert False\n")
    with pytest.raises(RunnerError, match="differs from the digest"):
        shop.hold_out(source=folder)
    (folder / PATH).write_bytes(TEST)
    shop.hold_out(source=folder)
    assert shop.stored() == TEST
    assert (folder / PATH).exists()


def test_a_done_task_takes_back_exactly_the_files_of_its_plan(shop):
    shop.hold_out(PATH)
    shop.write("TASK-GRAPH.md", shop.plan().replace("PENDING", "DONE").encode())
    shop.write(PATH, TEST)
    with pytest.raises(RunnerError, match="TASK-001 is DONE"):
        shop.hold_out(PATH)
    assert shop.hold_out(source=shop.root).moved == (PATH,)
    (shop.root / PATH).write_bytes(TEST + b"\n")
    with pytest.raises(RunnerError, match="differs"):
        shop.hold_out(source=shop.root)


def test_compiled_copies_and_what_pytest_remembers_go_too(shop):
    shop.write("tests/__pycache__/test_a.cpython-311.pyc", b"x")
    shop.write("tests/__pycache__/test_b.cpython-311.pyc", b"x")
    shop.write(".pytest_cache/v/cache/nodeids", b'["tests/test_a.py::test_a1_end"]')
    shop.write(".gitignore", b"__pycache__\n.pytest_cache\n")
    shop.hold_out(PATH)
    assert not (shop.root / "tests/__pycache__/test_a.cpython-311.pyc").exists()
    assert (shop.root / "tests/__pycache__/test_b.cpython-311.pyc").exists()
    assert not (shop.root / ".pytest_cache/v/cache/nodeids").exists()


# --- refusals ---------------------------------------------------------------------------


def unchanged(shop, content=TEST):
    return shop.stored() is None and (shop.root / PATH).read_bytes() == content


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("../out.py", b"x = 1\n", "outside|\\.\\."),
        ("tests", None, "a folder"),
        ("missing.py", None, "file not found"),
        ("tests/empty.py", b"", "empty"),
        ("tests/broken.py", b"def f(:\n", "syntax|invalid"),
        ("TASK-GRAPH.md", None, "tracks"),
    ],
)
def test_what_cannot_be_held_out_is_refused_with_a_hint(shop, path, content, message):
    if content is not None:
        shop.write(path, content)
    before = shop.plan()
    with pytest.raises(RunnerError, match=message) as error:
        shop.hold_out(path, contract=f"python -m pytest {path}")
    assert error.value.hint
    assert shop.plan() == before
    assert unchanged(shop)


def test_a_link_is_refused(shop):
    (shop.root / "tests/link.py").symlink_to(shop.root / PATH)
    with pytest.raises(RunnerError, match="link"):
        shop.hold_out("tests/link.py", contract="python -m pytest tests/link.py")


def test_a_secret_is_refused(shop):
    key = "HGFDSAPOIUYTREWQAIKA"[::-1]
    shop.write(PATH, f"KEY = '{key}'\n".encode())
    with pytest.raises(RunnerError) as error:
        shop.hold_out(PATH)
    assert key not in str(error.value)


def test_a_file_above_the_setting_is_refused(shop):
    shop.write("runner.toml", b'limits.proposal_file_size = "10B"\n')
    with pytest.raises(RunnerError, match="bytes") as error:
        shop.hold_out(PATH)
    assert "proposal_file_size" in error.value.hint


def test_an_unknown_task_is_refused(shop):
    with pytest.raises(RunnerError):
        shop.hold_out(PATH, task="TASK-009")


def test_a_file_of_another_task_is_refused(shop):
    shop.hold_out(PATH)
    shop.write(PATH, TEST)
    with pytest.raises(RunnerError, match="TASK-001 already holds out this file"):
        shop.hold_out(PATH, task="TASK-002", contract=f"python -m pytest {PATH}")


def test_a_plan_with_mistakes_is_refused(shop):
    shop.write("TASK-GRAPH.md", PLAN.replace("PENDING", "PENDIN").encode())
    with pytest.raises(RunnerError, match="unknown status"):
        shop.hold_out(PATH)
    assert unchanged(shop)


def test_a_merge_in_progress_is_refused(shop):
    (shop.root / ".git/MERGE_HEAD").write_text(shop.git("rev-parse", "HEAD"))
    with pytest.raises(RunnerError, match="merge is in progress"):
        shop.hold_out(PATH)
    assert unchanged(shop)


def test_a_task_that_runs_now_is_refused(shop):
    folder = shop.root / "artifacts/build"
    with RunLock(folder), contextlib.closing(Journal.open(folder / "journal.jsonl")) as journal:
        journal.run = "R-1"
        journal.append(
            RunStarted(
                shop.git("rev-parse", "HEAD").strip(), "main", digest_of(b""), os.getpid(), {}
            )
        )
        journal.append(AttemptStarted("", "agent", Spec("w", "p")), task="TASK-001", attempt=1)
        with pytest.raises(RunnerError, match="TASK-001 is running now"):
            shop.hold_out(PATH)
    assert unchanged(shop)


def test_no_remote_is_asked_whether_it_has_the_bytes(shop):
    """A partial clone fetches what it lacks from its remote, unless it is told not to."""
    shop.git("clone", "-q", "--bare", ".", "../origin.git")
    shop.git("remote", "add", "origin", f"file://{shop.top}/origin.git")
    shop.git("config", "remote.origin.promisor", "true")
    shop.git("config", "extensions.partialClone", "origin")
    shop.git("config", "core.repositoryFormatVersion", "1")
    asked = shop.top / "asked"
    shop.git("config", "remote.origin.uploadpack", f"touch {asked}; git-upload-pack")
    shop.hold_out(PATH)
    assert not asked.exists()
    assert shop.stored() == TEST


def test_the_work_trees_of_a_repository_share_one_store(shop):
    shop.hold_out(PATH)
    shop.git("commit", "-qam", "held out")
    shop.git("worktree", "add", "-q", "../second")
    second = Project.open(shop.top / "second", shop.project().environ)
    assert second.held_out.store.read("TASK-001", PATH) == TEST
    assert [one.state for one in list_held_out(second)] == ["in the store"]


def test_a_contract_that_names_visible_files_too_is_shown_as_two_lines(shop):
    text = PLAN.replace("tests/test_a.py`", "tests/test_a.py tests/test_b.py`")
    shop.write("TASK-GRAPH.md", text.encode())
    with pytest.raises(RunnerError, match="stay visible") as error:
        shop.hold_out(PATH)
    assert "  - TC-001 (unit): `python -m pytest -q tests/test_b.py`" in error.value.hint
    assert "  - TC-002 (unit, held out): `python -m pytest -q tests/test_a.py`" in error.value.hint


@pytest.mark.parametrize(
    ("steps", "where"),
    [
        ((("add", PATH),), "staged"),
        ((("add", PATH), ("rm", "-q", "--cached", PATH)), "as an unreferenced object"),
        ((("add", PATH), ("stash", "-q")), "stash"),
        ((("stash", "-qu"),), "stash"),
        (
            (("add", PATH), ("commit", "-qm", "a"), ("rm", "-q", PATH), ("commit", "-qm", "b")),
            "in commit",
        ),
    ],
)
def test_bytes_that_git_has_are_refused_unless_they_are_copied(shop, steps, where):
    for words in steps:
        shop.git(*words)
    shop.write(PATH, TEST)
    with pytest.raises(RunnerError, match=where) as error:
        shop.hold_out(PATH)
    assert error.value.hint.startswith("write new cases into a new file")
    assert "rebase" not in error.value.hint
    assert unchanged(shop)
    shop.hold_out(PATH, copy=True)
    assert (shop.root / PATH).exists()
    assert list_held_out(shop.project())[0].once_in_git


def test_bytes_in_an_alternate_are_refused(shop):
    other = Shop(shop.top / "other")
    other.git("add", PATH)
    info = shop.root / ".git/objects/info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{other.root}/.git/objects\n")
    with pytest.raises(RunnerError, match="git has this content"):
        shop.hold_out(PATH)


@pytest.mark.parametrize("inside", [True, False])
def test_the_person_s_own_folder_lies_outside_of_the_work_tree(shop, inside):
    folder = shop.root / "private" if inside else shop.top / "private"
    (shop.top / "config/runner").mkdir(parents=True)
    (shop.top / "config/runner/runner.toml").write_text(f'proof.held_out_dir = "{folder}"\n')
    if inside:
        with pytest.raises(RunnerError, match="is in the work tree"):
            shop.hold_out(PATH)
    else:
        shop.hold_out(PATH)
        assert list(folder.rglob("test_a.py"))


def test_a_repository_cannot_name_the_folder(shop):
    shop.write("runner.toml", b'proof.held_out_dir = "/srv/tests"\n')
    assert shop.project().settings.proof.held_out_dir == ""
    shop.hold_out(PATH)
    assert shop.project().held_out.store.base.is_relative_to(shop.top / "state")


# --- crashes ----------------------------------------------------------------------------


class Killed(BaseException):
    """The process ended here."""


def run_until(shop, limit):
    """Run the command up to an effect; return the number of effects before it."""
    count = 0

    def stop(_kind, _target):
        nonlocal count
        if count == limit:
            raise Killed
        count += 1

    effects.watch(stop)
    try:
        shop.hold_out(PATH)
    finally:
        effects.unwatch(stop)
    return count


def test_killed_at_each_effect_the_file_is_somewhere_and_the_command_finishes(tmp_path):
    total = run_until(Shop(tmp_path / "whole"), -1)
    assert total > 10
    for limit in range(total):
        shop = Shop(tmp_path / str(limit))
        with pytest.raises(Killed):
            run_until(shop, limit)
        original = shop.root / PATH
        copies = [original.read_bytes()] if original.exists() else [shop.stored()]
        assert copies == [TEST], limit
        if not original.exists():
            assert PATH in shop.plan(), limit
        shop.hold_out(PATH)
        assert shop.stored() == TEST, limit
        assert not original.exists(), limit
        assert shop.task().held_out_files[0].digest == digest_of(TEST), limit
        assert not shop.project().held_out.store.record_of("TASK-001", PATH).once_in_git, limit


def test_a_full_disk_changes_nothing(shop):
    before = shop.plan()

    def fill(kind, target):
        if kind == "write" and PATH in target:
            raise OSError(28, "No space left on device")

    effects.watch(fill)
    try:
        with pytest.raises(RunnerError, match=r"space|full|disk"):
            shop.hold_out(PATH)
    finally:
        effects.unwatch(fill)
    assert shop.plan() == before
    assert unchanged(shop)


def test_a_plan_that_changed_meanwhile_is_left_as_it_is(shop):
    def change(kind, target):
        if kind == "replace" and target.endswith("TASK-GRAPH.md"):
            effects.unwatch(change)
            shop.write("TASK-GRAPH.md", PLAN.encode() + b"\nA person's words.\n")

    effects.watch(change)
    with pytest.raises(RunnerError, match="the plan changed during"):
        shop.hold_out(PATH)
    assert (shop.root / PATH).read_bytes() == TEST
    assert shop.plan().endswith("A person's words.\n")
    shop.hold_out(PATH)
    assert shop.plan().endswith("A person's words.\n")
    assert PATH in shop.plan()
