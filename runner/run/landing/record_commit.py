"""Create the record commit at the end of a run, without a person's unsaved edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from runner.lazy_module import lazy_module
from runner.repo.commit import commit_tree, sign_off
from runner.repo.git import text
from runner.repo.landed_commits import name_project
from runner.repo.trailers import PROJECT, build_message, parse_message
from runner.run.landing.git_locks import bring_index, move_branch, prepare_index

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from runner.repo import remote
    from runner.repo.commit import Commit
    from runner.repo.head import Head
    from runner.repo.read import Repository
    from runner.repo.trees import TreeChange
else:
    remote = lazy_module("runner.repo.remote")

SUBJECT = "chore(runner): record"


class RunDocument(Protocol):
    """A file that the runner writes into."""

    @property
    def path(self) -> str:
        """Relative to the project."""

    @property
    def ours(self) -> bool:
        """Whether the runner made the file: then it is committed though nobody added it."""

    def content_to_commit(self, committed: bytes, working: Callable[[], bytes]) -> bytes:
        """Return the content to commit: the committed text (empty if there is none) plus our part.

        `working` reads the file, which may be megabytes; it raises FileNotFoundError.
        """


class _Write(Struct, frozen=True):
    path: str
    mode: int
    content: bytes | None


class LastRecord(Struct, frozen=True):
    """The journal's facts about the last record commit that was made in this clone."""

    commit: str = ""
    bases: Collection[str] = ()
    """Commits on which tasks were proven."""


def record(
    repository: Repository,
    root: Path,
    branch: Head,
    documents: Sequence[RunDocument],
    trailers: Iterable[tuple[str, str]] = (),
    last: LastRecord | None = None,
) -> str | None:
    """Commit what the runner wrote into its documents; return the commit, or None for none.

    A person's tracked file is committed as HEAD has it plus our spans; an untracked one stays so.
    The last record is replaced if nobody else knows it (`find_amendable`). If the branch changed or
    moved, or its published remote did not move, nothing is committed: the next run records it.
    """
    head = repository.head()
    if head.ref != branch.ref:
        return None
    writes = [write for one in documents if (write := _write(repository, root, head, one))]
    trailers = tuple(trailers)
    if not writes and not trailers:
        return None
    try:
        commit = _move_on(repository, head, last, writes, trailers)
        if commit is None and repository.head() == head:  # another git's collection took it
            commit = _move_on(repository, head, last, writes, trailers)
    except remote.PublishError:
        return None
    return commit.sha if commit else None


def _move_on(
    repository: Repository,
    head: Head,
    last: LastRecord | None,
    writes: Sequence[_Write],
    trailers: tuple[tuple[str, str], ...],
) -> Commit | None:
    """Commit and move the branch; None if it could not be moved. Raises PublishError."""
    commit = (_amend(repository, head, last, writes, trailers) if last else None) or commit_tree(
        repository, head.commit, writes, _message(repository, trailers), names_files=bool(trailers)
    )
    paths = [write.path for write in writes]
    with prepare_index(repository, head, paths, head.commit, commit.sha) as index:
        if not move_branch(repository, head, commit.sha, "runner: record", index):
            return None
        index.place()
    return commit


def _message(repository: Repository, trailers: Sequence[tuple[str, str]] = ()) -> str:
    return build_message(SUBJECT, "", ((PROJECT, name_project(repository.prefix)), *trailers))


def _amend(
    repository: Repository,
    head: Head,
    last: LastRecord,
    writes: Sequence[_Write],
    trailers: Sequence[tuple[str, str]],
) -> Commit | None:
    """Amend the record commit at HEAD with new writes; return None if that is not possible."""
    parent = find_amendable(
        repository, head, last.commit, sign_off(repository, _message(repository)), last.bases
    )
    if parent is None:
        return None
    before = repository.diff_trees(parent, head.commit)
    all_ = {one.path: _Write(one.path, one.new_mode, _content(repository, one)) for one in before}
    all_ |= {write.path: write for write in writes}
    says = bool(trailers)
    made = commit_tree(
        repository, parent, list(all_.values()), _message(repository, trailers), names_files=says
    )
    # If everything is reverted to the previous commit, no record replaces it: a record of that is
    # based on the last one, like any step.
    return made if says or made.tree != repository.tree_of(parent) else None


def _content(repository: Repository, change: TreeChange) -> bytes | None:
    return repository.content(change.new_sha) if change.new_mode else None


