"""Find the test files, test support files and test settings in a change.

A file belongs to tests by its path as the common tools find it, or since a test contract of the
task names it and it holds tests: whatever it is called.
"""

from __future__ import annotations

import configparser
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.languages.registry import code_language, is_written_in
from runner.lazy_pattern import regex
from runner.model import Action, Change, digest_of
from runner.text.foreign_documents import parse_json, parse_toml

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator

    from runner.gates.base import GateContext


_CONFIGURES = regex(
    r"(?:\A|/)(?:pytest\.ini|\.pytest\.ini|pytest\.toml|tox\.ini|noxfile\.py|Makefile|makefile|GNUmakefile"
    r"|justfile|Justfile|Taskfile\.ya?ml|\.mocharc\.[\w.]+|\.coveragerc|\.c8rc[^/]*|\.nycrc[^/]*"
    r"|vite\.workspace\.\w+|(?:vitest|jest|playwright|karma|cypress|ava)\.(?:config|setup|workspace)\.\w+"
    r"|jest\.setup\.\w+|vitest\.setup\.\w+|sitecustomize\.py|usercustomize\.py)\Z"
)
"""Files that configure how or which tests run, and nothing of the product."""
_SNAPSHOT = regex(r"(?:\A|/)__snapshots__/|\.snap\Z|\.ambr\Z")
_IN_TESTS = regex(rb"\b(?:it|test|describe|suite|specify)\b[\w.]*\s*\(")
_REACHES_OTHERS = regex(
    rb"\bos\.(?:Exit|_exit|abort)\b|\bsys\.exit\b|\bprocess::exit\b|\.prototype\b"
    rb"|\bprocess\.(?:exit|exitCode|reallyExit|abort|kill)\b"
    rb"|\b(?:globalThis|global|window|expect|assert|it|test|describe)\.\w+\s*=(?!=)"
)
"""Code that ends the program running other files' tests too, or sets state they share."""
_ALIKE = 0.5
_LARGEST = 200_000


class Support(Struct, frozen=True):
    """The part of a change that belongs to tests, apart from the product."""

    product: tuple[Change, ...] = ()
    landed: tuple[Change, ...] = ()
    """Changes of existing files: tests, helpers, snapshots, test configuration."""
    added: tuple[Change, ...] = ()
    shared: tuple[Change, ...] = ()
    """Files that configure the product too, where the keys that say what runs are not as before;
    files of the product that hold tests of their own, which are not as before."""
    moves: tuple[tuple[str, str], ...] = ()
    """Old and new path of each moved test file."""

    @property
    def touches(self) -> bool:
        """Whether what tests rest on changed at all."""
        return bool(self.landed or self.shared or any(map(_is_loaded, self.added)))

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that were there before and are not as they were."""
        return tuple(one.path for one in (*self.landed, *self.shared))

    def new_place(self, path: str) -> str:
        """Return the new path of a file that may have been moved."""
        return dict(self.moves).get(path, path)


def support_of(context: GateContext) -> Support:
    """Return the part of the proposal that belongs to tests."""
    product: list[Change] = []
    landed: list[Change] = []
    added: list[Change] = []
    shared: list[Change] = []
    for change in context.changes:
        before = context.before(change.path)
        if _supports(change, context):
            (added if before is None else landed).append(change)
        else:
            product.append(change)
            if before is not None and (
                changes_test_settings(change.path, before, change.content)
                or has_tests_inside(change.path, before, change.content)
            ):
                shared.append(change)
    moves = tuple(_moves(landed, added, context.before))
    return Support(tuple(product), tuple(landed), tuple(added), tuple(shared), moves)


def _supports(change: Change, context: GateContext) -> bool:
    path = change.path
    return bool(_CONFIGURES.search(path) or _SNAPSHOT.search(path)) or context.is_test(path)


def _is_loaded(change: Change) -> bool:
    """Return whether a new file can affect tests of other files without being imported."""
    path, content = change.path, (change.content or b"")[:_LARGEST]
    name = path.rpartition("/")[2]
    first = _loaded_first(path)
    if first and first.search(content):
        return True
    if configures_tests(path) or name == "__init__.py":
        return True
    if is_written_in(path, "javascript") and not _IN_TESTS.search(
        content
    ):  # mocha loads all of a folder
        return True
    return "__mocks__/" in path or bool(_REACHES_OTHERS.search(content))


def configures_tests(path: str) -> bool:
    """Return whether a file's name makes it configure how tests of other files run."""
    return bool(_CONFIGURES.search(path)) or path.rpartition("/")[2] == "conftest.py"


def _loaded_first(path: str) -> re.Pattern[bytes] | None:
    """Return a pattern for code in this test file that also runs before other files' tests."""
    language = code_language(path)
    is_test = language and language.test_file and language.test_file.search(path)
    return language.loaded_first if language and is_test else None


