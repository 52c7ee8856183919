"""Read and push a remote's refs with the person's own configuration; swap them, never overwrite.

`.git/config` comes with a clone that is unpacked, and names programs that git would run: an ssh
command, helpers for logins, rewritten addresses, what answers at the other end. So each call is a
git in a folder of its own, which borrows the objects and takes only the
address from the repository.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import ExitCode, RunnerError
from runner.lazy_pattern import regex
from runner.repo.alternates import lay_out
from runner.repo.configuration import OWN
from runner.repo.git import Git, GitResult, GitTimeoutError, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self

    from runner.repo.configuration import Configuration
    from runner.repo.read import Repository

_PROTOCOLS = ("file", "git", "http", "https", "ssh")
_HELPER = regex(r"([A-Za-z0-9][A-Za-z0-9+.-]*)::")
"""`<transport>::<address>` names a program (gitremote-helpers(7))."""
_RUNS_ANYTHING = frozenset({"ext", "fd"})
_SSH = regex(r"[^/]+:")
"""`host:path`, without a slash before the colon (git-push(1), "GIT URLS")."""
_SYMREF = regex(r"^ref: refs/heads/(\S+)\tHEAD$", re.MULTILINE)
_HEEDED = ("core.askpass", "core.gitproxy", "core.sshcommand", "credential.", "http.", "url.")
_UNSAID = frozenset(
    {"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY"}
)


class Push(Struct, frozen=True):
    """A git command that may be run, and the environment that it needs."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


@contextmanager
def prepare_push(
    repository: Repository, remote: str, refs: tuple[str, ...], environ: Mapping[str, str]
) -> Iterator[Push]:
    """Prepare a push of refs under their own names to a remote's address.

    Raises RunnerError for an address that names a program, or a folder of the repository itself.
    """
    address = address_of(repository, remote)
    names = [f"{repository.git.line('rev-parse', '--verify', ref)}:{ref}" for ref in refs]
    # A configuration may name another program for that end (remote.<name>.receivepack,
    # git-config(1)), which for a path runs on this machine: this sets git's own.
    words = ("push", "--porcelain", "--no-recurse-submodules", "--receive-pack=git-receive-pack")
    effects.step("push", address)
    with _apart(repository, (*words, "--", address, *names), environ) as push:
        yield push


@contextmanager
def prepare_question(
    repository: Repository, remote: str, environ: Mapping[str, str]
) -> Iterator[Push]:
    """Prepare a query of a remote's HEAD, which `head_name` reads.

    Raises RunnerError where a push there would be refused.
    """
    words = ("ls-remote", "--symref", "--upload-pack=git-upload-pack")
    address = address_of(repository, remote)
    with _apart(repository, (*words, "--", address, "HEAD"), environ) as question:
        yield question


def head_name(output: str) -> str:
    """Return the branch in the output of `git ls-remote --symref ADDRESS HEAD`; else empty."""
    found = _SYMREF.search(output)
    return found[1] if found else ""


@contextmanager
def _apart(
    repository: Repository, words: tuple[str, ...], environ: Mapping[str, str]
) -> Iterator[Push]:
    """Prepare a git command in a separate folder, with the person's own configuration."""
    with TemporaryFolder("push") as box:
        folder, env = lay_apart(repository, Path(box), environ)
        # the user's hooks are written for their repository, not for this folder
        yield Push(("git", f"--git-dir={folder}", "-c", "core.hooksPath=/dev/null", *words), env)


