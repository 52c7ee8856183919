"""Assertions of new tests that never ran, in languages whose test files no tool measures.

A family of the registry. The contracts run once more with a probe at each assertion of the test
files that the change writes: a callback that is never called, a promise that nobody awaits, a loop
over nothing and an early return look the same from here. Python needs no second run
(`silent_assertions`). Where that run fails, or a file is not loaded in it, nothing is known.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from runner import effects
from runner.gates.base import INTEGRITY, Check, Fitted, Proved, command_limits, gravest
from runner.gates.check_run import try_check
from runner.gates.coverage.instrument import project_tree, text_of
from runner.gates.own_files import own_folder
from runner.gates.test_bodies import is_read, read_tests
from runner.languages.base import PROBE_LOADED, PROBE_OUT
from runner.languages.registry import code_language
from runner.lazy_dataclass import dataclass
from runner.model import Finding, Severity, Verdict, digest_of
from runner.plan.shell.selection import selection_of
from runner.process.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.languages.base import Probe, Probed
    from runner.model import Change, Task, TestContract

CHECK = "assertion-probes"
_LARGEST = 1_000_000
_LONGEST_RUN = 60.0
"""Seconds of a contract beyond which only `strict` has it run once more."""
_SHOWN = 80
_MOST = 10


@dataclass(frozen=True, slots=True)
class _File:
    """A test file of the change, and what it is with probes."""

    path: str
    number: str
    proposed: bytes
    probed: Probed
    fresh: tuple[Probe, ...]
    """The probes at assertions that were not there before."""


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at the tests of what a task writes."""
    if not (task.writes_anything and task.test_contracts):
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each new assertion that no test contract came to: a warning, or a question.

    A question where nothing else of its test ran, or with `strict` of its function. Nothing of
    what a person wrote, where a contract failed or selects tests, and where it cannot be known.
    """
    strict = bench.settings.mutation == "strict"
    lines = [one.command for one in bench.task.test_contracts]
    failed = any(one.kind == "test" and one.verdict is Verdict.FAIL for one in bench.proofs)
    if failed or (bench.by_person and not strict) or any(map(selection_of, lines)):
        return Proved(None)
    files = [*_files(bench)]
    if not any(one.fresh for one in files):
        return Proved(None)
    keys = _run(files, bench, strict=strict)
    found = [
        finding
        for one in files
        if f"{one.number}.{PROBE_LOADED}" in keys
        for finding in _silent(one, keys, strict=strict)
    ]
    return Proved(None, gravest(found, _MOST))


def _files(bench: GateContext) -> Iterator[_File]:
    for at, change in enumerate(bench.changes):
        content = change.content
        if content is None or len(content) > _LARGEST or not bench.is_test(change.path):
            continue
        if not (is_read(change.path) and read_tests(change.path, content)):
            continue
        probed = _probed(change.path, content, str(at))
        if probed is not None:
            former = bench.before(change.path)
            yield _File(change.path, str(at), content, probed, _fresh(change, probed, former))


def _probed(path: str, content: bytes, number: str) -> Probed | None:
    language = code_language(path)
    if language is None or language.probed is None:
        return None
    try:
        return language.probed(path, content.decode(), number)
    except UnicodeDecodeError:
        return None


def _fresh(change: Change, probed: Probed, former: bytes | None) -> tuple[Probe, ...]:
    """Those at assertions whose very words, in this test, were not there before."""
    before = _probed(change.path, former, "0") if former else None
    known = {(one.test, one.code) for one in before.probes} if before else set()
    return tuple(one for one in probed.probes if (one.test, one.code) not in known)


def _run(files: list[_File], bench: GateContext, *, strict: bool) -> frozenset[str]:
    """The keys that were written while all contracts that were run once more passed."""
    wanted = {one.key for file in files for one in file.fresh}
    keys: set[str] = set()
    out = own_folder(bench.place.box, "probes") / "keys.txt"
    # Without `on_base`: where a contract changes files the proposal is put back for the next check,
    # and these probes would go with it.
    quiet = replace(bench, tell=_ignore_line, on_base=None, changes=_with_probes(files, bench))
    with _held(files, bench):
        for contract in bench.task.test_contracts:
            past = next((one.seconds for one in bench.proofs if one.id == contract.id), 0.0)
            if past > _LONGEST_RUN and not strict:
                return frozenset()  # it may be the one that comes to them
            effects.unlink(out)
            if not _passes(contract, out, quiet):
                return frozenset()
            keys |= {*(text_of(out) or "").split()}
            if wanted <= keys:
                break
    return frozenset(keys)


def _passes(contract: TestContract, out: Path, bench: GateContext) -> bool:
    check = Check(
        id=f"{CHECK}-{contract.id}",
        kind="test",
        command=contract.command,
        limits=command_limits(bench.task, bench.settings),
        level=contract.level,
        network=bench.settings.network_for(bench.task.network),
        fails=contract.fails,
    )
    return try_check(check, bench, Fitted(check.command, {PROBE_OUT: str(out)})).passed


def _with_probes(files: list[_File], bench: GateContext) -> tuple[Change, ...]:
    """The change as the tree holds it while the probes are in it."""
    texts = {one.path: one.probed.text.encode() for one in files}
    return tuple(
        replace(one, content=texts[one.path], after=digest_of(texts[one.path]))
        if one.path in texts
        else one
        for one in bench.changes
    )


def _ignore_line(_line: str) -> None:
    """A person hears of what was found, not of the run that found it."""


@contextmanager
def _held(files: list[_File], bench: GateContext) -> Iterator[None]:
    """While entered, the test files have probes in them; then their own bytes, again."""
    places = [(project_tree(bench) / one.path, one) for one in files]
    modes = [file.stat().st_mode & 0o777 for file, _ in places]
    try:
        for (file, one), mode in zip(places, modes, strict=True):
            effects.write_file(file, one.probed.text.encode(), mode=mode)
        yield
    finally:
        for (file, one), mode in zip(places, modes, strict=True):
            # A test may have taken its own folder away; what is put back below brings that, too.
            if file.parent.is_dir():
                effects.write_file(file, one.proposed, mode=mode)
        if bench.on_base is not None:
            with bench.on_base(()):
                pass  # leaving it puts back what the tests may have changed beside


def _silent(file: _File, keys: frozenset[str], *, strict: bool) -> Iterator[Finding]:
    tests = {one.function[0] for one in file.probed.probes if one.key in keys}
    functions = {one.function for one in file.probed.probes if one.key in keys}
    for one in file.fresh:
        is_hollow = one.function not in functions
        if one.key in keys or (one.nested and not is_hollow):
            continue  # a branch that did not happen beside claims that did
        asks = is_hollow and (strict or (bool(one.test) and one.function[0] not in tests))
        where = f" of `{one.test}`" if one.test else ""
        yield Finding(
            check=INTEGRITY,
            message=f"`{one.code[:_SHOWN]}`{where} never ran: no test contract comes to it",
            path=file.path,
            line=one.line,
            severity=Severity.QUESTION if asks else Severity.WARNING,
            hint="have a test come to it, and wait for it, or take it out",
        )
