"""Find the commits of tasks in the history by their trailers.

Each plan numbers its tasks from one, so a commit of a plan in a folder names that folder. A commit
of the plan at the top names none. Older commits name none either: their files tell the plan.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.repo.git import text
from runner.repo.trailers import (
    PROJECT,
    WAIVED,
    parse_checked,
    parse_messages,
    parse_waived,
    value_as_read,
)
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.repo.git import Git
    from runner.repo.trailers import CommitMessage, WaiverTrailer
    from runner.repo.trees import Prefix

_FORMAT = "--format=%H%n%T%n%P%n%ct%n%B"


class LandedCommit(Struct, frozen=True):
    """A commit of a task, as its message and headers say."""

    commit: str
    tree: str
    parent: str
    """First parent; empty for a root commit."""
    time: datetime
    subject: str
    task: str
    attempt: int
    """Attempt; 0 if the message does not name it."""
    spec_what: str
    spec_proof: str
    trailers: Mapping[str, tuple[str, ...]]
    """Trailers of the task; those of a record commit about other tasks are left out."""
    checked: bool = False
    """Whether the task changed nothing, and only a record commit has its proof."""
    cut: bool = False
    """Whether it had more proofs than the record commit lists."""
    squashed: bool = False
    """Whether the commit squashes several: only the digest of its files shows which are its own."""


def find_landed_commits(
    git: Git, prefix: Prefix, tips: tuple[str, ...], limit: int = 0
) -> Iterator[LandedCommit]:
    """Yield a project's landed commits, newest first; `limit` counts all examined commits."""
    for headers, message in _log(git, prefix, tips, ("Task", "Checked"), limit):
        yield from _tell(*headers, message)


def find_waivers(git: Git, prefix: Prefix, tips: tuple[str, ...]) -> Iterator[WaiverTrailer]:
    """Yield the waivers in record commits of a project's tasks, newest first."""
    for (commit, *_), message in _log(git, prefix, tips, (WAIVED,)):
        for line in reversed(message.trailers.get(WAIVED, ())):
            if (waiver := parse_waived(line, commit)) is not None:
                yield waiver


def _log(
    git: Git, prefix: Prefix, tips: tuple[str, ...], names: tuple[str, ...], limit: int = 0
) -> Iterator[tuple[tuple[str, str, str, str], CommitMessage]]:
    """Yield header and message of the project's commits with one of these trailers."""
    ours = ("--fixed-strings", *(f"--grep={name}: " for name in names))
    # With --grep git counts matching commits, not examined ones (git-log(1), "Commit Limiting"): a
    # limit on the run time only works without it.
    many = (f"--max-count={limit}",) if limit else ours
    # Entries end with NUL (-z): a message may contain any other byte. The user's display settings
    # (log.decorate, log.showSignature, notes.displayRef: git-config(1)) would add lines of their
    # own.
    out = git.run(
        *("log", "-z", "--no-color", "--no-decorate", "--no-show-signature", "--no-notes"),
        *(*many, _FORMAT, "--end-of-options", *tips, "--"),
    )
    # A quick check before parsing: without --grep all commits are listed.
    begins = tuple(f"{name}: ".encode() for name in names)
    entries = [one for one in out.split(b"\0") if any(line in one for line in begins)]
    unnamed = (text(one.partition(b"\n")[0]) for one in entries if is_unnamed(one))
    is_own = make_own_test(git, prefix, unnamed)
    for entry in entries:
        commit, tree, parents, seconds, message = text(entry).split("\n", 4)
        for parsed in parse_messages(message):
            if is_own(commit, parsed.trailers):
                yield (commit, tree, parents, seconds), parsed


def _tell(
    commit: str, tree: str, parents: str, seconds: str, message: CommitMessage
) -> Iterator[LandedCommit]:
    landed = _make_landed_commit(commit, tree, parents, seconds, message)
    if landed.task:
        yield landed
    for line in message.trailers.get("Checked", ()):
        parsed = parse_checked(line)
        if parsed is not None:
            yield replace(
                landed,
                tree=parsed.tree,
                task=parsed.task,
                attempt=parsed.attempt,
                spec_what=parsed.spec_what,
                spec_proof=parsed.spec_proof,
                trailers={"Proof": parsed.proofs},
                checked=True,
                cut=parsed.cut,
            )


def _make_landed_commit(
    commit: str, tree: str, parents: str, seconds: str, message: CommitMessage
) -> LandedCommit:
    task = message.trailers.get("Task", ("",))[-1]
    spec = message.trailers.get("Spec", ("",))[-1].split()
    attempt = message.trailers.get("Attempt", ("",))[-1]
    return LandedCommit(
        commit=commit,
        tree=tree,
        parent=parents.partition(" ")[0],
        time=_time(seconds),
        subject=message.subject,
        task=task,
        attempt=max(0, read_number(attempt)),
        spec_what=spec[0] if spec else "",
        spec_proof=spec[1] if len(spec) > 1 else "",
        trailers=message.trailers,
        squashed=message.squashed,
    )


_LAST = 253_402_300_799
"""Last second of the year 9999, the maximum of `datetime`."""


def _time(seconds: str) -> datetime:
    """Return the time of a commit; 1970 for an invalid one, which git passes on as written."""
    number = read_number(seconds)
    return datetime.fromtimestamp(number if 0 <= number <= _LAST else 0, UTC)


def name_project(prefix: Prefix) -> str:
    """Return the project's name in commits; empty at the repository's top."""
    return value_as_read(prefix.value.rstrip("/"))


def is_own(prefix: Prefix, trailers: Mapping[str, Sequence[str]], *, outside: bool) -> bool:
    """Return whether a commit's trailers are about the tasks of this project.

    `outside` is whether it changed a file that does not lie in the project's folder.
    """
    named, own = tuple(trailers.get(PROJECT, ()))[-1:], name_project(prefix)
    return named[0] == own if named else not (own and outside)


def make_own_test(
    git: Git, prefix: Prefix, unnamed: Iterable[str]
) -> Callable[[str, Mapping[str, Sequence[str]]], bool]:
    """Return a function that tests if a commit is the project's; git runs only once."""
    outside = _find_outside(git, prefix, list(unnamed)) if prefix.value else frozenset()
    return lambda commit, trailers: is_own(prefix, trailers, outside=commit in outside)


def is_unnamed(message: bytes) -> bool:
    """Return whether a message has no Project trailer, by a quick search."""
    return f"\n{PROJECT}: ".encode() not in message


def _find_outside(git: Git, prefix: Prefix, commits: Sequence[str]) -> frozenset[str]:
    """Return the commits that changed a file outside the project's folder."""
    if not commits:
        return frozenset()
    out = git.run(
        # --root: otherwise it prints nothing for the first commit, which has no parent
        # (git-diff-tree(1)).
        *("diff-tree", "--stdin", "--root", "-r", "-z", "--raw", "--no-renames"),
        *("--no-ext-diff", "--no-textconv", "--no-color"),
        stdin="".join(f"{commit}\n" for commit in commits).encode("ascii"),
    )
    found: set[str] = set()
    commit, fields = "", iter(text(out).split("\0"))
    for one in fields:
        if not one.startswith(":"):
            commit = one.strip()
        elif not next(fields, "").startswith(prefix.value):
            found.add(commit)
    return frozenset(found)
