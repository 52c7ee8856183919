"""Commits made beside the work tree, and the one compare-and-swap that lands them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.repo.files_digest import with_digest
from runner.repo.git import raw
from runner.repo.head import find_head, read_head
from runner.repo.trees import TreeEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.repo.configuration import Signing
    from runner.repo.head import Head
    from runner.repo.read import Repository
    from runner.repo.trees import Written

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
    now = (read_head if head.beneath else find_head)(repo.folders.top)
    if (now.ref, now.detached, now.commit) != (head.ref, head.detached, old):
        return False
    answer = repo.git.with_settings(DURABLE, *_reflog(repo)).ask(
        *("update-ref", "-m", why or "runner: land", "--create-reflog", "--no-deref"),
        *(head.ref, new, old or repo.zeros()),
    )
    # another process may hold the ref's lock for an instant: the caller looks again and decides
    return answer.exit == 0


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
    yield b'\nget-mark :1\nls :1 ""\nreset %b\nfrom %b\n\ndone\n' % (ref, repo.zeros().encode())


def _deletions_first(changes: Iterable[Written]) -> list[Written]:
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
    answer = said.ask("commit-tree", "-S", *onto, made.tree, stdin=message.encode())
    if answer.exit:
        raise RunnerError(
            "the commit could not be signed, and your git configuration asks for it",
            detail=answer.said.strip(),
            hint="unlock your signing key, or git config --global commit.gpgSign false",
            code=ExitCode.PERSON,
        )
    return Commit(answer.out.decode().strip(), made.tree, made.parent)
