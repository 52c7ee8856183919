"""Read git configuration values with their scope: the person or the repository."""

from __future__ import annotations

import getpass
import os
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.repo.git import ConfigPairs, silence, text

if TYPE_CHECKING:
    from runner.repo.git import Git

OWN = ("system", "global")
"""Scopes of the user; `local`, `worktree` come with the repository."""
_SIGNERS = {"openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}


class ConfigEntry(Struct, frozen=True):
    """One configuration value and its scope; a key without value says `true`."""

    scope: str
    key: str
    value: str


class Identity(Struct, frozen=True):
    """The committer. `invented`: neither environment nor configuration names anyone."""

    name: str
    email: str
    invented: bool


class Signing(Struct, frozen=True):
    """The signing of commits; the programs are the person's own, never the repository's."""

    format: str
    program: str
    key: str
    key_command: str = ""
    """Command that names a key of ssh's agent if none is set."""

    def settings(self) -> ConfigPairs:
        """Return the settings with which `git commit-tree -S` signs."""
        # The older name of OpenPGP's program must match: git uses the last one read.
        kinds = [f"gpg.{self.format}.program"]
        kinds += ["gpg.program"] if self.format == "openpgp" else []
        pairs = (("gpg.format", self.format), *((kind, self.program) for kind in kinds))
        command = ("gpg.ssh.defaultKeyCommand", self.key_command)
        return (*pairs, command, ("user.signingKey", self.key)) if self.key else (*pairs, command)


class Configuration(Struct, frozen=True):
    """All of git's configuration for one repository, in the order git reads it."""

    entries: tuple[ConfigEntry, ...]

    def value(self, key: str, *, own: bool = False) -> str | None:
        """Return the last value of a key, or None; `own` reads only the user's files."""
        wanted = key.lower()
        for entry in reversed(self.entries):
            if entry.key == wanted and (not own or entry.scope in OWN):
                return entry.value
        return None

    def is_true(self, key: str, *, own: bool = False) -> bool:
        """Return whether a boolean setting is true."""
        return (self.value(key, own=own) or "").lower() in {"true", "yes", "on", "1"}

    def silence(self) -> ConfigPairs:
        """Return settings that disable the programs which the repository itself configures.

        A program that only the person's own files name (git-lfs, say) stays: it is theirs.
        """
        return silence(entry.key for entry in self.entries if entry.scope not in OWN)

    @property
    def includes(self) -> bool:
        """Whether the repository's own configuration reads further files."""
        own = (entry.key for entry in self.entries if entry.scope not in OWN)
        return any(key.startswith(("include.", "includeif.")) for key in own)

    def load_signing(self) -> Signing | None:
        """Return how git signs commits here, by the person's programs only, or None."""
        if not self.is_true("commit.gpgsign"):
            return None
        kind = (self.value("gpg.format") or "openpgp").lower()
        program = self.value(f"gpg.{kind}.program", own=True)
        if program is None and kind == "openpgp":
            program = self.value("gpg.program", own=True)
        return Signing(
            kind,
            program or _SIGNERS.get(kind, "gpg"),
            self.value("user.signingkey") or "",
            self.value("gpg.ssh.defaultkeycommand", own=True) or "",
        )

    def identity(self) -> Identity:
        """Return the committer: from the environment, then configuration, then login and host."""
        name = _environment("NAME") or self.value("user.name") or ""
        email = _environment("EMAIL") or self.value("user.email") or os.environ.get("EMAIL", "")
        if name and email:
            return Identity(_one_line(name), _one_line(email), invented=False)
        login, host = _login(), os.uname().nodename
        return Identity(
            _one_line(name) or login, _one_line(email) or f"{login}@{host}", invented=True
        )


def read_configuration(git: Git) -> Configuration:
    """Ask git for its configuration; this runs nothing."""
    # With scopes: a key in the user's own file is their choice, in the clone's it is untrusted.
    fields = text(git.run("config", "--list", "--show-scope", "-z")).split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    return Configuration(tuple(_parse_entry(scope, entry) for scope, entry in pairs))


def _parse_entry(scope: str, entry: str) -> ConfigEntry:
    # In -z form the key ends with a newline, which is missing for a key without a value
    # (git-config(1)); that means true.
    key, given, value = entry.partition("\n")
    return ConfigEntry(scope, key, value if given else "true")


def _environment(what: str) -> str:
    return os.environ.get(f"GIT_COMMITTER_{what}") or os.environ.get(f"GIT_AUTHOR_{what}") or ""


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no such user: a container run with a bare number
        return f"user{os.getuid()}"


def _one_line(name: str) -> str:
    """Return a name without characters that git strips from commits (ident.c)."""
    return " ".join(name.translate({ord(mark): " " for mark in "<>\n\0"}).split())
