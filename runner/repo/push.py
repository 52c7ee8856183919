"""A push with nothing of the repository's own configuration in it but the address it names.

`.git/config` comes with a clone that is unpacked, and names programs that a push would run: an
ssh command, helpers for logins, rewritten addresses, what answers at the other end. So git pushes
from a folder of its own that borrows the objects, and reads the person's own files alone.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex
from runner.repo.alternates import lay_out
from runner.repo.configuration import OWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.repo.configuration import Configuration
    from runner.repo.read import Repository

_PROTOCOLS = ("file", "git", "http", "https", "ssh")
_HELPER = regex(r"([A-Za-z0-9][A-Za-z0-9+.-]*)::")
"""`<transport>::<address>` names a program (gitremote-helpers(7))."""
_RUNS_ANYTHING = frozenset({"ext", "fd"})
_SSH = regex(r"[^/]+:")
"""`host:path`, where no slash comes before the colon (git-push(1), "GIT URLS")."""
_SYMREF = regex(r"^ref: refs/heads/(\S+)\tHEAD$", re.MULTILINE)
_HEEDED = ("core.askpass", "core.gitproxy", "core.sshcommand", "credential.", "http.", "url.")
_UNSAID = frozenset(
    {"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY"}
)


@dataclass(frozen=True, slots=True)
class Push:
    """A git command that may be run, and the environment that it needs."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


@contextmanager
def prepare_push(
    repository: Repository, remote: str, refs: tuple[str, ...], environ: Mapping[str, str]
) -> Iterator[Push]:
    """While entered, refs can be pushed under their own names to a remote's address.

    Raises RunnerError for an address that names a program, or a folder of the repository itself.
    """
    address = address_of(repository, remote)
    names = [f"{repository.git.line('rev-parse', '--verify', ref)}:{ref}" for ref in refs]
    # A configuration may name another program for that end (remote.<name>.receivepack,
    # git-config(1)), which for a path is this machine: named here it is git's own.
    words = ("push", "--porcelain", "--no-recurse-submodules", "--receive-pack=git-receive-pack")
    effects.step("push", address)
    with _apart(repository, (*words, "--", address, *names), environ) as push:
        yield push


@contextmanager
def prepare_question(
    repository: Repository, remote: str, environ: Mapping[str, str]
) -> Iterator[Push]:
    """While entered, a remote's address can be asked for its HEAD, as `head_name` reads it.

    Raises RunnerError where a push there would be refused.
    """
    words = ("ls-remote", "--symref", "--upload-pack=git-upload-pack")
    address = address_of(repository, remote)
    with _apart(repository, (*words, "--", address, "HEAD"), environ) as question:
        yield question


def head_name(output: str) -> str:
    """The branch in what `git ls-remote --symref ADDRESS HEAD` prints; empty where it has none."""
    found = _SYMREF.search(output)
    return found[1] if found else ""


@contextmanager
def _apart(
    repository: Repository, words: tuple[str, ...], environ: Mapping[str, str]
) -> Iterator[Push]:
    """A git command in a folder of its own, by the person's own configuration."""
    with TemporaryFolder("push") as box:
        folder, env = lay_apart(repository, Path(box), environ)
        # a person's own hooks are meant for their repository, which this folder is not
        yield Push(("git", f"--git-dir={folder}", "-c", "core.hooksPath=/dev/null", *words), env)


def lay_apart(
    repository: Repository, box: Path, environ: Mapping[str, str]
) -> tuple[Path, dict[str, str]]:
    """A git folder in `box` that borrows the objects, and the environment to use it in."""
    configuration = repository.configuration()
    folder, own = box / "git", box / "config"
    lay_out(folder, repository.lender(), (), "ref: refs/heads/none")
    own.write_text(own_text(configuration), "utf-8", "surrogateescape")
    return folder, {
        "GIT_ALLOW_PROTOCOL": ":".join(_find_allowed(configuration)),
        # Behind ours: what a person allows by their own GIT_ALLOW_PROTOCOL counts.
        **{name: value for name, value in environ.items() if name not in _UNSAID},
        "GIT_CONFIG_GLOBAL": str(own),
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def record_push(repository: Repository, remote: str, ref: str) -> None:
    """Remember what a remote's branch is on now, where this clone follows its branches."""
    branch = ref.removeprefix("refs/heads/")
    followed = f"+refs/heads/*:refs/remotes/{remote}/*"
    if branch != ref and followed in _values_of_key(repository.configuration(), remote, "fetch"):
        repository.git.ask("update-ref", f"refs/remotes/{remote}/{branch}", ref)


def address_of(repository: Repository, remote: str) -> str:
    """Where a push to a remote goes. Raises RunnerError where a push would run what it names."""
    configuration = repository.configuration()
    values = _values_of_key(configuration, remote, "pushurl") or _values_of_key(
        configuration, remote, "url"
    )
    address = values[-1] if values else ""
    hint = f"git remote set-url --push {remote} ADDRESS"
    # What begins with a dash is an option to somebody on the way (CVE-2017-1000117: a host that ssh
    # took for one).
    if not address:
        hint = f"git remote add {remote} ADDRESS"
    if not address or address.startswith("-"):
        raise _make_refusal(f"the remote {remote!a} has no address", hint)
    helper = _HELPER.match(address)
    if helper and helper[1].lower() not in _find_allowed(configuration):
        raise _make_refusal(f"the address of {remote!a} names a program, {helper[1]}", hint)
    folder = _folder(address)
    if folder is None:
        return address
    there = Path(os.path.realpath(repository.root / folder))
    # A folder of the clone as a remote: git would run in it, by its configuration and with its
    # hooks, what came along when it was unpacked.
    if there.is_relative_to(repository.folders.top):
        raise _make_refusal(f"the address of {remote!a} is inside this repository", hint)
    return str(there)


def find_left_out(repository: Repository) -> tuple[str, ...]:
    """Keys of the repository's own configuration that a push would have heeded, and this does not.

    Where a push fails, a person may want them in their own configuration.
    """
    entries = repository.configuration().entries
    keys = dict.fromkeys(one.key for one in entries if one.scope not in (*OWN, "command"))
    return tuple(key for key in keys if key.startswith(_HEEDED))


def own_text(configuration: Configuration) -> str:
    """The person's own configuration as one file; what depends on the folder is taken up in it."""
    own = (one for one in configuration.entries if one.scope in OWN)
    return "".join(
        _entry(one.key, one.value)
        for one in own
        # What they include is in `entries` already, and a condition (gitdir:) would be asked of the
        # wrong folder here.
        if not one.key.startswith(("include.", "includeif."))
    )


def _entry(key: str, value: str) -> str:
    """One value as git-config(1) writes it, under a heading of its own."""
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
    """Ways to reach an address that run no program it names, and those the person allows."""
    keys = (
        one.key.split(".")
        for one in configuration.entries
        if one.scope in OWN and one.value == "always" and one.key.startswith("protocol.")
    )
    more = (words[1] for words in keys if words[2:] == ["allow"])
    return [*_PROTOCOLS, *(name for name in more if name not in _RUNS_ANYTHING)]


def _folder(address: str) -> str | None:
    """The folder that an address names on this machine; None for another machine."""
    if address.startswith("file://"):
        return address.removeprefix("file://")
    elsewhere = "://" in address or _HELPER.match(address) or _SSH.match(address)
    return None if elsewhere else address


def _make_refusal(message: str, hint: str) -> RunnerError:
    return RunnerError(f"nothing was pushed: {message}", hint=hint, code=ExitCode.PERSON)
