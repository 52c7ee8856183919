"""Create small git folders that borrow another repository's objects, without a process."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.errors import ExitCode, RunnerError
from runner.lazy_pattern import regex
from runner.repo.git import raw

if TYPE_CHECKING:
    from pathlib import Path

    from runner.repo.git import Git
    from runner.repo.trees import Prefix

BY_PRODUCTS = (
    "__pycache__/",
    "*.pyc",
    "*.egg-info/",
    ".coverage",
    ".coverage.*",
    ".hypothesis/",
    ".mypy_cache/",
    ".nox/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".tox/",
    ".venv/",
    "node_modules/",
    "target/",
    ".gradle/",
    ".terraform/",
    ".DS_Store",
)
"""Files that tools leave; a `.gitignore` may exclude one (`!target/`), tracked files stay."""

_AS_THEY_ARE = "* -text -filter -ident -working-tree-encoding"
"""Unconverted bytes: `info/attributes` overrides all files of the tree (gitattributes(5))."""
_ATTRIBUTES = f"{_AS_THEY_ARE} -diff -merge\n"
_OF_COMMANDS = f"{_AS_THEY_ARE}\n"
"""Attributes of the folder for commands: hooks and tests read `git diff` as text."""

_CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tbare = false
\tfilemode = true
\tsymlinks = true
\tignorecase = false
\tautocrlf = false
\tsafecrlf = false
\tuntrackedCache = false
\tlogallrefupdates = false
\tattributesFile = /dev/null
\texcludesFile = /dev/null
[gc]
\tauto = 0
[maintenance]
\tauto = false
[commit]
\tgpgSign = false
[user]
\tname = {name}
\temail = {email}
"""
_ORIGIN = '[remote "origin"]\n\turl = {url}\n\tpushurl = /dev/null\n'
"""Linters read this address; nothing can be pushed to it."""
_ADDRESS = regex(
    r"(?:(https?|ssh|git)://(?:[^/@]*@)?|[^/@:]+@)"
    r"([^/@:?#\s]+(?::\d+(?=/))?)[:/]([^@?#\s]+)(?:[?#].*)?"
)
"""Address of a remote host: scheme, login, host and port, path, query; or `user@host:path`."""
ALONE = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}
"""Variables that limit git to the settings of one folder."""
_FOLDERS = ("objects/info", "objects/pack", "refs/heads", "info")
_SHA256 = "[extensions]\n\tobjectFormat = sha256\n"


class Lender(Struct, frozen=True):
    """The facts about the repository that a scratch tree borrows from."""

    objects: Path
    object_format: str
    shallow: Path
    branch: str | None
    """Ref that HEAD names, such as `refs/heads/main`; None when detached."""
    prefix: Prefix
    ignored: bytes
    """The user's own ignore rules."""
    who: tuple[str, str] = ("runner", "runner@localhost")
    """Author of commits that an agent makes in the tree; they never leave it."""
    origin: str = ""
    """Address of the remote `origin`, without a login; empty for a local folder."""

    def require(self) -> None:
        """Raise RunnerError where the repository is no longer at its place."""
        if not self.objects.is_dir():
            hint = "if you moved it during the run, run again in its new folder"
            where, gone = str(self.objects), "the repository is no longer at this path"
            raise RunnerError(gone, where=where, hint=hint, code=ExitCode.CONFLICT)


