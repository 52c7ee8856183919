"""The files of the attempt's base commit that an implementer may read.

Texts are redacted before they are shortened, so that no key is cut in two and missed.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.config.permissions import evaluate_permission
from runner.config.shell_rules import Permit
from runner.errors import RunnerError
from runner.lazy_pattern import regex
from runner.plan.globs import is_glob, matches
from runner.repo.git import text
from runner.secrets.redact import redact
from runner.text.display import code_span, display
from runner.writes.paths import check_path
from runner.writes.safe_io import read_below

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Self

    from runner.config.settings import Settings
    from runner.repo.read import Repository

# --- what may be shown ----------------------------------------------------------------


LARGEST = 64 << 10
_PRIVATE = (
    *(".env", ".env.*", ".envrc", ".git", "node_modules", ".ssh", ".aws", ".gnupg", ".kube"),
    *(".netrc", ".pypirc", ".npmrc", ".pgpass", ".docker", ".htpasswd", ".git-credentials"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx"),
    *("*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "*.gpg", "*.age", "*.tfstate"),
    *("credentials", "credentials.*", "*credentials.json", "service-account*.json", "secrets.*"),
)


_IS_PRIVATE = regex("|".join(map(translate, _PRIVATE)))


def is_private(path: str) -> bool:
    """Return whether a file is never shown: keys, credentials, environments, `.git`."""
    return any(map(_is_private_name, path.casefold().split("/")))


@lru_cache(maxsize=65_536)
def _is_private_name(name: str) -> bool:
    """Return whether one path component is private."""
    # `fnmatch.translate` adds an end anchor, so `match` covers the whole name.
    return _IS_PRIVATE.match(name) is not None


def read_text(root: Path, path: str) -> tuple[str, str]:
    """Return a file's redacted text, or why it is not shown; links are not followed."""
    path = path.removeprefix("./")
    if refused := _refusal(root, path):
        return "", refused
    try:
        content = read_below(root, path)
    except RunnerError as error:
        return "", f"{path}: {error.message}"
    if content is None:
        return "", f"{path} not found"
    return redact(content.decode("utf-8-sig", "replace")), ""


def _refusal(root: Path, path: str) -> str:
    """Return why a path must not be read; empty if it may be."""
    if is_private(path):
        return f"{path} is private and not shown"
    unsafe = check_path(path, 0o100644)
    if unsafe and unsafe.refuses:
        return unsafe.message
    try:
        size = (root / path).lstat().st_size
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return f"{path} is larger than {LARGEST} bytes" if size > LARGEST else ""


# --- text bounds ----------------------------------------------------------------------


CHARACTERS_A_TOKEN = 4
"""Common estimate for English and code; good enough for a limit."""
_PROSE = 100_000
"""Maximum characters of a task; longer text is there by mistake and is cut."""


class BriefBounds(Struct, frozen=True):
    """The maximum lengths of a brief's parts at a scale."""

    scale: float = 1.0
    known_secrets: tuple[str, ...] = ()

    def head(self, text: str, most: int) -> str:
        """Return the start of a text, at most `most` characters at scale 1."""
        clean = self._clean(text)
        allowed = max(int(most * self.scale), 1)
        if len(clean) <= allowed:
            return clean
        whole_lines = clean[:allowed].rpartition("\n")[0] or clean[:allowed]
        return f"{whole_lines}\n… ({len(clean) - len(whole_lines)} more characters)"

    def tail(self, text: str, most: int) -> str:
        """Return the end of a text, cut at a line, with the number of omitted characters."""
        clean = self._clean(text)
        allowed = max(int(most * self.scale), 1)
        if len(clean) <= allowed:
            return clean
        whole_lines = clean[-allowed:].partition("\n")[2] or clean[-allowed:]
        return f"… ({len(clean) - len(whole_lines)} characters before)\n{whole_lines}"

    def whole(self, text: str) -> str:
        """Return the task's own text, which is not scaled."""
        # Redact before cutting: half a secret matches no pattern and would be shown.
        return self._clean(text)[:_PROSE]

    def count(self, most: int) -> int:
        """Return the scaled count, at least 3."""
        return max(int(most * self.scale), 3)

    def _clean(self, text: str) -> str:
        return display(redact(text, self.known_secrets), lines=True).strip("\n")


