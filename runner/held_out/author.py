"""The separate test author: the checks of its tests, and the acceptance items that tests name."""

from __future__ import annotations

import ast
import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from runner import effects
from runner.gates import contract_tests
from runner.gates.base import MUTATION
from runner.gates.base_result import earlier
from runner.gates.base_tests.test_support import configures_tests
from runner.gates.mutation import can_fail, red_first
from runner.gates.mutation.function_bodies import stub_changes
from runner.gates.test_paths import holds_tests, is_test_path
from runner.model import Action
from runner.model.work import AcceptanceRow, Doubt, ItemVerdict, Judge
from runner.text.display import display
from runner.writes.paths import is_control

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from runner.gates.base import Check, GateContext
    from runner.gates.junit import TestResult
    from runner.gates.mutation.small_changes import SmallChange
    from runner.held_out.part import AuthorTests
    from runner.model import Change, Task

_NAMED = re.compile(r"'([A-Za-z_][\w.]*)'|\"([^\"\s]+)\"|`([^`\s]+)`")
_WORD = re.compile(r"[A-Za-z_]\w*")
_MOST_SECONDS = 20.0
"""Seconds for mutants of one proposal."""
_SURVIVED = re.compile(r"not noticed: (.+?:\d+)(?=;|\Z)")
"""Location in the note of the proof by mutants."""


# --- its answer -----------------------------------------------------------------------


class AuthorAnswer(NamedTuple):
    """An author's answer."""

    files: tuple[str, ...] = ()
    items: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  never changed: a named tuple's default


def parse_answer(
    read: object, items: Mapping[str, str], *, adds: bool
) -> tuple[AuthorAnswer, list[str]]:
    """Return an author's JSON, and what is wrong with it.

    With `adds` it adds tests to its own, or none: then not every item needs one.
    """
    match read:
        case {"files": list(files), "items": dict(by_item), **more} if not more:
            pass
        case _:
            return AuthorAnswer(), ['end with the JSON object {"files": […], "items": {…}}']
    good = all(
        isinstance(ids, list) and ids and all(isinstance(one, str) for one in ids)
        for ids in by_item.values()
    )
    if not good or not all(isinstance(one, str) for one in files):
        return AuthorAnswer(), ["`files` and each entry of `items` must be a list of strings"]
    wrong = [
        f"{one}: name a test for this item" for one in items if one not in by_item and not adds
    ]
    wrong += [f"the task has no item {display(one)}" for one in by_item if one not in items]
    tests = {item: tuple(ids) for item, ids in by_item.items()}
    wrong += [
        f"{item}: {display(one)} is not in your files"
        for item, ids in tests.items()
        for one in ids
        if not one.startswith(tuple(files))
    ]
    return AuthorAnswer(tuple(files), tests), wrong


def find_misplaced(
    changes: tuple[Change, ...], own: Collection[str], taken: Mapping[str, str]
) -> list[str]:
    """Return what an author may not do: it creates files of tests, and nothing else.

    `own` are the paths of its earlier files, `taken` by path the tasks whose files the plan names.
    """
    wrong = [
        f"{one.path} already exists: create new files"
        for one in changes
        if one.action is not Action.CREATE or one.path in own
    ]
    wrong += [
        f"{one.path} is a file of {taken[one.path]}: choose another name"
        for one in changes
        if one.path in taken and one.path not in own
    ]
    wrong += [
        f"{one.path} affects more than your tests: put what they need into a test file"
        for one in changes
        if is_control(one.path) or configures_tests(one.path) or _runs_code_of_a_package(one)
    ]
    wrong += [
        f"{one.path} is not named like the project's test files"
        for one in changes
        if not is_test_path(one.path)
    ]
    if (changes or not own) and not any(holds_tests(one.path) for one in changes):
        wrong.append("you wrote no test file")
    return wrong


def _runs_code_of_a_package(change: Change) -> bool:
    return change.path.rpartition("/")[2] == "__init__.py" and bool((change.content or b"").strip())


def is_red(path: str, tests: tuple[TestResult, ...], tail: str, task: Task) -> bool:
    """Return whether a file has a failing test, or misses a name that the task announces."""
    mine = [test for test in tests if test.id.startswith(path) or test.file == path]
    if any(test.bad and not test.unloaded for test in mine):
        return True
    loaded = any(not test.unloaded for test in mine)
    output = " ".join(test.message for test in mine if test.unloaded) or tail
    return not loaded and _is_announced(output, task)


def _is_announced(message: str, task: Task) -> bool:
    """Return whether an error names something in the task's outputs or text."""
    known = set(_WORD.findall(" ".join((task.title, task.prose, *task.outputs, *task.acceptance))))
    quoted = (part for found in _NAMED.findall(message) for part in found if part)
    return any(known & set(_WORD.findall(one)) for one in quoted)


# --- mutants --------------------------------------------------------------------------


