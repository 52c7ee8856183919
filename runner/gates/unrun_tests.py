"""New tests that no test contract ran, told by what its tools named.

A family of the registry. It needs no list of ways: a file that no pattern finds, a name that the
tool passes over, a build tag and an example without its output look the same from here. Of Python
each line is known (`silent_assertions`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.base import INTEGRITY, Check, Proved, command_limits
from runner.gates.base_tests.rerun import make_verbose_command
from runner.gates.check_run import try_check
from runner.gates.test_bodies import find_tests, is_benchmark
from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.plan.shell.selection import selection_of
from runner.process.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.gates.junit import TestResult
    from runner.model import Change, Task

CHECK = "unrun-tests"
_NAMED = regex(r"\A(?:Test|Fuzz|Example)\w")
_MISNAMED = regex(rb"(?m)^func (?P<name>(?:Test|Fuzz|Example)[a-z]\w*)\((?:\w+ \*testing\.\w+)?\)")
"""Functions of Go that are named as tests, and that its tool does not find."""
_TAGGED = regex(rb"(?m)^//\s*(?:go:build|\+build)\s")
_PARTS = regex(r"[/.:# >]+")
_MOST = 10


class _Unrun(NamedTuple):
    path: str
    line: int
    what: str
    """`the test TestSum`, or that it is a whole file."""
    marked: bool
    """Whether the file is built only on some system, or with a tag."""


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at the new tests of what a task writes."""
    if not (task.writes_anything and task.test_contracts):
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each new test that no contract ran: a warning, or a question where not one of them ran.

    Nothing where a contract selects tests or failed, or where its tool names none.
    """
    lines = [one.command for one in bench.task.test_contracts]
    written = [one for one in bench.changes if _holds_new_tests(one, bench)]
    failed = any(not one.passed for one in bench.ran.values())
    if not written or failed or any(selection_of(line) for line in lines):
        return Proved(None, ())
    ran = [*_ran(bench)]
    if not ran:
        return Proved(None, ())
    found: list[_Unrun] = []
    spoke = False
    for change in written:
        names = _new_names(change, bench)
        idle = [*_unrun(change, names, ran)]
        spoke = spoke or len(idle) < (1 if _by_file(ran) else len(names))
        found += idle
    return Proved(None, tuple(_finding(one, bench, spoke=spoke) for one in found[:_MOST]))


def _holds_new_tests(change: Change, bench: GateContext) -> bool:
    if change.content is None or is_written_in(change.path, "python"):
        return False
    return bench.is_test(change.path) and bool(_new_names(change, bench))


def _new_names(change: Change, bench: GateContext) -> dict[str, int]:
    """The tests that a file did not have before, by name with their lines."""
    path, before = change.path, bench.before(change.path) or b""
    known = {one.code for one in find_tests(path, before) or ()}
    names = {
        one.name: one.line
        for one in find_tests(path, change.content) or ()
        if not (is_benchmark(one.name, path) or one.code in known)
    }
    if is_written_in(path, "go") and (content := change.content):
        for match in _MISNAMED.finditer(content):
            if match[0] not in before:
                line = content.count(b"\n", 0, match.start()) + 1
                names[match["name"].decode()] = line
    return names


def _ran(bench: GateContext) -> Iterator[TestResult]:
    """Every test that the contracts' tools name; those that name none are asked to."""
    for contract in bench.task.test_contracts:
        trial = bench.ran.get(contract.id)
        if trial is None:
            continue
        if trial.results is None and trial.unnamed:
            check = Check(
                id=f"{CHECK}-{contract.id}",
                kind="test",
                command=make_verbose_command(contract.command),
                limits=command_limits(bench.task, bench.settings),
                named=True,
            )
            trial = try_check(check, replace(bench, tell=lambda _line: None))
        yield from trial.results.tests if trial.results else ()


def _by_file(ran: list[TestResult]) -> bool:
    """Whether the tool says of each test in which file it stands."""
    return all(one.file for one in ran)


def _unrun(change: Change, names: dict[str, int], ran: list[TestResult]) -> Iterator[_Unrun]:
    marked = bool(change.content and _TAGGED.search(change.content))
    if _by_file(ran):
        if change.path not in {one.file for one in ran}:
            yield _Unrun(change.path, min(names.values()), "its tests", marked)
        return
    heard = {part for one in ran for part in _PARTS.split(one.id)}
    for name, line in names.items():
        if _NAMED.match(name) and name not in heard:
            yield _Unrun(change.path, line, name, marked)


def _finding(one: _Unrun, bench: GateContext, *, spoke: bool) -> Finding:
    asks = not (spoke or one.marked or bench.by_person)
    found = "them" if " " in one.what else "it"
    return Finding(
        check=INTEGRITY,
        message=f"{one.what} never ran: no test contract finds {found}",
        path=one.path,
        line=one.line,
        severity=Severity.QUESTION if asks else Severity.WARNING,
        hint="name it as its tool finds it, or take it out",
    )