def fence(text: str, language: str = "text") -> str:
    """Return a fenced block (CommonMark 4.5) that `text` cannot close."""
    longest = max(map(len, re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """Return one line as a code span (CommonMark 6.1), even with backticks."""
    return code_span(display(text))


# --- the tree -------------------------------------------------------------------------


_MODES = ("100644 ", "100755 ")
_LOOKED_AT = 8192
"""Bytes searched for a zero that marks a binary file; git checks the first 8,000."""


def _nothing(_path: str) -> bytes | None:
    return None


def _always(_path: str) -> bool:
    return True


def _no_paths() -> Mapping[str, str]:
    return {}


class Tree(Struct, frozen=True, dict=True):
    """Tracked files by path, in their committed bytes: a person's unsaved edits are not in it."""

    paths: Callable[[], Mapping[str, str]] = _no_paths
    """All tracked paths with their blob names."""
    read: Callable[[str], bytes | None] = _nothing
    """Returns the bytes of a path, or None if it does not exist."""
    allow: tuple[tuple[str, ...], ...] = ()
    """Lists of globs; a readable file matches one of each list; none: all tracked files."""
    may_read: Callable[[str], bool] = _always
    """Returns whether the user's permission rules allow reading a path."""

    @classmethod
    def of(cls, repository: Repository, commit: str, settings: Settings) -> Self:
        """Return the tree of a commit; empty without a commit."""
        rules, floor = settings.permission, settings.floor.permission

        def may_read(path: str) -> bool:
            return evaluate_permission("read_file", path, rules, floor) is Permit.ALLOW

        return cls(
            paths=lambda: list_files(repository, commit) if commit else {},
            read=lambda path: repository.blob(commit, path) if commit else None,
            allow=settings.read_allowed,
            may_read=may_read if rules or floor else _always,
        )

    @cached_property
    def _texts(self) -> dict[str, tuple[str, str]]:
        return {}

    @cached_property
    def _listed(self) -> Mapping[str, str]:
        return self.paths()

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The paths that may be shown, with the names of their blobs."""
        return {path: blob for path, blob in self._listed.items() if self._may_show(path)}

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder of them."""
        found: set[str] = set()
        for path in self.files:
            folder = path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)

    def is_file(self, path: str) -> bool:
        """Return whether the tree contains the file."""
        return path in self.files

    def is_folder(self, path: str) -> bool:
        """Return whether the tree has files below the folder."""
        return not path or path in self.folders

    def match(self, patterns: tuple[str, ...]) -> tuple[str, ...]:
        """Return the files that match paths or globs, in pattern order."""
        found: dict[str, None] = {}
        for pattern in (one.removeprefix("./") for one in patterns):
            if not is_glob(pattern):
                found |= dict.fromkeys([pattern] if pattern in self.files else [])
            else:
                found |= dict.fromkeys(path for path in self.files if matches(pattern, path))
        return tuple(found)

    def text(self, path: str) -> tuple[str, str]:
        """Return a file's redacted text, or why it is not shown."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _read(self, path: str) -> tuple[str, str]:
        if is_private(path):
            return "", f"{path} is private and not shown"
        if path not in self.files:
            left_out = "excluded by agent.read_allow or a permission rule"
            why = left_out if path in self._listed else "not tracked by git"
            return "", f"{path} is not shown: {why}"
        content = self.read(path)
        if content is None:
            return "", f"{path} cannot be read"
        if len(content) > LARGEST:
            return "", f"{path} is larger than {LARGEST} bytes"
        # Git's own test for a binary file: a zero byte near its start.
        if b"\0" in content[:_LOOKED_AT]:
            return "", f"{path} is not a text file"
        return redact(content.decode("utf-8-sig", "replace")), ""

    def _may_show(self, path: str) -> bool:
        if is_private(path) or not self.may_read(path):
            return False
        return all(any(matches(glob, path) for glob in globs) for globs in self.allow)


def list_files(repository: Repository, commit: str) -> dict[str, str]:
    """Return the regular files of a commit in the project with their blob names."""
    # With `-z` names are raw; without it git quotes unusual ones (`core.quotePath`).
    out = text(repository.git.run("ls-tree", "-r", "-z", "--full-tree", commit))
    start = repository.prefix.value
    found: dict[str, str] = {}
    for line in out.split("\0")[:-1]:
        head, _, path = line.partition("\t")
        if head.startswith(_MODES) and path.startswith(start):
            found[path[len(start) :]] = head.rpartition(" ")[2]
    return found
