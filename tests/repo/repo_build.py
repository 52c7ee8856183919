"""Builders for real repositories in a temporary folder."""

import os
import subprocess
from pathlib import Path

from template_repository import begin_repository

from runner.model import Action, Change, digest_of


def git(folder, *words, stdin=None):
    done = subprocess.run(
        ["git", *words], cwd=folder, input=stdin, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")


def a_repository(folder, files=None, *, name="Ada", branch="main"):
    folder.mkdir(parents=True, exist_ok=True)
    begin_repository(folder, name=name, branch=branch)
    if files is not None:
        write(folder, files)
        commit_all(folder, "begin")
    return folder


def write(folder, files):
    for path, content in files.items():
        file = Path(folder, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


def commit_all(folder, message):
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def a_change(path, content="new\n", *, mode=0o100644, before=None):
    if content is None:
        return Change(path, Action.DELETE, 0, before, None, None)
    raw = content.encode() if isinstance(content, str) else content
    return Change(path, Action.CREATE, mode, before, digest_of(raw), raw)


def put_in_real_tree(folder, changes):
    for change in changes:
        file = Path(folder, change.path)
        if change.content is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(change.content)
            file.chmod(change.mode & 0o777)


def files_of(folder):
    """Every path below a folder with its bytes, `.git` at its top left out."""
    found = {}
    for at, folders, names in os.walk(folder):
        here = Path(at)
        if here == Path(folder) and ".git" in folders:
            folders.remove(".git")
        for name in [*names, *(one for one in folders if (here / one).is_symlink())]:
            path = here / name
            said = path.readlink().as_posix().encode() if path.is_symlink() else path.read_bytes()
            found[path.relative_to(folder).as_posix()] = said
    return found


def summary(changes):
    return {change.path: (str(change.action), oct(change.mode)) for change in changes}
