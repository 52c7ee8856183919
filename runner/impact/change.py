"""A change to judge: paths with content before and after, and detected moves.

Also finds files that configure the build and tests of those around and below them, and files whose
effect is unknown.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.languages.registry import is_manifest
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

# --- the change -----------------------------------------------------------------------


_MOST_COMPARED = 200
_MOST_IN_ALL = 2_000
"""Comparisons by lines; beyond them a file that moved and changed is one that went and one that
came, which asks for no less to be proven."""
_ALIKE = 0.5
"""Minimum share of lines that a moved file keeps; git's default for renames (`-M50%`)."""


class Changed(Struct, frozen=True):
    """One file of a change; None where there is no such file before or after."""

    path: str
    before: bytes | None
    after: bytes | None
    origin: str = ""
    """Previous path of a moved file."""
    is_whole: bool = False
    """Whether the whole file counts as changed, regardless of its bytes: details are unknown."""

    @property
    def is_edited(self) -> bool:
        """Whether the file was there and still is, and it is known what differs."""
        return self.before is not None and self.after is not None and not self.is_whole

    @property
    def is_created(self) -> bool:
        """Whether there was no file at this path."""
        return self.before is None

    @property
    def is_deleted(self) -> bool:
        """Whether there is no file at this path any more."""
        return self.after is None

    @property
    def first_line(self) -> int:
        """The first line that differs, from 1; 0 for a whole file or for what is no text."""
        if self.before is None or self.after is None or self.is_whole:
            return 0
        return _first_differing(self.before, self.after)


@lru_cache(maxsize=64)
def _first_differing(before: bytes, after: bytes) -> int:
    """Return the number of the first line that differs, or 0 for binary content."""
    # Git's test for a binary file (xdiff-interface.c, FIRST_FEW_BYTES).
    if b"\0" in before[:8000]:
        return 0
    old, new = before.splitlines(), after.splitlines()
    pairs = enumerate(zip(old, new, strict=False), start=1)
    differing = (at for at, (one, other) in pairs if one != other)
    return next(differing, min(len(old), len(new)) + 1)


def with_moves(changes: Iterable[Changed]) -> tuple[Changed, ...]:
    """Return the effective changes, with the origin of each moved file.

    A file that went and one that came are one that moved when their bytes are equal, or when they
    share the file's name and at least half of their lines.
    """
    differing = [one for one in changes if one.is_whole or one.before != one.after]
    gone = _Gone(one for one in differing if one.is_deleted)
    found: list[Changed] = []
    for one in differing:
        origin = gone.take_origin(one) if one.is_created and not one.origin else ""
        found.append(replace(one, origin=origin) if origin else one)
    return tuple(found)


class _Gone:
    """Files that went, of which each is the origin of one file at most."""

    def __init__(self, gone: Iterable[Changed]) -> None:
        # Indexed: for a moved folder of thousands, each lookup would scan all files.
        self._by_bytes: dict[bytes, dict[str, Changed]] = {}
        self._by_name: dict[str, dict[str, Changed]] = {}
        self._compared = 0
        for one in gone:
            self._by_name.setdefault(_name(one), {})[one.path] = one
            if one.before:
                self._by_bytes.setdefault(one.before, {})[one.path] = one

    def take_origin(self, new: Changed) -> str:
        """Return the former path of a moved file; empty for a new one."""
        same = self._by_bytes.get(new.after or b"", {})
        found = next(iter(same.values()), None) or self._find_near(new)
        if found is None:
            return ""
        del self._by_name[_name(found)][found.path]
        self._by_bytes.get(found.before or b"", {}).pop(found.path, None)
        return found.path

    def _find_near(self, new: Changed) -> Changed | None:
        near = self._by_name.get(_name(new), {}).values()
        for one in islice(near, min(_MOST_COMPARED, _MOST_IN_ALL - self._compared)):
            self._compared += 1
            if _alike(one.before, new.after):
                return one
        return None


def _name(one: Changed) -> str:
    return one.path.rpartition("/")[2]


def _alike(one: bytes | None, other: bytes | None) -> bool:
    if not one or not other:
        return False
    # Upper bound first (difflib, quick_ratio): the exact ratio takes quadratic time. Without
    # autojunk, which ignores repeated lines in a long file.
    matcher = SequenceMatcher(None, one.splitlines(), other.splitlines(), autojunk=False)
    return matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE


# --- files that configure -------------------------------------------------------------


_NAMES = frozenset(
    {"conftest.py", "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini"}
    | {".pytest.ini", "pytest.toml", ".pytest.toml"}
    | {"noxfile.py", ".coveragerc", "sitecustomize.py", "usercustomize.py", "Pipfile"}
    | {"Pipfile.lock", "poetry.lock", "uv.lock", "pdm.lock", "requirements.lock", "pylock.toml"}
    | {"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "bun.lock"}
    | {"bun.lockb", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc", ".babelrc", ".swcrc"}
    | {"go.sum", "go.work", "go.work.sum", "Cargo.lock", "build.rs"}
    | {"rust-toolchain", "rust-toolchain.toml", "Makefile", "GNUmakefile", "makefile", "justfile"}
    | {"runner.toml", ".python-version", ".node-version", ".nvmrc", ".tool-versions"}
)
_PATTERN = regex(
    r"(?:requirements|constraints)[\w.-]*\.(?:txt|in)\Z|[\w.-]+\.pth\Z"
    r"|(?:tsconfig|jsconfig)[\w.-]*\.json\Z"
    r"|(?:jest|vitest|vite|babel|webpack|rollup|ava|karma|playwright|cypress|next|svelte|nuxt)"
    r"[\w.-]*\.config\.\w+\Z|\.mocharc\.\w+\Z|\.env(?:\.\w+)?\Z"
)
_OWN = regex(r"(?:artifacts/build/.*|TASK-GRAPH\.md|FILE_OWNERSHIP_MAP\.md|PATTERN_INDEX\.md)\Z")


def governs(path: str) -> bool:
    """Return whether a change of this file can affect every test in its folder and below."""
    name = path.rpartition("/")[2]
    return name in _NAMES or is_manifest(name) or bool(_PATTERN.match(name))


def is_own_document(path: str) -> bool:
    """Return whether a file is a plan or record of the runner, which affects no test."""
    return bool(_OWN.match(path))


def folder_governed(path: str) -> str:
    """Return the folder that a configuration file applies to; empty for the repository.

    A cargo configuration or a workflow in a dotted folder holds for what is around that folder.
    """
    folder = path.rpartition("/")[0]
    while folder.rpartition("/")[2].startswith("."):
        folder = folder.rpartition("/")[0]
    return folder


# --- unknown --------------------------------------------------------------------------


_UNREAD_CODE = regex(
    r"\.(?:c|cc|cpp|cxx|h|hh|hpp|cs|java|kt|kts|scala|swift|m|mm|rb|php|pl|pm|lua|r|jl|ex|exs|erl"
    r"|hs|ml|clj|dart|zig|nim|sh|bash|zsh|fish|ps1|bat|cmake|proto|pyx|pxd|ipynb)\Z"
)


def is_unread_code(path: str) -> bool:
    """Return whether a file is code in a language whose imports are not parsed."""
    return bool(_UNREAD_CODE.search(path))


def explain_undeclared(change: Changed) -> str:
    """Return why the effect of a change is unknown."""
    if is_unread_code(change.path):
        return (
            f"the plan does not name {change.path}, "
            "and the runner does not track imports of its language"
        )
    if change.is_deleted:
        return f"{change.path} was deleted, and the runner knows no reference to it"
    return f"neither the plan nor any code names {change.path}"