def lay_apart(
    repository: Repository, box: Path, environ: Mapping[str, str]
) -> tuple[Path, dict[str, str]]:
    """Create a separate git folder that borrows the objects; return it with its variables."""
    configuration = repository.configuration()
    folder, own = box / "git", box / "config"
    lay_out(folder, repository.lender(), (), "ref: refs/heads/none")
    own.write_text(own_text(configuration), "utf-8", "surrogateescape")
    return folder, {
        "GIT_ALLOW_PROTOCOL": ":".join(_find_allowed(configuration)),
        # After ours: the user's own GIT_ALLOW_PROTOCOL overrides.
        **{name: value for name, value in environ.items() if name not in _UNSAID},
        "GIT_CONFIG_GLOBAL": str(own),
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def record_push(repository: Repository, remote: str, ref: str) -> None:
    """Update the remote-tracking branch after a push, if this clone has one."""
    branch = ref.removeprefix("refs/heads/")
    followed = f"+refs/heads/*:refs/remotes/{remote}/*"
    if branch != ref and followed in _values_of_key(repository.configuration(), remote, "fetch"):
        repository.git.ask("update-ref", f"refs/remotes/{remote}/{branch}", ref)


def address_of(repository: Repository, remote: str) -> str:
    """Return the push address of a remote. Raises RunnerError for one that would run a program."""
    configuration = repository.configuration()
    values = _values_of_key(configuration, remote, "pushurl") or _values_of_key(
        configuration, remote, "url"
    )
    address = values[-1] if values else ""
    hint = f"git remote set-url --push {remote} ADDRESS"
    # A program on the way may parse a leading dash as an option (CVE-2017-1000117: ssh did so for a
    # host).
    if not address:
        hint = f"git remote add {remote} ADDRESS"
    if not address or address.startswith("-"):
        raise _make_refusal(f"the remote {remote!a} has no address", hint)
    helper = _HELPER.match(address)
    if helper and helper[1].lower() not in _find_allowed(configuration):
        raise _make_refusal(f"the address of {remote!a} would start the program {helper[1]}", hint)
    folder = _folder(address)
    if folder is None:
        return address
    there = Path(os.path.realpath(repository.root / folder))
    # A remote inside the clone: git would run in a folder that came with the unpacked clone, with
    # its configuration and hooks.
    if there.is_relative_to(repository.folders.top):
        raise _make_refusal(f"the address of {remote!a} is inside this repository", hint)
    return str(there)


def find_left_out(repository: Repository) -> tuple[str, ...]:
    """Return the keys of the repository's configuration that affect a push but are ignored here.

    Where a push fails, a person may want them in their own configuration.
    """
    entries = repository.configuration().entries
    keys = dict.fromkeys(one.key for one in entries if one.scope not in (*OWN, "command"))
    return tuple(key for key in keys if key.startswith(_HEEDED))


def own_text(configuration: Configuration) -> str:
    """Return the user's git configuration as one file, with all includes resolved."""
    own = (one for one in configuration.entries if one.scope in OWN)
    return "".join(
        _entry(one.key, one.value)
        for one in own
        # Included settings are already in `entries`, and a condition (gitdir:) would be evaluated
        # for the wrong folder here.
        if not one.key.startswith(("include.", "includeif."))
    )


def _entry(key: str, value: str) -> str:
    """Format one value as in git-config(1), in its own section."""
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    heading = f'{section} "{_escape(subsection)}"' if subsection else section
    text = _escape(value).replace("\n", "\\n").replace("\t", "\\t").replace("\b", "\\b")
    return f'[{heading}]\n\t{name} = "{text}"\n'


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _values_of_key(configuration: Configuration, remote: str, name: str) -> list[str]:
    """Return all values of a remote's key; case counts in the remote's name."""
    key = f"remote.{remote}.{name}"
    return [one.value for one in configuration.entries if one.key == key]


def _find_allowed(configuration: Configuration) -> list[str]:
    """Return the protocols that run no program, and those that the person allows."""
    keys = (
        one.key.split(".")
        for one in configuration.entries
        if one.scope in OWN and one.value == "always" and one.key.startswith("protocol.")
    )
    more = (words[1] for words in keys if words[2:] == ["allow"])
    return [*_PROTOCOLS, *(name for name in more if name not in _RUNS_ANYTHING)]


def _folder(address: str) -> str | None:
    """Return the local folder of an address, or None for another machine."""
    if address.startswith("file://"):
        return address.removeprefix("file://")
    elsewhere = "://" in address or _HELPER.match(address) or _SSH.match(address)
    return None if elsewhere else address


def _make_refusal(message: str, hint: str) -> RunnerError:
    return RunnerError(f"nothing was pushed: {message}", hint=hint, code=ExitCode.PERSON)


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
