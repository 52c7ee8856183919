"""Create commits outside of the work tree, and land them with one compare-and-swap.

A commit message can outlive its content: `git commit --amend`, a squash, a resolved conflict and a
copied message keep it. So the evidence in a commit has a digest of the files that it is about.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.config.paths import expand_home
from runner.errors import ExitCode, RunnerError
from runner.lazy_pattern import regex
from runner.repo.git import GitTimeoutError, quote_path, raw
from runner.repo.head import find_head, read_head
from runner.repo.objects import DURABLE
from runner.repo.trailers import FILES, STATEMENTS, parse_message
from runner.repo.trees import TreeEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.repo.configuration import Signing
    from runner.repo.head import Head
    from runner.repo.read import Repository
    from runner.repo.trees import Prefix, TreeChange, WrittenChange


_WHY = "runner: land"
_MANY = 64
"""From this number on, one process writes all files and syncs them together."""
SIGNED_OFF = "Signed-off-by"
_BLANK = "\n"
_LINE = regex(rf"^{FILES}: .*\n?", re.MULTILINE)


class Commit(Struct, frozen=True):
    """A commit that is in the object store, on no branch yet."""

    sha: str
    tree: str
    parent: str | None


def commit_tree(
    repo: Repository,
    parent: str | None,
    changes: Sequence[WrittenChange],
    message: str,
    *,
    sign: bool = True,
    names_files: bool = False,
) -> Commit:
    """Commit `parent` plus changes durably, without touching any branch, index or file.

    Costs as much as the changed paths are deep, whatever the repository's size. Signed, and signed
    off, as git's configuration says. With `names_files` the trailers that the message ends in say
    which bytes they are about. Raises GitError, OSError when an object cannot be written, or
    RunnerError when signing fails.
    """
    if names_files:
        message = with_digest(repo, parent, changes, message)
    if sign:
        message = sign_off(repo, message)
    makes = _make_commit if len(changes) < _MANY else _import_commit
    made = makes(repo, parent, changes, message)
    signing = repo.load_signing() if sign else None
    return replace(made, sha=_sign(repo, made, message, signing)) if signing else made


def sign_off(repo: Repository, message: str) -> str:
    """Return the message with `Signed-off-by` if the setting or git's configuration asks so.

    The setting outranks `format.signoff`.
    """
    wanted = repo.signs_off
    if wanted is None:
        wanted = repo.configuration().is_true("format.signoff")
    if not wanted:
        return message
    who = repo.identity()
    line = f"{SIGNED_OFF}: {who.name} <{who.email}>"
    body = message.rstrip("\n")
    if line in body.split("\n"):
        return message
    return f"{body}{'' if parse_message(message).trailers else _BLANK}\n{line}\n"


def _make_commit(
    repo: Repository, parent: str | None, changes: Sequence[WrittenChange], message: str
) -> Commit:
    """Create a commit by writing its objects one by one."""
    write = repo.write_object
    files = {
        repo.prefix.whole(change.path): None
        if change.content is None
        else TreeEntry(change.mode, write("blob", change.content))
        for change in changes
    }
    tree = repo.objects(writes=True).with_files(parent, files)
    who = _who(repo)
    lines = [b"tree " + tree.encode(), *([b"parent " + parent.encode()] if parent else [])]
    lines += [b"author " + who, b"committer " + who, b"", message.encode("utf-8", "replace")]
    return Commit(write("commit", b"\n".join(lines)), tree, parent)


def _import_commit(
    repo: Repository, parent: str | None, changes: Sequence[WrittenChange], message: str
) -> Commit:
    """Create a commit with git fast-import, whose single pack needs only one disk sync."""
    stream = b"".join(_stream(repo, parent, changes, message))
    git = repo.git.with_settings(DURABLE, ("fastimport.unpackLimit", "1"))
    out = git.run("fast-import", "--quiet", "--done", "--date-format=raw", stdin=stream)
    sha, listed = out.decode("utf-8", "surrogateescape").split("\n")[:2]
    return Commit(sha, listed.split("\t")[0].split(" ")[-1], parent)


def swap_branch(repo: Repository, head: Head, old: str | None, new: str, why: str = "") -> bool:
    """Move the branch of `head` from `old` to `new`, durably; False when anything has moved.

    `old` None: the branch must not exist yet. HEAD elsewhere than in `head`: nothing moves.
    """
    # One process for each move: git-update-ref(1) keeps the time of its first reflog entry.
    who = repo.identity()
    git = repo.git.with_settings(DURABLE, ("user.name", who.name), ("user.email", who.email))
    words = ("update-ref", "-m", why or _WHY, "--create-reflog", "--no-deref", "--stdin")
    update = f"start\nupdate {head.ref} {new} {old or repo.zeros()}\nprepare\n"

    def stands() -> bool:
        # Checked while git locks the branch and HEAD, whose log it also writes: git compares the
        # branch's commit, but does not report that HEAD is on another branch.
        now = (read_head if head.beneath else find_head)(repo.folders.top)
        return (now.ref, now.detached, now.commit) == (head.ref, head.detached, old)

    # another process may briefly lock the ref: the caller checks again and decides
    return git.transact(*words, update=raw(update), decide=stands)


def _stream(
    repo: Repository, parent: str | None, changes: Sequence[WrittenChange], message: str
) -> Iterator[bytes]:
    """Yield the input of git-fast-import(1): one commit, its name printed, its ref removed."""
    ref = f"refs/runner/commit-{effects.new_id()}".encode()
    who, text = _who(repo), message.encode("utf-8", "replace")
    yield b"commit %b\nmark :1\nauthor %b\ncommitter %b\n" % (ref, who, who)
    yield b"data %d\n%b\n" % (len(text), text)
    if parent:
        yield b"from %b\n" % parent.encode()
    # A file may become a folder: before the deletion of the file, `a/b` would be deleted with `a`
    # (git-fast-import(1), filedelete and filemodify).
    for change in sorted(changes, key=lambda one: (one.content is not None, one.path)):
        path = quote_path(repo.prefix.whole(change.path))
        if change.content is None:
            yield b"D %b\n" % path
        else:
            yield b"M %o inline %b\ndata %d\n" % (change.mode, path, len(change.content))
            yield change.content + b"\n"
    # fast-import only needs the ref temporarily, since it commits to nothing else: a reset to zeros
    # removes it in the same stream, so a crash leaves no ref behind.
    yield b'\nget-mark :1\nls :1 ""\nreset %b\nfrom %b\n\ndone\n' % (ref, repo.zeros().encode())


def _who(repo: Repository) -> bytes:
    who = repo.identity()
    now = effects.now().astimezone()
    return f"{who.name} <{who.email}> {int(now.timestamp())} {now:%z}".encode("utf-8", "replace")


def _sign(repo: Repository, made: Commit, message: str, signing: Signing) -> str:
    """Create the commit again with a signature. Raises RunnerError."""
    who = repo.identity()
    git = repo.git.with_settings(DURABLE, *signing.settings()).with_settings(
        GIT_AUTHOR_NAME=who.name,
        GIT_AUTHOR_EMAIL=who.email,
        GIT_COMMITTER_NAME=who.name,
        GIT_COMMITTER_EMAIL=who.email,
    )
    onto = ("-p", made.parent) if made.parent else ()
    words = ("commit-tree", "-S", *onto, made.tree)
    seconds = repo.sign_seconds
    # Made again by git, since a signature covers the commit's own bytes and is stored in them
    # (gitformat-signature(5)).
    try:
        answer = git.ask(*words, stdin=message.encode(), seconds=seconds)
    except GitTimeoutError as error:
        raise RunnerError(
            f"{signing.program} did not sign the commit within {seconds:g} s and was stopped",
            hint="unlock the key, or raise git.sign_seconds in your own settings; then run again",
            code=ExitCode.PERSON,
        ) from error
    if answer.exit:
        raise RunnerError(
            "the commit could not be signed, and git's configuration requires it",
            detail=answer.stderr.strip(),
            hint="unlock your signing key, or `git config commit.gpgSign false`; then run again",
            code=ExitCode.PERSON,
        )
    return answer.out.decode().strip()


def with_digest(
    repository: Repository, parent: str | None, changes: Sequence[WrittenChange], message: str
) -> str:
    """Return a message whose trailers include a digest of the changed files."""
    objects = repository.objects()
    files: dict[str, tuple[int, str]] = {}
    for change in changes:
        path = repository.prefix.whole(change.path)
        gone = change.content is None
        now = (0, "") if gone else (change.mode, objects.name("blob", change.content or b""))
        was = objects.entry(parent, path) if parent else None
        if now != ((was.mode, was.sha) if was else (0, "")):  # git tells what differs, too
            files[path] = now
    head, blank, last = message.rstrip("\n").rpartition("\n\n")
    last = _LINE.sub("", last + "\n")
    message = f"{head}{blank}{last}"
    stored = message.encode("utf-8", "replace").decode("utf-8", "replace")
    return f"{message}{FILES}: {_digest(files, parse_message(stored).trailers)}\n"


def is_about(
    prefix: Prefix, entries: Iterable[TreeChange], trailers: Mapping[str, Sequence[str]]
) -> bool:
    """Return whether the message of a commit describes the very changes that it holds."""
    files = {
        prefix.whole(one.path): (one.new_mode, one.new_sha if one.new_mode else "")
        for one in entries
    }
    return tuple(trailers.get(FILES, ()))[-1:] == (_digest(files, trailers),)


def records_content(trailers: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a commit has a digest of its files; those of old versions have none."""
    return FILES in trailers


