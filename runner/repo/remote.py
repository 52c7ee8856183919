"""A remote's refs: read, and moved together by compare-and-swap, never past somebody else's move.

Every word with it is a git of its own in a folder that borrows the repository's objects, by the
person's own configuration alone (`push`).
"""

from __future__ import annotations

import re
import time
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex
from runner.repo.git import Git, GitResult, GitTimeoutError, text
from runner.repo.push import address_of, lay_apart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from runner.repo.read import Repository

_SECONDS = 120.0
"""The longest that one word with a remote may take."""
_FETCH = 1800.0
_LINE = regex(r"([0-9a-f]{40}(?:[0-9a-f]{24})?)\t(\S+)")
"""What git-ls-remote(1) prints for each ref."""
_TRIES = 3
"""How often a push is tried that the remote refuses although nothing there has moved: another
push may hold its locks for an instant."""
_PAUSE = 0.3
_LONGEST = 2000
"""Bytes of a remote's words that are kept."""
_REJECTED = regex(r"^!\t[^\t]*:([^\t:]+)\t\[[^\]]*\] \((.*)\)$", re.MULTILINE)
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1"}


AWAY = "does not answer"
"""The message for a remote that gave no answer, behind its name."""


class RemoteAwayError(RunnerError):
    """The remote gave no answer: what it has is not known."""


class PublishError(RunnerError):
    """The remote's branch did not move, and so neither did the one here."""


@dataclass(frozen=True, slots=True)
class Move:
    """One ref of the remote, from the object it is to be on now to another; None is no ref."""

    ref: str
    old: str | None
    new: str | None
    is_branch: bool = False
    """Whether it may only go forward, whatever is expected: nothing of it is ever forced."""


class Swap(Enum):
    """What came of moving refs together."""

    DONE = 1
    MOVED = 2
    """Some of them were elsewhere than expected: none was moved."""
    REFUSED = 3
    """All are where they were expected, and the remote does not take the push."""


@dataclass(frozen=True, slots=True)
class Swapped:
    """What came of it, where the refs are then, and the output of the remote where it refused."""

    swap: Swap
    seen: Mapping[str, str]
    output: str = ""


@dataclass(frozen=True, slots=True)
class OwnGit(Git):
    """Git by nothing but the environment it is given."""

    def _variables(self) -> dict[str, str]:
        return dict(self.environment)


