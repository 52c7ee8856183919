"""The files of the commit that an attempt starts on, as far as an implementer may see them.

Texts are redacted before they are shortened, so that no key is cut in two and missed.
"""

from __future__ import annotations

import re
from dataclasses import field
from fnmatch import translate
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from runner.config.permissions import evaluate_permission
from runner.config.shell_rules import Permit
from runner.errors import RunnerError
from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex
from runner.plan.globs import is_glob, matches
from runner.repo.git import text
from runner.secrets.redact import redact
from runner.text.display import code_span, display
from runner.writes.paths import check_path
from runner.writes.safe_io import read_beneath

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
    """Whether a file is never shown: keys, credentials, environments, git's own."""
    return any(map(_is_private_name, path.casefold().split("/")))


@lru_cache(maxsize=65_536)
def _is_private_name(name: str) -> bool:
    """The same of one component: most folders come again with each of their files."""
    # What `fnmatch.translate` makes ends with an anchor of its own, so `match` asks for the whole
    # name.
    return _IS_PRIVATE.match(name) is not None


def read_text(root: Path, path: str) -> tuple[str, str]:
    """A file's text, redacted; or why it is not shown. Never outside `root`, never by a link."""
    path = path.removeprefix("./")
    if refused := _refusal(root, path):
        return "", refused
    try:
        content = read_beneath(root, path)
    except RunnerError as error:
        return "", f"{path}: {error.message}"
    if content is None:
        return "", f"{path} not found"
    return redact(content.decode("utf-8-sig", "replace")), ""


def _refusal(root: Path, path: str) -> str:
    """Why a path is not read at all."""
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
"""A usual measure for English and code; good enough to bound a text by."""
_PROSE = 100_000
"""Nobody writes a task of this length; what comes here by mistake is cut."""


@dataclass(frozen=True, slots=True)
class BriefBounds:
    """How long the parts of a brief may be, at a scale."""

    scale: float = 1.0
    known_secrets: tuple[str, ...] = ()

    def head(self, text: str, most: int) -> str:
        """The beginning of a text, at most so many characters at scale 1."""
        clean = self._clean(text)
        allowed = max(int(most * self.scale), 1)
        if len(clean) <= allowed:
            return clean
        whole_lines = clean[:allowed].rpartition("\n")[0] or clean[:allowed]
        return f"{whole_lines}\n… ({len(clean) - len(whole_lines)} more characters)"

    def tail(self, text: str, most: int) -> str:
        """The end of a text: where programs say what went wrong."""
        clean = self._clean(text)
        allowed = max(int(most * self.scale), 1)
        if len(clean) <= allowed:
            return clean
        whole_lines = clean[-allowed:].partition("\n")[2] or clean[-allowed:]
        return f"… ({len(clean) - len(whole_lines)} characters before)\n{whole_lines}"

    def whole(self, text: str) -> str:
        """The task's own words, which no scale cuts."""
        # Redacted before it is cut: half a secret fits no pattern, and would be shown.
        return self._clean(text)[:_PROSE]

    def count(self, most: int) -> int:
        """How many of several things."""
        return max(int(most * self.scale), 3)

    def _clean(self, text: str) -> str:
        return display(redact(text, self.known_secrets), lines=True).strip("\n")


def fence(text: str, language: str = "text") -> str:
    """A fenced block (CommonMark 4.5) that `text` cannot end."""
    longest = max(map(len, re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """A code span (CommonMark 6.1) of one line, also around backticks."""
    return code_span(display(text))


# --- the tree -------------------------------------------------------------------------


_MODES = ("100644 ", "100755 ")
_LOOKED_AT = 8192
"""Bytes in which a zero tells that a file is no text; git looks at the first 8,000."""


def _nothing(_path: str) -> bytes | None:
    return None


def _always(_path: str) -> bool:
    return True


def _no_paths() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Tree:
    """Tracked files by path, in their committed bytes: a person's unsaved edits are not in it."""

    paths: Callable[[], Mapping[str, str]] = _no_paths
    """Every tracked path with the name of its blob."""
    read: Callable[[str], bytes | None] = _nothing
    """The bytes of a path; None for none."""
    allow: tuple[tuple[str, ...], ...] = ()
    """Lists of globs, of which a file must be in each to be read; none: every tracked file is."""
    may_read: Callable[[str], bool] = _always
    """What the person's permission rules say of a path."""
    _texts: dict[str, tuple[str, str]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, repository: Repository, commit: str, settings: Settings) -> Self:
        """The tree of a commit; of none where there is no commit yet."""
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
        """Whether there is such a file."""
        return path in self.files

    def is_folder(self, path: str) -> bool:
        """Whether there are files below it."""
        return not path or path in self.folders

    def match(self, patterns: tuple[str, ...]) -> tuple[str, ...]:
        """The files that paths or globs name, in the order of these."""
        found: dict[str, None] = {}
        for pattern in (one.removeprefix("./") for one in patterns):
            if not is_glob(pattern):
                found |= dict.fromkeys([pattern] if pattern in self.files else [])
            else:
                found |= dict.fromkeys(path for path in self.files if matches(pattern, path))
        return tuple(found)

    def text(self, path: str) -> tuple[str, str]:
        """A file's text, redacted; or why it is not shown."""
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
        # The sign by which git itself takes a file for binary, looked for in its beginning only.
        if b"\0" in content[:_LOOKED_AT]:
            return "", f"{path} is not a text file"
        return redact(content.decode("utf-8-sig", "replace")), ""

    def _may_show(self, path: str) -> bool:
        if is_private(path) or not self.may_read(path):
            return False
        return all(any(matches(glob, path) for glob in globs) for globs in self.allow)


def list_files(repository: Repository, commit: str) -> dict[str, str]:
    """The plain files of a commit in the project, with the names of their blobs."""
    # With `-z` names come as they are; without it git quotes the unusual ones (`core.quotePath`).
    out = text(repository.git.run("ls-tree", "-r", "-z", "--full-tree", commit))
    start = repository.prefix.value
    found: dict[str, str] = {}
    for line in out.split("\0")[:-1]:
        head, _, path = line.partition("\t")
        if head.startswith(_MODES) and path.startswith(start):
            found[path[len(start) :]] = head.rpartition(" ")[2]
    return found
