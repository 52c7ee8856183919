"""Read a remote's refs, and update them by compare-and-swap, never over a newer value.

Every word with it is a git of its own in a folder that borrows the repository's objects, by the
person's own configuration alone (`push`).
"""

from __future__ import annotations

import re
import time
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import ExitCode, RunnerError
from runner.lazy_pattern import regex
from runner.repo.git import Git, GitResult, GitTimeoutError, text
from runner.repo.push import address_of, lay_apart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from runner.repo.read import Repository

_SECONDS = 120.0
"""Timeout of one call to a remote, in seconds."""
_FETCH = 1800.0
_LINE = regex(r"([0-9a-f]{40}(?:[0-9a-f]{24})?)\t(\S+)")
"""Output of git-ls-remote(1) for each ref."""
_TRIES = 3
"""How often a push is tried that the remote refuses although nothing there has moved: another
push may hold its locks for an instant."""
_PAUSE = 0.3
_LONGEST = 2000
"""Maximum bytes of a remote's message."""
_REJECTED = regex(r"^!\t[^\t]*:([^\t:]+)\t\[[^\]]*\] \((.*)\)$", re.MULTILINE)
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1"}


AWAY = "does not answer"
"""Message for a remote without an answer, after its name."""


class RemoteDownError(RunnerError):
    """The remote gave no answer: what it has is not known."""


class PublishError(RunnerError):
    """The remote's branch did not move, and so neither did the one here."""


class Move(Struct, frozen=True):
    """One ref of the remote, from the object it is to be on now to another; None is no ref."""

    ref: str
    old: str | None
    new: str | None
    is_branch: bool = False
    """Whether it may only move forward, whatever is expected: it is never forced."""


class Swap(Enum):
    """The result of moving refs together."""

    DONE = 1
    MOVED = 2
    """Some refs had unexpected values: none was moved."""
    REFUSED = 3
    """All refs have their expected values, but the remote rejects the push."""


class Swapped(Struct, frozen=True):
    """The result, the refs after it, and the remote's output where it refused."""

    swap: Swap
    seen: Mapping[str, str]
    output: str = ""


class OwnGit(Git, frozen=True):
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
        """Remove the temporary folder."""
        self._box.cleanup()

    def read(self, *refs: str) -> dict[str, str]:
        """Return which of these refs exist, with their commits. Raises RemoteDownError."""
        words = ("ls-remote", "--upload-pack=git-upload-pack", "--", self.address, *refs)
        answer = self._ask(*words)
        if answer.exit:
            raise self._make_away_error(answer)
        # A pattern also matches the end of a longer name (git-ls-remote(1)): refs/heads/main also
        # finds refs/backup/refs/heads/main.
        found = _LINE.findall(answer.out.decode("utf-8", "replace"))
        return {ref: commit for commit, ref in found if ref in refs}

    def list_branches(self, *patterns: str) -> list[str]:
        """Return remote branches that match a pattern. Raises RemoteDownError."""
        words = ("ls-remote", "--heads", "--upload-pack=git-upload-pack", "--", self.address)
        answer = self._ask(*words, *(f"refs/heads/{one}" for one in patterns))
        if answer.exit:
            raise self._make_away_error(answer)
        found = _LINE.findall(answer.out.decode("utf-8", "replace"))
        return [ref.removeprefix("refs/heads/") for _, ref in found]

    def read_message(self, ref: str, commit: str, bound: int) -> str:
        """Return the message of a ref's commit, or "". Raises RemoteDownError.

        Nothing behind that commit is fetched. Raises RemoteDownError.
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
        # Check the size first: anyone who can push there chose the length.
        size = self._ask("cat-file", "-s", commit).out.strip()
        if not size.isdigit() or int(size) > 2 * bound:
            return ""
        content = self._ask("cat-file", "commit", commit).out
        return content.partition(b"\n\n")[2][:bound].decode("utf-8", "replace")

    def fetch_into(self, repository: Repository, commit: str) -> None:
        """Fetch a commit and its history into the repository without creating a ref.

        Raises RemoteDownError.
        """
        # The objects come from elsewhere and stay: with fetch.fsckObjects (git-config(1)) malformed
        # ones are rejected before they are stored.
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
        """Create a local commit, by default without parent and files.

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
        """Move all these refs, or none. Raises RemoteDownError where it does not say what it has.

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
            # A push may have arrived although its answer did not: only the refs' current values
            # count.
            if all(seen.get(move.ref) == move.new for move in moves):
                return Swapped(Swap.DONE, seen)
            if any(seen.get(move.ref) != move.old for move in moves):
                return Swapped(Swap.MOVED, seen)
            output = _words_of(answer)
        return Swapped(Swap.REFUSED, seen, output)

    def probe_refusal(self, commit: str, *refs: str) -> dict[str, str]:
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
        # A branch gets no git lease: that would let it go back. Its commit is based on the expected
        # one, so git's own rule (fast-forward only) has the same effect.
        expected = [
            f"--force-with-lease={move.ref}:{move.old or ''}"
            for move in moves
            if not move.is_branch
        ]
        # An empty left side deletes (git-push(1)). No plus sign anywhere: a branch only moves
        # forward, another ref only from its expected value.
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

    def _make_away_error(self, answer: GitResult) -> RemoteDownError:
        return RemoteDownError(
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