def _digest(files: Mapping[str, tuple[int, str]], trailers: Mapping[str, Sequence[str]]) -> str:
    digest = hashlib.sha256()
    # NUL-terminated, since no path contains it: two lists of files never look the same.
    for path, (mode, sha) in sorted(files.items()):
        digest.update(f"{mode:o} {sha or '-'} {path}\0".encode("utf-8", "surrogateescape"))
    for name in STATEMENTS:
        for value in trailers.get(name, ()):
            digest.update(f"{name}: {value}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{digest.hexdigest()}"


_NAME = ".gitattributes"
_OF_ALL = Path("/etc/gitattributes")


def find_filtered(repository: Repository, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths with a git filter; skip git if no attributes file exists."""
    if not any(map(os.path.lexists, _find_places(repository, paths))):
        return ()
    found = repository.attributes(paths, ("filter",))
    return tuple(path for path, attributes in found.items() if attributes.get("filter"))


def _find_places(repository: Repository, paths: Sequence[str]) -> Iterator[Path]:
    """Yield the attribute files that git reads for these paths (gitattributes(5))."""
    folders, named = repository.folders, repository.configuration().value("core.attributesfile")
    own = f"{os.environ.get('XDG_CONFIG_HOME') or '~/.config'}/git/attributes"
    yield from (folders.common / "info/attributes", expand_home(named or own), _OF_ALL)
    above = (PurePosixPath(repository.prefix.whole(path)).parents for path in paths)
    yield from {folders.top / folder / _NAME: None for each in above for folder in each}
