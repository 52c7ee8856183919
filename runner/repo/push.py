"""Push with nothing of the repository's own configuration but the address.

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

from msgspec import Struct

from runner import effects
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import ExitCode, RunnerError
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
