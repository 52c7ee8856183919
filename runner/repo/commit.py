"""Commits made beside the work tree, and the one compare-and-swap that lands them.

The person's index after a landing: their own staged work stays, the rest follows the commit.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.repo.files_digest import with_digest
from runner.repo.git import GitError, raw, text
from runner.repo.head import find_head, read_head
from runner.repo.index_file import IndexFile, read_index
from runner.repo.lock_files import LockFile, UnusualError, free_dead_locks
from runner.repo.trees import FOLDER, TreeEntry, batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.repo.configuration import Signing
    from runner.repo.head import Head
    from runner.repo.read import Repository
    from runner.repo.trees import Written

_WHY = "runner: land"
INDEX = "index"
DURABLE = ("core.fsync", "all")
"""Git's own default syncs no loose object and no ref (core.fsync in git-config(1))."""

_OWN_RIGHTS = frozenset({"", "umask", "false", "no", "off", "0"})
"""Values of core.sharedRepository under which objects have the rights of any new file."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that is in the object store, on no branch yet."""

    sha: str
    tree: str
    parent: str | None


def commit_tree(
    repo: Repository,
    parent: str | None,
    changes: Sequence[Written],
    message: str,
    *,
    sign: bool = True,
    names_files: bool = False,
) -> Commit:
    """Make a commit of `parent` plus changes, durably; no branch, index or file is touched.

    Costs as much as the changed paths are deep, whatever the repository's size. Signed when the
    person's own configuration says so. With `names_files` the trailers that the message ends in
    say which bytes they are about. Raises GitError, OSError when an object cannot be written,
    or RunnerError when signing fails.
    """
    if names_files:
        message = with_digest(repo, parent, changes, message)
    shared = (repo.configuration().value("core.sharedrepository") or "").lower()
    makes = _make_commit if shared in _OWN_RIGHTS else _import_commit
    made = makes(repo, parent, changes, message)
    signing = repo.load_signing() if sign else None
    return _sign(repo, made, message, signing) if signing else made


def _make_commit(
    repo: Repository, parent: str | None, changes: Sequence[Written], message: str
) -> Commit:
    """The commit, its objects written here."""
    objects = repo.objects()
    contents = list({change.content for change in changes if change.content is not None})
    names = effects.for_each(lambda content: objects.write("blob", content), contents)
    blobs = dict(zip(contents, names, strict=True))
    files = {
        repo.prefix.whole(change.path): None
        if change.content is None
        else TreeEntry(change.mode, blobs[change.content])
        for change in changes
    }
    tree = objects.with_files(parent, files)
    who = _who(repo)
    lines = [b"tree " + tree.encode(), *([b"parent " + parent.encode()] if parent else [])]
    lines += [b"author " + who, b"committer " + who, b"", message.encode("utf-8", "replace")]
    return Commit(objects.write("commit", b"\n".join(lines)), tree, parent)


def _import_commit(
    repo: Repository, parent: str | None, changes: Sequence[Written], message: str
) -> Commit:
    """The same by git itself, which knows what rights files have in a shared repository."""
    stream = b"".join(_stream(repo, parent, changes, message))
    git = repo.git.with_settings(DURABLE)
    out = git.run("fast-import", "--quiet", "--done", "--date-format=raw", stdin=stream)
    sha, listed = out.decode("utf-8", "surrogateescape").split("\n")[:2]
    return Commit(sha, listed.split("\t")[0].split(" ")[-1], parent)


def swap_branch(repo: Repository, head: Head, old: str | None, new: str, why: str = "") -> bool:
    """Move the branch of `head` from `old` to `new`, durably; False when anything has moved.

    `old` None: the branch must not exist yet. HEAD elsewhere than in `head`: nothing moves.
    """
    # Asked again right before the swap: update-ref compares what the branch is on, and says nothing
    # of HEAD having been switched to another branch meanwhile.
    now = (read_head if head.beneath else find_head)(repo.folders.top)
    if (now.ref, now.detached, now.commit) != (head.ref, head.detached, old):
        return False
    moved = _move_branch(repo, head, old, new, why or _WHY)
    if moved is not None:
        return moved
    answer = repo.git.with_settings(DURABLE, *_reflog(repo)).ask(
        *("update-ref", "-m", why or _WHY, "--create-reflog", "--no-deref"),
        *(head.ref, new, old or repo.zeros()),
    )
    # another process may hold the ref's lock for an instant: the caller looks again and decides
    return answer.exit == 0