def _moves(
    landed: Iterable[Change], added: Iterable[Change], before: Callable[[str], bytes | None]
) -> Iterator[tuple[str, str]]:
    """Yield pairs of a deleted file and the most similar new file, which replaces it."""
    free = [one for one in added if one.content is not None]
    for gone in landed:
        if gone.content is not None:
            continue
        old = before(gone.path) or b""
        name = gone.path.rpartition("/")[2]
        alike = [(_likeness(old, one.content or b""), one) for one in free]
        alike = [(share, one) for share, one in alike if share >= _ALIKE]
        if not alike:
            continue
        _, best = max(alike, key=lambda pair: (pair[0], pair[1].path.endswith(f"/{name}")))
        free.remove(best)
        yield gone.path, best.path


def _likeness(old: bytes, new: bytes) -> float:
    if old == new:
        return 1.0
    if max(len(old), len(new)) > _LARGEST:
        return 0.0
    # Without autojunk: in texts of 200 or more lines difflib would ignore frequent lines such as
    # braces or blanks.
    matcher = SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return matcher.quick_ratio() and matcher.ratio()


def as_before(support: Support, context: GateContext, *, with_added: bool) -> tuple[Change, ...]:
    """Return the changes with the base's tests, for a scratch tree of the base.

    `with_added` keeps the new files of tests, and the settings as they are proposed.
    """
    restored = {one.path for one in support.shared}
    product = [one for one in support.product if one.path not in restored]
    mixed = [_mix_change(one, context, with_settings=not with_added) for one in support.shared]
    moved = list(_find_moved_files(support, context))
    places = {one.path for one in moved}
    added = [one for one in support.added if with_added and one.path not in places]
    return (*product, *mixed, *moved, *added)


def _mix_change(change: Change, context: GateContext, *, with_settings: bool) -> Change:
    """Return settings as they were, or a file of the product with the tests that it had."""
    before = context.before(change.path) or b""
    inside = has_tests_inside(change.path, before, change.content)
    if not (inside or with_settings):
        return change
    content = with_tests_of(change.path, before, change.content) if inside else before
    return replace(change, content=content, after=digest_of(content), action=Action.MODIFY)


def _find_moved_files(support: Support, context: GateContext) -> Iterator[Change]:
    """Yield the changes of moved files: deleted at the old path, old bytes at the new one."""
    by_path = {one.path: one for one in (*support.landed, *support.added)}
    for old, new in support.moves:
        content = context.before(old) or b""
        yield by_path[old]
        yield replace(by_path[new], content=content, after=digest_of(content))


# --- tests in files of the product, as Rust has them ------------------------------------

_LONGEST_SOURCE = 1_000_000


def has_tests_inside(path: str, before: bytes, after: bytes | None) -> bool:
    """Return whether tests inside a source file differ between the versions."""
    if after is None or max(len(before), len(after)) > _LONGEST_SOURCE:
        return False
    old = _texts(path, before)
    return bool(old) and old != _texts(path, after)


def with_tests_of(path: str, before: bytes, after: bytes | None) -> bytes:
    """Return the proposed file with its former tests appended."""
    new = (after or b"").decode("utf-8", "replace")
    for begin, end in reversed(_places(path, new)):
        new = new[:begin] + new[end:]
    return (new.rstrip() + "\n\n" + "\n\n".join(_texts(path, before)) + "\n").encode()


def _texts(path: str, content: bytes) -> list[str]:
    source = content.decode("utf-8", "replace")
    return [source[begin:end] for begin, end in _places(path, source)]


def _places(path: str, source: str) -> list[tuple[int, int]]:
    language = code_language(path)
    inner = language.inner_tests if language else None
    return inner.places(source) if inner else []


# --- settings of tests in files that configure the product too --------------------------

_TOOLS = ("jest", "vitest", "mocha", "ava", "tap", "c8", "nyc")
_VITE = regex(r"vite\.config\.[cm]?[jt]s")
_TEST_BLOCK = regex(r"(?<![\w$.])test\s*:\s*\{[^}]*\}")


def changes_test_settings(path: str, before: bytes, after: bytes | None) -> bool:
    """Return whether a file says otherwise than before which tests run, and how."""
    name = path.rpartition("/")[2]
    read = _READERS.get("vite.config" if _VITE.fullmatch(name) else name)
    if read is None or after is None:
        return False
    return _read(read, before) != _read(read, after)


def _read(read: Callable[[str], object], content: bytes) -> object:
    try:
        return read(content.decode())
    except (ValueError, configparser.Error):
        return None


def _table(document: object, *names: str) -> object:
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _pyproject(text: str) -> object:
    return _table(parse_toml(text, bounded=False), "tool", "pytest")


def _setup(text: str) -> object:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return dict(parser["tool:pytest"]) if "tool:pytest" in parser else {}


def _package(text: str) -> object:
    table = parse_json(text)
    scripts = _table(table, "scripts")
    tests = {k: v for k, v in scripts.items() if "test" in k} if isinstance(scripts, dict) else {}
    return tests, [_table(table, name) for name in _TOOLS]


def _cargo(text: str) -> object:
    table = parse_toml(text, bounded=False)
    keys = ("test", "doctest", "harness")
    own = [_table(table, "lib", key) for key in keys]
    return [table.get("test"), _table(table, "package", "autotests"), *own]


_READERS: dict[str, Callable[[str], object]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup,
    "package.json": _package,
    "Cargo.toml": _cargo,
    "vite.config": _TEST_BLOCK.findall,
}