def find_survivors(
    gates: GateContext, is_noticed: Callable[[tuple[Change, ...]], bool]
) -> Iterator[str]:
    """Yield a text for each mutant that no test notices: its place, and the line before and after.

    Of mutants that the visible contracts were tried on, only those that survived are tried again.
    `is_noticed` returns whether another test fails on a tree with these changes.
    """
    if gates.settings.proof.mutation == "off" or gates.origin.by_person:
        return
    began = effects.monotonic()
    for one in islice(_list_unnoticed(gates), can_fail.MOST_CHANGES):
        if gates.cancelled.is_set() or effects.monotonic() - began > _MOST_SECONDS:
            return
        if not is_noticed(one.apply_to_all(gates.changes)):
            place, *lines = can_fail.format_change(one, gates)
            yield "\n".join((f"{place} in {one.function}", *lines))


def is_noticed(gates: GateContext, changes: tuple[Change, ...]) -> bool:
    """Return whether a visible contract fails with these changes, or does not come to its end."""
    checks = contract_tests.checks(gates.task, gates.settings)
    seen = (earlier(can_fail.with_patience(one, gates), gates, changes) for one in checks)
    return any(one is None or not one.passed for one in seen)


def _list_unnoticed(gates: GateContext) -> Iterator[SmallChange]:
    """Yield the mutants that no visible contract notices."""
    notes = " ".join(one.note for one in gates.proofs if one.id == MUTATION)
    places = set(_SURVIVED.findall(notes))
    for one in can_fail.list_small_changes(gates):
        if not gates.task.test_contracts or f"{one.path}:{one.line}" in places:
            yield one


# --- visible tests --------------------------------------------------------------------


def judge_items(
    tests: AuthorTests, gates: GateContext, passed: Mapping[str, Collection[str]]
) -> Iterator[AcceptanceRow]:
    """Yield what the visible tests of an author show of acceptance items.

    `passed` are the ids of tests that passed, by the contract that passed.
    """
    for check in contract_tests.checks(gates.task, gates.settings):
        ran = {one.partition("[")[0] for one in passed.get(check.id, ())}
        if not any(path in check.command for path, _ in tests.files) or not ran:
            continue
        doubt = Doubt.NONE if _fails_without(check, gates) else Doubt.CANNOT_FAIL
        for item, ids in tests.items:
            if ran.issuperset(one.partition("[")[0] for one in ids):
                yield AcceptanceRow(
                    item, ItemVerdict.MET, Judge.TESTS, check.id, tests=ids, doubt=doubt
                )


def _fails_without(check: Check, gates: GateContext) -> bool:
    """Return whether a contract fails on the base with its tests, or under stub first."""
    before = red_first.run_before(check, gates)
    if before is not None and not before.passed:
        return True
    stubbed = stub_changes(gates.changes, gates.before_own_work, gates.is_test)
    seen = earlier(check, gates, stubbed) if stubbed else None
    return seen is not None and not seen.passed


# --- acceptance items that a test names ------------------------------------------------

_PARAMETERS = re.compile(r"\[.*\]\Z", re.DOTALL)
_COMMENT = ("#", "//", "/*", "*", "--", '"""')
_MARK = "@"
"""Start of a decorator or an attribute; the comment is above it."""


def find_items(
    test: TestResult, files: Mapping[str, bytes], ids: Collection[str]
) -> tuple[str, ...]:
    """Return the acceptance ids that a test names by a word in its id, docstring or comment.

    `files` are the held-out files by path, `ids` the acceptance ids of the task.
    """
    text = "\n".join((test.id, *_texts_of(test, files)))
    return tuple(one for one in ids if re.search(rf"(?<![A-Za-z0-9]){one}(?![A-Za-z0-9])", text))


def _texts_of(test: TestResult, files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield docstring and comment of a test from the held-out files that define it."""
    name = _PARAMETERS.sub("", re.split(r"::| > |\.", test.id)[-1]).strip()
    where = test.id.partition("::")[0], test.file
    chosen = [path for path in files if any(one and one.endswith(path) for one in where)]
    for path in chosen or files if name else ():
        text = files[path].decode("utf-8", "replace")
        lines = text.splitlines()
        if path.endswith(".py"):
            yield from _python_texts(text, lines, name)
            continue
        defined = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        for number, line in enumerate(lines):
            if defined.search(line):
                yield _comment_above(lines, number)


def _python_texts(text: str, lines: Sequence[str], name: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            yield ast.get_docstring(node) or ""
            yield _comment_above(lines, first - 1)


def _comment_above(lines: Sequence[str], number: int) -> str:
    """Return the comment lines directly above a line."""
    found = []
    for line in reversed(lines[:number]):
        bare = line.strip()
        if not bare.startswith((*_COMMENT, _MARK)):
            break
        found.append(bare)
    return "\n".join(reversed(found))