def _move_branch(repo: Repository, head: Head, old: str | None, new: str, why: str) -> bool | None:
    """The same without a process, in the steps of git's files backend (refs/files-backend.c).

    None where git has to do it: HEAD or the branch are not two plain files with their logs.
    """
    git = repo.folders.git
    logs = [git / "logs" / name for name in ("HEAD", head.ref)]
    # Packed refs, worktrees and symbolic branches are not met here: a ref that is not a loose file
    # of one line is left to git.
    known = ((git / "HEAD", f"ref: {head.ref}\n"), (git / head.ref, f"{old}\n"))
    is_branch = head.ref.startswith("refs/heads/") and old is not None
    if not (is_branch and repo.is_plain() and all(map(_is_plain_file, logs))):
        return None
    # Two looks at the same: this one decides who does the work, the one below, under both locks,
    # whether it may be done.
    if not all(_is_plain_file(file) and _holds(file, said) for file, said in known):
        return None
    entry = b"%b %b %b\t%b\n" % (str(old).encode(), new.encode(), _who(repo), why.encode())
    try:
        with ExitStack() as stack:
            branch = LockFile.take(git, head.ref)
            if branch is None:
                return False
            stack.enter_context(branch)
            own = LockFile.take(git, "HEAD")  # as git does to whom it writes the log of HEAD, too
            if own is None:
                return False
            stack.enter_context(own)
            if not all(_holds(file, said) for file, said in known):
                return False
            branch.write(new.encode() + b"\n")
            # The log before the ref, as in git: a crash in between leaves a line too many, which
            # harms nothing, and not a commit that the reflog never heard of, which a prune might
            # take.
            for log in logs:
                _append_log(log, entry)
            branch.place()
            return True
    except UnusualError:
        return None


def _is_plain_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _holds(path: Path, said: str) -> bool:
    try:
        return path.read_bytes() == raw(said)
    except FileNotFoundError:
        return False


def _append_log(log: Path, entry: bytes) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        effects.append(descriptor, entry, log)
    finally:
        os.close(descriptor)


def _reflog(repo: Repository) -> tuple[tuple[str, str], ...]:
    who = repo.identity()
    return (("user.name", who.name), ("user.email", who.email))


def _stream(
    repo: Repository, parent: str | None, changes: Sequence[Written], message: str
) -> Iterator[bytes]:
    """What git-fast-import(1) reads: one commit, its names told back, its ref taken away again."""
    ref = f"refs/runner/commit-{effects.new_id()}".encode()
    who, text = _who(repo), message.encode("utf-8", "replace")
    yield b"commit %b\nmark :1\nauthor %b\ncommitter %b\n" % (ref, who, who)
    yield b"data %d\n%b\n" % (len(text), text)
    if parent:
        yield b"from %b\n" % parent.encode()
    for change in _deletions_first(changes):
        path = _quote(repo.prefix.whole(change.path))
        if change.content is None:
            yield b"D %b\n" % path
        else:
            yield b"M %o inline %b\ndata %d\n" % (change.mode, path, len(change.content))
            yield change.content + b"\n"
    # The ref is only lent to fast-import, which commits to nothing else: a reset to zeros takes it
    # away in the same stream, so a crash leaves no name behind.
    yield b'\nget-mark :1\nls :1 ""\nreset %b\nfrom %b\n\ndone\n' % (ref, repo.zeros().encode())


def _deletions_first(changes: Iterable[Written]) -> list[Written]:
    # A file may become a folder: put before the deletion of the file, `a/b` would be taken away
    # with `a` (git-fast-import(1), filedelete and filemodify).
    return sorted(changes, key=lambda change: (change.content is not None, change.path))


