"""What a proposal takes away from the tests, which new ones say nothing, what new code hides."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from runner.gates.integrity import configuration
from runner.gates.integrity.weaknesses import Weakness, weaknesses
from runner.gates.test_bodies import is_benchmark, is_read, read_tests
from runner.gates.test_paths import holds_tests, is_test_path
from runner.languages.base import CONSTANT
from runner.languages.registry import code_language
from runner.lazy_pattern import regex
from runner.model import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from runner.languages.base import TestBody, TestFile
    from runner.model import Change, Task

CHECK = "integrity"
_STAYS = "a test that has landed stays as it is: leave it, or "
_FROZEN = _STAYS + "let a task list {path} exactly"
_UNREAD = _STAYS + "have a person review the change: --review prompt"
ASKED = "keep it green, or say which expectation of the plan asks for this"
"""What a question says to who may still repair it."""
_LISTED = "the task lists {path} exactly, so this only warns: see that it is meant"
_ABLE = "take it out: every test must run, and be able to fail"
_CAUGHT = "catch what you expect, and let the rest be raised"
_IDLE = "assert what the code must do, so that it can fail"

_FAILING = regex(
    r"\A@(?:pytest\.mark\.xfail(?!\((?!reason\b|strict\b|raises\b))|\w*\.?expectedFailure)"
)
"""A mark without a condition."""


def is_excused(path: str, task: Task) -> bool:
    """Whether a task lists this very file, not a glob, in its Output files."""
    return path in {output.removeprefix("./") for output in task.outputs}


def _unmeant(_path: str, _weak: Weakness) -> str:
    """Nobody asked for it."""
    return ""


def findings(
    changes: Sequence[Change],
    before: Callable[[str], bytes | None],
    task: Task,
    *,
    reviewed: bool,
    must_assert: bool,
    by_person: bool = True,
    is_test: Callable[[str], bool] = is_test_path,
    meant: Callable[[str, Weakness], str] = _unmeant,
) -> tuple[Finding, ...]:
    """What a person or an implementer must hear of the proposal's tests.

    `reviewed`: a person applied the change or will; then files that the task lists exactly only
    warn. `must_assert`: a new test that asserts nothing refuses, else it warns. Unless `by_person`,
    what a test that has landed lost is a question: a person says whether that is meant. `meant`
    says by what the plan does so already; then it is told, and no more.
    """
    told: list[Finding] = []
    elsewhere = _codes(changes, is_test)
    for change in changes:
        old = before(change.path)
        lenient = reviewed and is_excused(change.path, task)
        hint = _hint(change.path, task, lenient=lenient)
        tests = is_test(change.path) or _holds_tests_inside(change.path, old)
        for weak, advice in _looks(
            change, old, elsewhere, hint, tests=tests, must_assert=must_assert
        ):
            asks = advice is hint and not by_person
            told += _make_findings(change.path, weak, advice, meant, lenient=lenient, asks=asks)
    return tuple(told)


def _hint(path: str, task: Task, *, lenient: bool) -> str:
    """What to do about a test that landed and is not what it was."""
    if lenient:
        return _LISTED.format(path=path)
    return _UNREAD if is_excused(path, task) else _FROZEN.format(path=path)


def _holds_tests_inside(path: str, old: bytes | None) -> bool:
    """Whether a file of the product holds tests of its own, as Rust has them."""
    language = code_language(path)
    inner = language.inner_tests if language else None
    return inner is not None and inner.mark in (old or b"")


def _looks(
    change: Change,
    old: bytes | None,
    elsewhere: frozenset[str],
    hint: str,
    *,
    tests: bool,
    must_assert: bool,
) -> Iterator[tuple[Iterable[Weakness], str]]:
    """Every way to look at one changed file, with what to do about what it sees."""
    path, new = change.path, change.content
    if old is not None and tests:
        yield _find_lost(change, old, elsewhere), hint
    if new is not None:
        yield configuration.weaknesses(path, old, new), _ABLE
        yield _idle(change, old, must_assert=must_assert) if tests else (), _IDLE
        yield find_swallowed_errors(path, old, new), _CAUGHT
        yield _expected_failures(change, old) if tests else (), hint


def _make_findings(
    path: str,
    weak: Iterable[Weakness],
    hint: str,
    meant: Callable[[str, Weakness], str],
    *,
    lenient: bool,
    asks: bool,
) -> Iterator[Finding]:
    grave = Severity.QUESTION if asks else Severity.ERROR
    for one in weak:
        why = meant(path, one) if one.grave and one.test else ""
        refuses = one.grave and not (lenient or why)
        yield Finding(
            check=CHECK,
            message=f"{one.message}: {why}" if why else one.message,
            path=path,
            line=one.line,
            severity=grave if refuses else Severity.WARNING,
            hint="" if why else ASKED if asks and refuses else hint,
        )


def _codes(changes: Sequence[Change], is_test: Callable[[str], bool]) -> frozenset[str]:
    """The bodies of all tests in the changed files: a test may move from one to another.

    Only to where it is found: by its file's name, or since a test contract names the file itself.
    A folder of tests alone runs nothing.
    """
    found: set[str] = set()
    for change in changes:
        if (
            change.content is not None
            and is_read(change.path)
            and (
                holds_tests(change.path) or (is_test(change.path) and not is_test_path(change.path))
            )
        ):
            file = read_tests(change.path, change.content)
            found |= {body.code for body in file.tests.values() if body.is_test} if file else set()
    return frozenset(found)


def _find_lost(change: Change, old: bytes, elsewhere: frozenset[str]) -> Iterator[Weakness]:
    if not is_read(change.path):
        return
    was, now = read_tests(change.path, old), read_tests(change.path, change.content)
    if was is not None and now is not None:
        yield from weaknesses(was, now, elsewhere)


def _idle(change: Change, old: bytes | None, *, must_assert: bool) -> Iterator[Weakness]:
    """New tests that can never fail."""
    if not is_read(change.path):
        return
    now = read_tests(change.path, change.content)
    was = read_tests(change.path, old)
    if now is None or was is None:
        return
    for name, body in _new_tests(was, now):
        if is_benchmark(name, change.path):
            continue
        if any(claim.speaks for claim in body.claims) or body.helped:
            for claim in body.claims:
                if claim.strength == CONSTANT and re.search(r"\blambda\b| or ", claim.text):
                    yield Weakness(claim.line, f"`{claim.text[:80]}` can never fail")
            continue
        if body.claims:
            yield Weakness(body.line, f"{name} {_why(body)}")
        else:
            yield Weakness(body.line, f"{name} asserts nothing", grave=must_assert)


def _expected_failures(change: Change, old: bytes | None) -> Iterator[Weakness]:
    """New tests that are marked as failing, on any machine: what they say is known to be wrong."""
    if not is_read(change.path):
        return
    now, was = read_tests(change.path, change.content), read_tests(change.path, old)
    for name, body in _new_tests(was, now) if was is not None and now is not None else ():
        for mark, line in body.marks:
            if _FAILING.search(mark):
                yield Weakness(line, f"{name} is new and marked as failing: `{mark[:80]}`")


def _new_tests(was: TestFile, now: TestFile) -> Iterator[tuple[str, TestBody]]:
    known = {body.code for body in was.tests.values()}
    for name, body in now.tests.items():
        if body.is_test and name not in was.tests and body.code not in known:
            yield name, body


def _why(body: TestBody) -> str:
    first = body.claims[0]
    if not first.guards:
        return f"tests nothing: `{first.text[:80]}` does not depend on the code"
    return f"can never fail: `{first.text[:80]}`: {', '.join(sorted(first.guards))}"


# --- handlers that swallow everything ---------------------------------------------------

_LARGEST = 2_000_000


def find_swallowed_errors(path: str, old: bytes | None, new: bytes) -> Iterator[Weakness]:
    """Handlers that swallow everything, more of them than there were before."""
    language = code_language(path)
    if language is None or language.swallowed is None or len(new) > _LARGEST:
        return
    find = language.swallowed
    before = Counter(code for code, _ in find((old or b"").decode("utf-8", "replace")))
    for code, line in find(new.decode("utf-8", "replace")):
        if before[code]:
            before[code] -= 1
        else:
            yield Weakness(line, f"`{code}` hides every failure", grave=False)
