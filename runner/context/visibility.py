"""What of a repository may be shown to an implementer, and the reading of it.

Long texts made short: redacted first, so that no key is cut in two and missed.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex
from runner.secrets.redact import redact
from runner.text.display import display
from runner.writes.paths import check_path
from runner.writes.safe_io import read_beneath

if TYPE_CHECKING:
    from pathlib import Path


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
        return "", f"there is no {path}"
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
class Bounds:
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
    shown = display(text)
    # A span ends at the first run of just as many backticks, whatever stands before them.
    longest = max(map(len, re.findall("`+", shown)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"
