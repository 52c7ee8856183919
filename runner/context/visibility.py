"""What of a repository may be shown to an implementer, and the reading of it."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.secrets.redact import redact
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


_IS_PRIVATE = re.compile("|".join(map(translate, _PRIVATE)))


def is_private(path: str) -> bool:
    """Whether a file is never shown: keys, credentials, environments, git's own."""
    return any(map(_is_private_name, path.casefold().split("/")))


@lru_cache(maxsize=65_536)
def _is_private_name(name: str) -> bool:
    """The same of one component: most folders come again with each of their files."""
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
