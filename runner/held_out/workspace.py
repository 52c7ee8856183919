"""A temporary copy of a scratch tree that may hold held-out files.

    <folder>/<process>-<number>/tree    the proposal in a repository of its own, and the files
    <folder>/<process>-<number>/box     HOME and the temporary folder of commands, reports of tools

Nothing in it is shared with a slot: no objects, no links, no folder that a later command writes.
A command that tries to read a probe file shows whether a sandbox hides the store.
"""

from __future__ import annotations

import itertools
import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner import effects
from runner.model import Action, Change, digest_of
from runner.process import platform
from runner.process.base import Command
from runner.process.limits import Limits
from runner.process.package_links import lay_out_shares
from runner.process.supervise import run
from runner.repo.alternates import ALONE, BY_PRODUCTS
from runner.repo.git import Git
from runner.writes.safe_io import write_below

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from runner.process.base import Place, Sandbox


_PRIVATE = 0o700
PLAIN_FILE = 0o100644
_WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "runner"), ("EMAIL", "runner@localhost"))
}
_numbers = itertools.count(1)


@contextmanager
def open_workspace(folder: Path, source: Place, *, mounted: bool) -> Iterator[Place]:
    """Yield the place of a copy of `source`, and remove the copy at the end.

    `folder` is masked in every sandbox. `mounted` says whether the sandbox mounts the shared
    folders; otherwise links lead to them.
    """
    with open_folder(folder) as top:
        place = _lay_out(top, source)
        lay_out_shares(place, mounted=mounted)
        yield place


@contextmanager
def open_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder in `folder`, and remove it at the end.

    What a killed process leaves there, `sweep_workspaces` removes.
    """
    top = folder / f"{_own_name()}-{next(_numbers)}"
    effects.step("held-out", top)
    make_private_folder(folder)
    top.mkdir(mode=_PRIVATE)
    try:
        yield top
    finally:
        effects.step("remove", top)
        effects.remove_tree(top)


def put_files(place: Place, files: Mapping[str, bytes]) -> None:
    """Write held-out files into a workspace.

    Raises RunnerError where a link or a file is in the place of one of their folders.
    """
    for path, content in files.items():
        write_below(place.tree / place.start, path, content, PLAIN_FILE)


def as_changes(files: Mapping[str, bytes]) -> tuple[Change, ...]:
    """Return files as what a task creates."""
    return tuple(
        Change(path, Action.CREATE, PLAIN_FILE, None, digest_of(content), content)
        for path, content in files.items()
    )


def list_files(place: Place) -> tuple[str, ...]:
    """Return the paths of all files in a workspace without held-out files."""
    git = place.tree / ".git"
    return tuple(
        os.path.relpath(os.path.join(top, name), place.tree)  # noqa: PTH118 - a whole tree
        for top, _, names in os.walk(place.tree)
        if not Path(top).is_relative_to(git)
        for name in names
    )


def sweep_workspaces(folder: Path) -> None:
    """Remove what killed runs left in the folder; running processes keep theirs."""
    if not folder.is_dir():
        return
    for left in folder.iterdir():
        pid, _, started = left.name.rpartition("-")[0].partition(".")
        found = platform.process(int(pid)) if pid.isdigit() else None
        if found is None or str(found.started) != started:
            with suppress(FileNotFoundError):  # another run sweeps, too
                effects.remove_tree(left)


def make_private_folder(folder: Path) -> None:
    """Create a folder that only this user may enter, with the folders above it."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        effects.make_folder(one, mode=_PRIVATE)


def _own_name() -> str:
    own = platform.process(os.getpid())
    return f"{os.getpid()}.{own.started if own else 0}"


def _lay_out(top: Path, source: Place) -> Place:
    box, tree = top / "box", top / "tree"
    for folder in (box, box / "home", box / "tmp"):
        folder.mkdir(mode=_PRIVATE)
    copied = {
        path: top / "submodules" / str(number)
        for number, path in enumerate(sorted(source.submodules))
    }
    _copy(source.tree, tree, {".git", *source.shares, *copied})
    for path, folder in copied.items():
        _copy(source.submodules[path], folder, ())
    _make_repository(tree, source)
    return replace(source, tree=tree, box=box, objects=None, submodules=copied)


def _copy(source: Path, target: Path, left_out: Collection[str]) -> None:
    """Copy a folder without following links; `left_out` are paths in it."""
    roots = {os.path.join(source, path) for path in left_out}  # noqa: PTH118 - a whole tree

    def ignored(folder: str, names: list[str]) -> set[str]:
        paths = {name: os.path.join(folder, name) for name in names}  # noqa: PTH118 - the same
        return {name for name, path in paths.items() if path in roots or not _is_copied(path)}

    shutil.copytree(source, target, symlinks=True, ignore=ignored)


def _is_copied(path: str) -> bool:
    found = Path(path)
    return found.is_symlink() or found.is_dir() or found.is_file()


def _make_repository(tree: Path, source: Place) -> None:
    """Commit the tree to a new repository, so that tools find one without history."""
    folder = tree / ".git"
    environment = {**ALONE, **_WHO, "GIT_DIR": str(folder), "GIT_WORK_TREE": str(tree)}
    git = Git(tree, environment, (("core.fsync", "none"), ("gc.auto", "0")), alone=True)
    git.run("init", "--quiet")
    ignored = "\n".join((*BY_PRODUCTS, *(f"/{share}" for share in source.shares)))
    (folder / "info").mkdir(exist_ok=True)
    (folder / "info" / "exclude").write_text(f"{ignored}\n", encoding="utf-8")
    git.run("add", "--all")
    git.run("commit", "--quiet", "--allow-empty", "--no-verify", "--message", "base")


_STARTED = "the probe started"
_LIMITS = Limits(soft=0, idle=10, hard=10)


def is_enclosed(
    sandbox: Sandbox, place: Place, environment: Mapping[str, str], folder: Path
) -> bool:
    """Return whether a command in this sandbox cannot read a file in `folder`.

    `folder` is the base of the store. A sandbox that cannot start proves nothing. Without a
    sandbox the answer is no. Raises OSError where the probe cannot be written.
    """
    if not sandbox.encloses:
        return False
    token = effects.random_bytes(16).hex()
    effects.make_folder(folder, mode=0o700)
    probe = folder / f".probe-{token[:8]}"
    effects.write_file(probe, token.encode(), mode=0o600, durable=False)
    try:
        line = ("/bin/sh", "-c", f'echo "{_STARTED}"; cat "$1"', "sh", str(probe))
        ran = run(Command(line, place, environment, limits=_LIMITS), sandbox)
    finally:
        effects.unlink(probe)
    return _STARTED in ran.tail and not ran.passed and token not in ran.tail
