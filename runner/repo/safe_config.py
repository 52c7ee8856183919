"""Git settings under which git runs nothing from a repository."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, TypeAlias

from runner.lazy_pattern import regex
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Settings: TypeAlias = "tuple[tuple[str, str], ...]"
"""Pairs of a git configuration key and its value."""

SETTINGS: Settings = (
    # Each of these names a program that git runs (core.fsmonitor even for `git status`), or changes
    # git's output; any unpacked clone comes with a `.git/config`.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.alternateRefsCommand", ""),
    ("core.askPass", ""),
    ("core.editor", ":"),
    ("core.gitProxy", ""),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("gc.auto", "0"),
    ("gpg.program", "false"),
    ("gpg.ssh.defaultKeyCommand", ""),
    ("i18n.commitEncoding", "UTF-8"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    # A folder of a work tree can look like a bare repository with its own configuration, and git
    # started there would follow it (git-config(1), safe.bareRepository).
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
)
"""Settings for every git: no hook, monitor, helper, network or editor."""

ENVIRONMENT: Mapping[str, str] = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_ASKPASS": "",
    "GIT_EDITOR": ":",
    "GIT_LITERAL_PATHSPECS": "1",
    # In a partial clone reading a missing object contacts the promisor remote, by whatever
    # transport it names (git(1); CVE-2024-32004).
    "GIT_NO_LAZY_FETCH": "1",
    # refs/replace may substitute other bytes for an object's name (git-replace(1)).
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PAGER": "cat",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_SSH_COMMAND": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS": "",
}
"""Variables for every git; they override configuration."""

_KEPT = frozenset(
    {
        "GIT_AUTHOR_EMAIL",
        "GIT_AUTHOR_NAME",
        "GIT_CEILING_DIRECTORIES",
        "GIT_COMMITTER_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
    }
)

_RUNS = regex(
    r"(?:filter\..+\.(?:clean|smudge|process)|diff\..+\.(?:textconv|command)|merge\..+\.driver)",
    re.DOTALL,
)
_REQUIRED = regex(r"filter\..+\.required", re.DOTALL)


def silence(names: Iterable[str]) -> Settings:
    """Return settings that disable the filters, text conversions and merge drivers named.

    An empty filter is none (git's convert.c), but one that is `required` would fail.
    """
    found = sorted(set(names))
    commands = tuple((name, "") for name in found if _RUNS.fullmatch(name))
    required = tuple((name, "false") for name in found if _REQUIRED.fullmatch(name))
    return commands + required


def as_environment(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return settings as `GIT_CONFIG_COUNT` variables, after those that `environ` already has."""
    first = max(0, read_number(environ.get("GIT_CONFIG_COUNT", "")))
    variables = {
        name: value
        for name, value in environ.items()
        if first and name.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))
    }
    for number, (key, value) in enumerate(settings, start=first):
        # Variables override every file (git-config(1), GIT_CONFIG_COUNT), including a clone's.
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables | {"GIT_CONFIG_COUNT": str(first + len(settings))}


def find_unwanted(variables: Mapping[str, str]) -> list[str]:
    """Return git variables of this process, such as a hook sets, that git must not inherit."""
    return [
        name
        for name in os.environ
        if name.startswith("GIT_") and name not in _KEPT and name not in variables
    ]