def follow(repository: Repository, documents: Iterable[str], recorded: str = "") -> None:
    """Update the index after a record commit that a crash interrupted; may be repeated.

    `recorded` is the last record that the journal knows: where another took its place, the index
    may still be as that one was.
    """
    head = repository.head().commit
    if head is None:
        return
    paths, parent = tuple(documents), repository.resolve(f"{head}^")
    bring_index(repository, paths, parent, head)
    replaced = recorded not in {"", head} and repository.resolve(f"{recorded}^") == parent
    if parent is not None and replaced:
        bring_index(repository, paths, recorded, head)


def find_checked_in(repository: Repository, since: str) -> frozenset[str]:
    """Return the lines on tasks without a commit in record commits between `since` and HEAD."""
    head = repository.head().commit
    if head is None:
        return frozenset()
    tips = (head, f"^{since}") if since and repository.resolve(since) else (head,)
    log = repository.git.run(
        *("log", "-z", "--no-color", "--no-show-signature", "--no-notes", "--format=%B"),
        *("--fixed-strings", "--grep=Checked: ", "--end-of-options", *tips, "--"),
    )
    messages = log.decode("utf-8", "replace").split("\0")
    return frozenset(
        line for one in messages for line in parse_message(one).trailers.get("Checked", ())
    )


def _write(repository: Repository, root: Path, head: Head, document: RunDocument) -> _Write | None:
    file = root / document.path
    if not file.is_file():
        return None
    # From the commit, not the work tree: a person commits their own uncommitted edits.
    committed = repository.blob(head.commit, document.path) if head.commit else None
    if committed is None and not document.ours:
        return None
    try:
        content = document.content_to_commit(committed or b"", file.read_bytes)
    except FileNotFoundError:  # gone since it was looked for
        return None
    if content == (committed or b""):  # also: a file nobody has committed, with nothing of ours
        return None
    if committed is None:
        return _Write(document.path, 0o100644, content)
    entry = repository.tree_entries(head.commit, [document.path]).get(document.path)
    return _Write(document.path, entry.mode if entry else 0o100644, content)


# --- which may be replaced --------------------------------------------------------------


_SIGNED = ("gpgsig", "gpgsig-sha256", "mergetag")
"""Headers of a signed commit (gitformat-signature(5))."""


def find_amendable(
    repository: Repository, head: Head, recorded: str, message: str, bases: Collection[str]
) -> str | None:
    """Return the parent of HEAD's record commit if it may be replaced, else None.

    So quiet runs leave no row of them. What somebody else may hold is never rewritten: where in
    doubt the next record stands on it.

    `recorded` is the last record that this clone's journal knows to be its own, `message` what a
    record says that tells of statuses alone: one with evidence may stand in a statement that was
    handed out. `bases` are commits that tasks were proven on.
    """
    commit = head.commit
    if not commit or commit != recorded or commit in bases:
        return None
    if head.branch is None or head.beneath is not None or repository.publish is not None:
        return None
    parent = _find_sole_parent(repository, commit, message)
    if parent is None or _is_named(repository, head, commit):
        return None
    return parent


def _find_sole_parent(repository: Repository, commit: str, message: str) -> str | None:
    """Return the parent of an unsigned commit with one parent and this message, else None."""
    # as stored: grafts, replacements and the log encoding change the output of `git log`
    git = repository.git.with_settings(GIT_NO_REPLACE_OBJECTS="1")
    header, _, body = text(git.run("cat-file", "commit", commit)).partition("\n\n")
    fields = [line.split(" ", 1) for line in header.split("\n")]
    parents = [field[1] for field in fields if field[0] == "parent"]
    signed = any(field[0] in _SIGNED for field in fields)
    return parents[0] if len(parents) == 1 and not signed and body == message else None


def _is_named(repository: Repository, head: Head, commit: str) -> bool:
    """Return whether any other ref, work tree or note refers to the commit.

    Branches, tags, what a remote was seen to have, stashes, drafts and held work that stand on it;
    another work tree that has it checked out; a note about it.
    """
    git = repository.git
    refs = text(git.run("for-each-ref", "--format=%(refname)", f"--contains={commit}"))
    if set(refs.split()) != {head.ref}:
        return True
    beside = text(git.run("for-each-ref", "--format=%(refname)", "refs/notes", "refs/replace"))
    for ref in beside.split():
        is_note = ref.startswith("refs/notes/")
        if not is_note and ref.endswith(commit):
            return True
        if is_note and git.ask("notes", f"--ref={ref}", "list", commit).exit == 0:
            return True
    listed = text(git.run("worktree", "list", "--porcelain")).splitlines()
    # HEADs of linked work trees are in no list of refs: one detached on this commit only appears
    # here.
    heads = [line[5:] for line in listed if line.startswith("HEAD ")]
    if commit in heads:
        heads.remove(commit)  # the one here
    return any(repository.is_ancestor(commit, other) for other in heads)
