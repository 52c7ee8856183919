"""Skip gates that run the same tests as a passed test contract.

`pytest -q testing` and `python -m pytest` run the same ids where all test files lie in `testing`.
In any doubt (another option, settings that change what is collected) the gate runs.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from runner.gates.touched_files import files
from runner.lazy_pattern import regex
from runner.plan.shell.selection import find_pytest_words
from runner.repo.trees import Prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.gates.base import Check, CheckResult, GateContext

_SETTINGS = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_COLLECTS_MORE = regex(r"python_files|doctest|collect_file|pycollect|pyargs|rootdir|confcutdir")
"""Settings that may make pytest collect tests from other files or places."""
_TEST_PATHS = regex(r"(?m)^[ \t]*testpaths[ \t]*=[ \t]*(\[[^\]]*\]|[^\n]*(?:\n[ \t]+[^\n]*)*)")
_PATH = regex(r"[\w./-]+")
# docs.pytest.org, "Conventions for Python test discovery".
_TEST_FILE = regex(r"(?:\A|/)(?:test_[^/]*|[^/]*_test)\.py\Z")
_CONFTEST = "conftest.py"


def find_same_contract(check: Check, context: GateContext) -> str:
    """Return the command of a contract that passed and ran all tests of a gate; empty for none."""
    asked = find_pytest_words(check.command) if check.kind == "gate" else None
    if asked is None:
        return ""
    options, paths = asked
    for ended in context.ran.values():
        ran = find_pytest_words(ended.proof.command)
        if ran is None or ran[0] != options or not _is_plain_pass(ended):
            continue
        if ran[1] == paths or _holds_all(ran[1], paths, context):
            return ended.proof.command
    return ""


def _is_plain_pass(ended: CheckResult) -> bool:
    """Return whether a run passed and named its tests, all in files that pytest collects."""
    tests = ended.results.tests if ended.results else ()
    return ended.passed and bool(tests) and all(_TEST_FILE.search(one.file) for one in tests)


def _holds_all(folders: tuple[str, ...], asked: tuple[str, ...], context: GateContext) -> bool:
    """Return whether `folders` contain all test files below the requested paths."""
    texts = {name: _text(context.after(name)) for name in _SETTINGS}
    if any(map(_COLLECTS_MORE.search, texts.values())) or any("::" in one for one in folders):
        return False
    roots = asked or tuple(_test_paths(texts.values())) or (".",)
    folders = folders or tuple(_test_paths(texts.values())) or (".",)
    return not any(_is_beyond(path, roots, folders, context) for path in _list_files(context))


def _is_beyond(
    path: str, roots: tuple[str, ...], folders: tuple[str, ...], context: GateContext
) -> bool:
    """Return whether a file below `roots` may add a test outside `folders`."""
    if path in roots and not _TEST_FILE.search(path):
        return path not in folders
    if any(_is_within(path, one) for one in folders):
        return False
    if posixpath.basename(path) == _CONFTEST:
        shared = all(_is_within(one, posixpath.dirname(path) or ".") for one in folders)
        return not shared or bool(_COLLECTS_MORE.search(_text(context.after(path))))
    return bool(_TEST_FILE.search(path)) and any(_is_within(path, one) for one in roots)


def _is_within(path: str, folder: str) -> bool:
    return folder in (".", path) or path.startswith(f"{folder}/")


def _list_files(context: GateContext) -> Iterator[str]:
    inside = Prefix(context.place.start).inside
    for above, names in files(context)[0].items():
        yield from (inside(above + name) for name in names)


def _test_paths(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for found in _TEST_PATHS.finditer(text):
            yield from (posixpath.normpath(one) for one in _PATH.findall(found[1]))


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "replace")
