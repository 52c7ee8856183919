"""Skip gates: their last run opened none of the changed files, or a contract ran the same tests.

`pytest -q testing` and `python -m pytest` run the same ids where all test files lie in `testing`.
In any doubt (another option, settings that change what is collected) the gate runs.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from runner.gates import proof_cache, script_targets
from runner.gates.check_run import standing_key
from runner.gates.touched_files import files, kind_of
from runner.lazy_pattern import regex
from runner.model.grades import is_document
from runner.plan.shell.selection import find_pytest_words
from runner.repo.trees import Prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.gates.base import Check, CheckResult, GateContext
    from runner.gates.check_run import CheckRun


_PLAIN = (0o100644, 0o100755)


def explain_unopened(check: Check, context: GateContext) -> str:
    """Return why a gate need not run for a change; empty where it has to.

    It passed on a tree that differs from this one only in files that it did not open. Of a gate
    that is one call of pytest any file counts that was there: other tools keep caches by which
    they know a file without opening it, so of them only documents count. A new document counts
    where its folder held others of its ending, and none was opened. A deletion, and a document
    that the command names by its ending, reach the gate.
    """
    changes = context.changes
    own = {f"gate:{gate.name}" for gate in context.task.gates}
    if check.id in own or not changes:
        return ""
    if any(one.content is None or one.mode not in _PLAIN for one in changes):
        return ""
    known = proof_cache.load_entry(context.kept, *_record(check, context))
    match known:
        case {"tree": str(tree), "files": list(files), "kinds": list(kinds), "task": str(task)}:
            differing = context.find_differing(tree)
        case _:
            return ""
    if differing is None or any(context.after(path) is None for path in differing):
        return ""
    paths = {*differing, *(one.path for one in changes)}
    opened = [
        path
        for path in paths
        if path not in set(files) and not (is_document(path) and kind_of(path) in kinds)
    ]
    if opened or _names_ending(check, context, paths):
        return ""
    return f"the gate opened none of the changed files in {task}'s proof"


def keep_unopened(trial: CheckRun, context: GateContext) -> None:
    """Save on which tree a gate passed and which files it did not open, or drop the entry."""
    if trial.proof.stands_from:
        return
    key = _record(trial.check, context)
    passed = trial.passed and trial.unopened and not trial.touched.changed
    if passed and context.tree and standing_key(trial.check, context) is not None:
        entry: dict[str, object] = {"tree": context.tree, "files": trial.unopened}
        entry |= {"kinds": trial.unopened_kinds, "task": context.task.id}
        proof_cache.remember(context.kept, entry, *key)
    elif proof_cache.load_entry(context.kept, *key):
        proof_cache.remember(context.kept, {}, *key)


def _record(check: Check, context: GateContext) -> tuple[str, ...]:
    place = context.place
    return ("unopened", str(place.shown), place.start, context.sandbox.name, check.command)


def _names_ending(check: Check, context: GateContext, paths: Iterable[str]) -> bool:
    behind = script_targets.behind(check.command, context.before)
    texts = (check.command, *(text for _, text in behind))
    endings = {kind_of(path).rpartition("*")[2] for path in paths if is_document(path)}
    return any(ending in text.casefold() for ending in endings for text in texts)


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