class Remote:
    """One remote of a repository, open until it is closed. Safe for one thread at a time.

    Raises RunnerError for an address that names a program, or a folder of the repository itself.
    """

    def __init__(self, repository: Repository, name: str, environ: Mapping[str, str]) -> None:
        self.name = name
        self.seconds = _SECONDS
        self.address = address_of(repository, name)
        self._who = repository.identity()
        self._box = TemporaryFolder("remote")
        folder, variables = lay_apart(repository, Path(self._box.name), environ)
        self._git = OwnGit(folder, {**variables, **_QUIET, "GIT_DIR": str(folder)})
        self._empty_tree = repository.empty_tree()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take the folder away."""
        self._box.cleanup()

    def read(self, *refs: str) -> dict[str, str]:
        """Which of these refs there are, and what they are on. Raises RemoteAwayError."""
        words = ("ls-remote", "--upload-pack=git-upload-pack", "--", self.address, *refs)
        answer = self._ask(*words)
        if answer.exit:
            raise self._make_away_error(answer)
        # A pattern also matches the end of a longer name (git-ls-remote(1)): refs/heads/main finds
        # refs/backup/refs/heads/main as well.
        found = _LINE.findall(answer.out.decode("utf-8", "replace"))
        return {ref: commit for commit, ref in found if ref in refs}

    def list_branches(self, *patterns: str) -> list[str]:
        """Names of branches that fit one of these (git-ls-remote(1)). Raises RemoteAwayError."""
        words = ("ls-remote", "--heads", "--upload-pack=git-upload-pack", "--", self.address)
        answer = self._ask(*words, *(f"refs/heads/{one}" for one in patterns))
        if answer.exit:
            raise self._make_away_error(answer)
        found = _LINE.findall(answer.out.decode("utf-8", "replace"))
        return [ref.removeprefix("refs/heads/") for _, ref in found]

    def read_message(self, ref: str, commit: str, bound: int) -> str:
        """The message of the commit that a ref is on, at most `bound` bytes; empty for none.

        Nothing behind that commit is fetched. Raises RemoteAwayError.
        """
        answer = self._ask(
            *("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"),
            *("--no-write-fetch-head", "--no-auto-maintenance", "--upload-pack=git-upload-pack"),
            *("--", self.address, f"+{ref}:refs/seen"),
        )
        if answer.exit:
            if ref in self.read(ref):
                raise self._make_away_error(answer)
            return ""
        if self._ask("cat-file", "-e", f"{commit}^{{commit}}").exit:
            return ""  # it moved on meanwhile, or is no commit
        # Asked before it is read: whoever may push there chose how long it is.
        size = self._ask("cat-file", "-s", commit).out.strip()
        if not size.isdigit() or int(size) > 2 * bound:
            return ""
        content = self._ask("cat-file", "commit", commit).out
        return content.partition(b"\n\n")[2][:bound].decode("utf-8", "replace")

    def fetch_into(self, repository: Repository, commit: str) -> None:
        """Have a commit of the remote, and all behind it, in the repository, which no ref holds.

        Raises RemoteAwayError.
        """
        # The objects come from elsewhere and stay: with fetch.fsckObjects (git-config(1)) a
        # malformed one is refused before it lies here.
        env = {**self._git.environment, "GIT_OBJECT_DIRECTORY": str(repository.folders.objects)}
        words = (
            *("-c", "core.hooksPath=/dev/null", "-c", "fetch.fsckObjects=true"),
            *("fetch", "--quiet", "--no-tags", "--no-recurse-submodules"),
            *("--no-write-fetch-head", "--no-auto-maintenance", "--upload-pack=git-upload-pack"),
            *("--", self.address, commit),
        )
        answer = OwnGit(self._git.folder, env).ask(*words, seconds=_FETCH)
        if answer.exit:
            raise self._make_away_error(answer)

    def write_commit(self, message: str, *, tree: str = "", parent: str = "") -> str:
        """A commit, without parent and files if none are named.

        Only this folder has it until it is pushed.
        """
        if not tree:
            self._git.run("mktree")
            tree = self._empty_tree
        who = {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", self._who.name), ("EMAIL", self._who.email))
        }
        onto = ("-p", parent) if parent else ()
        git = OwnGit(self._git.folder, {**self._git.environment, **who})
        stdin = message.encode("utf-8", "replace")
        return text(git.run("commit-tree", *onto, tree, stdin=stdin)).strip()

    def swap(self, *moves: Move) -> Swapped:
        """Move all these refs, or none. Raises RemoteAwayError where it does not say what it has.

        A push without an answer, or one that is refused, is decided by what the remote has then.
        """
        refs = [move.ref for move in moves]
        output = ""
        for number in range(_TRIES):
            if number:
                time.sleep(_PAUSE * number)
            answer = self._push(moves)
            if answer.exit == 0:
                return Swapped(Swap.DONE, {move.ref: move.new for move in moves if move.new})
            seen = self.read(*refs)
            # A push may have arrived although its answer did not: what the refs are on now is the
            # only word that counts.
            if all(seen.get(move.ref) == move.new for move in moves):
                return Swapped(Swap.DONE, seen)
            if any(seen.get(move.ref) != move.old for move in moves):
                return Swapped(Swap.MOVED, seen)
            output = _words_of(answer)
        return Swapped(Swap.REFUSED, seen, output)

    def try_in_vain(self, commit: str, *refs: str) -> dict[str, str]:
        """Ask for what cannot be carried out; by ref what the remote says against it."""
        effects.step("push", self.address)
        names = [f"{commit}:{ref}" for ref in refs]
        answer = self._ask(
            *("push", "--porcelain", "--atomic", "--no-verify", "--no-recurse-submodules"),
            *("--receive-pack=git-receive-pack", "--", self.address, *names),
        )
        found = _REJECTED.findall(answer.out.decode("utf-8", "replace"))
        return {ref: why for ref, why in found if ref in refs}

    def _push(self, moves: Sequence[Move]) -> GitResult:
        # A branch gets no lease of git's: that would let it go back.
        # Its commit stands on what is expected, so git's own rule (forward only) says the same.
        expected = [
            f"--force-with-lease={move.ref}:{move.old or ''}"
            for move in moves
            if not move.is_branch
        ]
        # An empty left side deletes (git-push(1)). No plus sign anywhere: a branch only goes
        # forward, another ref only from where it was expected.
        names = [f"{move.new or ''}:{move.ref}" for move in moves]
        effects.step("push", self.address)
        return self._ask(
            *("push", "--porcelain", "--atomic", "--no-verify", "--no-recurse-submodules"),
            *("--receive-pack=git-receive-pack", *expected, "--", self.address, *names),
        )

    def _ask(self, *words: str) -> GitResult:
        try:
            return self._git.ask("-c", "core.hooksPath=/dev/null", *words, seconds=self.seconds)
        except GitTimeoutError as error:
            return GitResult(error.exit, b"", error.stderr)

    def _make_away_error(self, answer: GitResult) -> RemoteAwayError:
        return RemoteAwayError(
            f"{self.name} {AWAY}",
            detail=_words_of(answer),
            hint=f"check the address and your login: git ls-remote {self.name}",
            code=ExitCode.USAGE,
        )


def _words_of(answer: GitResult) -> str:
    """Return the error output of git and of the remote, both ends of it."""
    refused = [
        line for line in answer.out.decode("utf-8", "replace").splitlines() if line[:1] == "!"
    ]
    return "\n".join((answer.stderr.strip()[-_LONGEST:], *refused)).strip()