def _quote(path: str) -> bytes:
    """A path as git quotes it in C style, so that any byte may stand in it."""
    plain = raw(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + plain + b'"'


def _who(repo: Repository) -> bytes:
    who = repo.identity()
    now = effects.now().astimezone()
    return f"{who.name} <{who.email}> {int(now.timestamp())} {now:%z}".encode("utf-8", "replace")


def _sign(repo: Repository, made: Commit, message: str, signing: Signing) -> Commit:
    who = repo.identity()
    said = repo.git.with_settings(DURABLE, *signing.settings()).with_settings(
        GIT_AUTHOR_NAME=who.name,
        GIT_AUTHOR_EMAIL=who.email,
        GIT_COMMITTER_NAME=who.name,
        GIT_COMMITTER_EMAIL=who.email,
    )
    onto = ("-p", made.parent) if made.parent else ()
    # Made once more by git, since a signature is over the commit's own bytes and stands within them
    # (gitformat-signature(5)).
    answer = said.ask("commit-tree", "-S", *onto, made.tree, stdin=message.encode())
    if answer.exit:
        raise RunnerError(
            "the commit could not be signed, and your git configuration asks for it",
            detail=answer.said.strip(),
            hint="unlock your signing key, or git config --global commit.gpgSign false",
            code=ExitCode.PERSON,
        )
    return Commit(answer.out.decode().strip(), made.tree, made.parent)


# --- person's index -------------------------------------------------------------------


_FEW = 20
_TRIES = 20
_PAUSE = 0.05
"""Seconds between tries for a held lock; an editor's git holds it for some milliseconds."""


@dataclass(frozen=True, slots=True)
class Synced:
    """What became of the index entries of the paths that landed."""

    kept: tuple[str, ...] = ()
    """Paths that the person staged otherwise: left as they were."""
    locked: bool = False
    """Another process held the index the whole time: nothing was replaced; try again."""


def sync_index(
    repo: Repository, paths: Sequence[str], base: str | None, landed: str | None
) -> Synced:
    """Give the index the landed entries of `paths` wherever it still holds those of `base`.

    Repeating it changes nothing. Raises GitError.
    """
    old = _tree_entries(repo, base, paths)
    new = _tree_entries(repo, landed, paths)
    return _follow(repo, [path for path in paths if old.get(path) != new.get(path)], old, new)


def _tree_entries(
    repo: Repository, commit: str | None, paths: Sequence[str]
) -> dict[str, tuple[TreeEntry, ...]]:
    """The files that a commit holds at these paths: a few are looked up without a process."""
    found: Mapping[str, TreeEntry | None]
    if not commit or len(paths) > _FEW:
        found = repo.tree_entries(commit, paths)
    else:
        objects = repo.objects()
        found = {path: objects.entry(commit, repo.prefix.whole(path)) for path in paths}
    return {path: (at,) for path, at in found.items() if at and at.mode != FOLDER}


def _follow(
    repo: Repository,
    paths: Sequence[str],
    old: Mapping[str, tuple[TreeEntry, ...]],
    new: Mapping[str, tuple[TreeEntry, ...]],
) -> Synced:
    kept: list[str] = []
    for _ in range(_TRIES):
        now = _index_entries(repo, paths)
        kept = [path for path in paths if now.get(path) not in (old.get(path), new.get(path))]
        moving = {
            path: new.get(path)
            for path in paths
            if path not in kept and now.get(path) != new.get(path)
        }
        if not moving or _replace_entries(repo, moving, now):
            return Synced(kept=tuple(kept))
        free_dead_locks(repo.folders.git)
        time.sleep(_PAUSE)
    return Synced(kept=tuple(kept), locked=True)


def _index_entries(repo: Repository, paths: Sequence[str]) -> dict[str, tuple[TreeEntry, ...]]:
    """Entries at exactly these paths; an unmerged one has several, an intent to add is no match."""
    found: dict[str, tuple[TreeEntry, ...]] = {}
    with suppress(UnusualError):
        index = _read_plain(repo)
        found = {path: index.at(raw(repo.prefix.whole(path))) for path in paths}
        return {path: entries for path, entries in found.items() if entries}
    for some in batches([repo.prefix.whole(path) for path in paths]):
        listed = text(repo.git.run("ls-files", "-s", "-z", "--full-name", "--", *some))
        for line in listed.split("\0")[:-1]:
            head, _, whole = line.partition("\t")
            mode, sha, stage = head.split(" ")
            path = repo.prefix.inside(whole)
            entry = TreeEntry(int(mode, 8), sha if stage == "0" else f"stage {stage}")
            found[path] = (*found.get(path, ()), entry)
    return {path: found[path] for path in paths if path in found}


def _read_plain(repo: Repository) -> IndexFile:
    """The index, where it is one that can be read and changed here. Raises UnusualError."""
    if not repo.is_plain():
        raise UnusualError
    return read_index(repo.folders.git / INDEX)


def _patch(
    repo: Repository,
    entries: Mapping[str, tuple[TreeEntry, ...] | None],
    now: Mapping[str, tuple[TreeEntry, ...]],
) -> bool:
    """Write entries without a process, as long as they still are as they were seen.

    Raises UnusualError where git has to do it.
    """
    if not repo.is_plain():
        raise UnusualError
    lock = LockFile.take(repo.folders.git, INDEX)
    if lock is None:
        return False
    with lock:
        index = _read_plain(repo)
        whole = {path: raw(repo.prefix.whole(path)) for path in entries}
        if any(index.at(at) != now.get(path, ()) for path, at in whole.items()):
            return False
        new = {whole[path]: entry[0] if entry else None for path, entry in entries.items()}
        lock.write(index.with_entries(new))
        lock.place()
    return True


def _replace_entries(
    repo: Repository,
    entries: Mapping[str, tuple[TreeEntry, ...] | None],
    now: Mapping[str, tuple[TreeEntry, ...]],
) -> bool:
    """Write entries; False when another process holds the index."""
    with suppress(UnusualError):
        return _patch(repo, entries, now)
    ordered = sorted(entries.items(), key=lambda item: item[1] is not None)
    lines = [
        raw(
            f"{entry[0].mode:o} {entry[0].sha} 0\t{repo.prefix.whole(path)}"
            if entry
            else f"0 {repo.zeros()}\t{repo.prefix.whole(path)}"
        )
        for path, entry in ordered
    ]
    answer = (
        repo.quiet()
        .with_settings(DURABLE)
        .ask("update-index", "-z", "--index-info", stdin=b"\0".join(lines) + b"\0")
    )
    if answer.exit and "index.lock" not in answer.said:
        raise GitError("update-index", answer.said, answer.exit)
    return answer.exit == 0
