"""The files of the commit that an attempt starts on, as far as they may be shown."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from runner.config.permissions import evaluate_permission
from runner.config.shell_rules import Permit
from runner.context.visibility import LARGEST, is_private
from runner.lazy_dataclass import dataclass
from runner.plan.globs import is_glob, matches
from runner.repo.git import text
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from runner.config.settings import Settings
    from runner.repo.read import Repository

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
        rules, floor = settings.permission, settings.permission_floor

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
            left_out = "read_allow or a permission rule leaves it out"
            why = left_out if path in self._listed else "git does not track it"
            return "", f"{path} is not shown: {why}"
        content = self.read(path)
        if content is None:
            return "", f"{path} cannot be read"
        if len(content) > LARGEST:
            return "", f"{path} is larger than {LARGEST} bytes"
        # The sign by which git itself takes a file for binary, looked for in its beginning only.
        if b"\0" in content[:_LOOKED_AT]:
            return "", f"{path} is no text"
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
