"""What a change takes away from the tests of the base, and which new tests assert nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.integrity.outcome_hooks import find_added_hooks
from runner.gates.test_bodies import find_tests, is_benchmark
from runner.gates.test_paths import is_test_path
from runner.languages.registry import is_written_in
from runner.model import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.languages.base import NamedTest
    from runner.model import Change, Task

CHECK = "integrity"
ASKED = "keep it passing, or name the part of the plan that requires this"
"""The hint of a question, for whoever may still repair it."""
_STAYS = "landed tests must not change: restore it, or list {path} exactly in a task"
_UNREAD = "landed tests must not change: restore it, or review it yourself: --review prompt"
_LISTED = "the task lists {path} exactly, so this only warns: check that it is intended"
_ABLE = "remove it: every test must run, and must be able to fail"
_IDLE = "assert the code's behaviour: the test must be able to fail"


def is_excused(path: str, task: Task) -> bool:
    """Whether a task lists this very file, not a glob, in its Output files."""
    return path in {output.removeprefix("./") for output in task.outputs}


def findings(
    changes: Sequence[Change],
    before: Callable[[str], bytes | None],
    task: Task,
    *,
    reviewed: bool,
    by_person: bool = True,
    is_test: Callable[[str], bool] = is_test_path,
    meant: Callable[[str, str], str] = lambda _path, _test: "",
) -> tuple[Finding, ...]:
    """Return deleted tests, hooks that change how tests end, and new tests that assert nothing.

    `reviewed`: a person applied the change or will; then files that the task lists exactly only
    warn. Unless `by_person`, a deleted test is a question. `meant` returns what of the plan asks
    for the deletion of a test.
    """
    kept = frozenset(
        body.code for one in changes if is_test(one.path) for body in _tests(one.path, one.content)
    )
    found: list[Finding] = []
    for change in changes:
        old = before(change.path)
        if not is_test(change.path):
            continue
        if old is not None:
            listed = is_excused(change.path, task)
            gone = _find_deleted(change, old, kept, meant)
            hint = _UNREAD if listed else _STAYS
            hint = _LISTED if listed and reviewed else hint if by_person else ASKED
            found += (_make_deletion(change.path, *one, hint) for one in gone)
        if change.content is not None:
            found += _find_weak(change, old, change.content)
    return tuple(found)


def _find_weak(change: Change, old: bytes | None, new: bytes) -> Iterator[Finding]:
    hooks = find_added_hooks(old, new) if is_written_in(change.path, "python") else ()
    for weak in hooks:
        severity = Severity.ERROR if weak.grave else Severity.WARNING
        yield _make(change.path, weak.line, weak.message, severity, _ABLE)
    if idle := [*_find_idle(change, old)]:
        message = f"{', '.join(idle)} assert{'s' if len(idle) == 1 else ''} nothing"
        yield _make(change.path, 0, message, Severity.WARNING, _IDLE)


def _find_deleted(
    change: Change, old: bytes, kept: frozenset[str], meant: Callable[[str, str], str]
) -> Iterator[tuple[int, str, str]]:
    """Line, message and excuse of each test that is gone; of a script without tests, the file's."""
    named = _tests(change.path, old)
    if not named and change.content is None:
        message = f"{change.path} is gone"
        yield 0, message, meant(change.path, "")
    names = {body.name for body in _tests(change.path, change.content)}
    for body in named:
        if body.name not in names and body.code not in kept:
            message = f"the test {body.name} was removed (formerly line {body.line})"
            yield body.line, message, meant(change.path, body.name)


def _make_deletion(path: str, line: int, message: str, why: str, hint: str) -> Finding:
    severity = {_LISTED: Severity.WARNING, ASKED: Severity.QUESTION}.get(hint, Severity.ERROR)
    if why:
        return _make(path, line, f"{message}: {why}", Severity.WARNING, "")
    return _make(path, line, message, severity, hint.format(path=path))


def _make(path: str, line: int, message: str, severity: Severity, hint: str) -> Finding:
    return Finding(check=CHECK, message=message, path=path, line=line, severity=severity, hint=hint)


def _find_idle(change: Change, old: bytes | None) -> Iterator[str]:
    old_tests = _tests(change.path, old)
    names, codes = {one.name for one in old_tests}, {one.code for one in old_tests}
    for body in _tests(change.path, change.content):
        known = body.name in names or body.code in codes
        if not (known or body.asserts or is_benchmark(body.name, change.path)):
            yield body.name


def _tests(path: str, content: bytes | None) -> tuple[NamedTest, ...]:
    """The tests of a file; none where its language is not read."""
    return find_tests(path, content) or ()