def lay_out(
    git: Path, lender: Lender, shares: tuple[str, ...], head: str, *, for_commands: bool = False
) -> None:
    """Create or repair a git folder that borrows objects; its own objects and index stay.

    `head` is the content of its HEAD.
    """
    for folder in _FOLDERS:
        if not os.path.isdir(path := f"{git}/{folder}"):  # noqa: PTH112 - 12 for every slot
            os.makedirs(path, exist_ok=True)  # noqa: PTH103
    sha256 = lender.object_format == "sha256"
    name, email = map(_quote, lender.who)
    config = _CONFIG.format(version=1 if sha256 else 0, name=name, email=email)
    if for_commands and lender.origin:
        config += _ORIGIN.format(url=_quote(lender.origin))
    _put(f"{git}/config", (config + (_SHA256 if sha256 else "")).encode("utf-8", "replace"))
    _put(f"{git}/HEAD", raw(head) + b"\n")
    _put(f"{git}/info/attributes", (_OF_COMMANDS if for_commands else _ATTRIBUTES).encode())
    _put(f"{git}/info/exclude", exclude_lines(lender, shares))
    _put(f"{git}/objects/info/alternates", os.fsencode(lender.objects) + b"\n")
    if lender.shallow.is_file():
        # Without the list git follows missing parents and reports a broken repository (git's
        # shallow documentation).
        _put(f"{git}/shallow", lender.shallow.read_bytes())
    else:
        (git / "shallow").unlink(missing_ok=True)  # of a time when the repository was shallow


def lend(
    inner: Path,
    lender: Lender,
    shares: tuple[str, ...],
    commit: str | None,
    index: Path,
    *,
    same: bool = False,
) -> None:
    """Lay out a git folder for tools and agents, on the lender's branch; with an index as that.

    `same`: it is as it was laid out for another commit.
    """
    ref = lender.branch
    head = f"ref: {ref}" if ref or not commit else commit
    if not same:
        lay_out(inner, lender, shares, head, for_commands=True)
    _put(f"{inner}/HEAD", raw(head) + b"\n")
    if commit and ref:
        branch = f"{inner}/{ref}"
        try:
            _write(branch, raw(commit) + b"\n")
        except FileNotFoundError:
            os.makedirs(os.path.dirname(branch), exist_ok=True)  # noqa: PTH103, PTH120 - text
            _write(branch, raw(commit) + b"\n")
    with open(index, "rb") as file:  # noqa: PTH123 - at every reset
        times = os.fstat(file.fileno())
        _write(copy := f"{inner}/index", file.read())
    # Its mtime matters: an entry as new as the index may have changed undetected (racy git), and a
    # newer copy would mark all of them clean.
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))


def commit_inside(git: Git, inner: Path, lender: Lender, shares: tuple[str, ...], tree: str) -> str:
    """Create a commit of a tree in the git folder that commands see."""
    who = {"GIT_AUTHOR_NAME": "runner", "GIT_AUTHOR_EMAIL": "runner@localhost"}
    who |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in who.items()}
    lay_out(inner, lender, shares, "ref: refs/heads/runner", for_commands=True)
    return git.with_settings(GIT_DIR=str(inner), **who).line("commit-tree", "-m", "base", tree)


def address_without_login(url: str) -> str:
    """Return the address of a remote host without user, password and query; else empty."""
    found = _ADDRESS.fullmatch(url)
    return f"{found[1] or 'ssh'}://{found[2]}/{found[3]}" if found else ""


def exclude_lines(lender: Lender, shares: tuple[str, ...]) -> bytes:
    """Return the lines of `info/exclude` of a borrowing folder."""
    # without a trailing slash: a share may be a link or a mount point as well as a folder
    bound = [f"/{_escape(share)}" for share in shares]
    return lender.ignored + b"\n" + raw("\n".join((*BY_PRODUCTS, *bound))) + b"\n"


def _quote(value: str) -> str:
    """Quote a value as in git-config(1)."""
    plain = "".join(letter for letter in value if letter.isprintable())
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _escape(path: str) -> str:
    return "".join(f"\\{mark}" if mark in "*?[]\\!# " else mark for mark in path)


def _put(path: str, content: bytes) -> None:
    """Write only what differs: an agent without a sandbox could have changed it."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        mode = 0
    if stat.S_ISLNK(mode):
        os.unlink(path)  # noqa: PTH108 - 18 looks for every task
    elif stat.S_ISREG(mode):
        with open(path, "rb") as file:  # noqa: PTH123
            if file.read() == content:
                return
    _write(path, content)


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(content)
