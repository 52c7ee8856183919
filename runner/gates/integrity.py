"""Frozen tests: refuse deleted tests, and new hooks that change results.

A family of the registry; it runs no command. Skipped, deselected and failing tests of the base are
found by their ids (`base_tests`). New tests that assert nothing are a warning.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.base import INTEGRITY, Check, Proved, make_proof
from runner.gates.test_paths import find_tests, is_benchmark, is_test_path
from runner.languages.registry import is_written_in
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Severity, Verdict
from runner.process.limits import Limits
from runner.text.foreign_documents import name_of, python_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.gates import allowed_test_changes
    from runner.gates.base import GateContext
    from runner.languages.base import NamedTest
    from runner.model import Change, Proof, Task
else:
    allowed_test_changes = lazy_module("runner.gates.allowed_test_changes")

ASKED = "keep it passing, or name the part of the plan that requires this"
"""Hint of a question to those who can still repair it."""
_STAYS = "restore the landed test, or list {path} itself in the task's Output files"
_UNREAD = "restore the landed test, or review its change yourself: --review prompt"
_LISTED = "the task lists {path} exactly, so this only warns: check that it is intended"
_ABLE = "remove it: every test must run, and must be able to fail"
_IDLE = "assert the code's behaviour: the test must be able to fail"


def integrity_proof(note: str, count: int) -> Proof:
    """Create the proof of intentionally changed expectations, which is shown with all proofs."""
    check = Check(id=INTEGRITY, kind=INTEGRITY, command="", limits=Limits())
    output = note.encode("utf-8", "surrogateescape")
    return make_proof(check, Verdict.PASS, note, output=output, counts=(("changed", count),))


def prove(check: Check, context: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Find removed or weakened tests in the proposal, and faults of its new tests.

    A listing excuses a test that says less only where a person wrote it or will have seen it.
    """
    return Proved(
        None,
        findings(
            context.changes,
            context.before,
            context.task,
            reviewed=context.origin.reviewed,
            by_person=context.origin.by_person,
            is_test=context.is_test,
            meant=_meaning(context),
        ),
    )


def _meaning(context: GateContext) -> Callable[[str, str], str]:
    """Return a lookup of the plan's requests to delete a test; it reads the plan when called."""

    @cache
    def known() -> allowed_test_changes.Meaning:
        return allowed_test_changes.Meaning.of(context)

    return lambda path, test: known().of_test(test, path)


def is_excused(path: str, task: Task) -> bool:
    """Return whether a task's outputs list this exact file."""
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
    """Yield line, message and excuse of each removed test, or of a script without tests."""
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
    return Finding(
        check=INTEGRITY, message=message, path=path, line=line, severity=severity, hint=hint
    )


def _find_idle(change: Change, old: bytes | None) -> Iterator[str]:
    old_tests = _tests(change.path, old)
    names, codes = {one.name for one in old_tests}, {one.code for one in old_tests}
    for body in _tests(change.path, change.content):
        known = body.name in names or body.code in codes
        if not (known or body.asserts or is_benchmark(body.name, change.path)):
            yield body.name


def _tests(path: str, content: bytes | None) -> tuple[NamedTest, ...]:
    """Return the tests in a file; empty for unsupported languages."""
    return find_tests(path, content) or ()


# --- hooks and replaced assertions ----------------------------------------------------


_LARGEST = 2_000_000
_HOOKS = regex(
    r"\Apytest_(?:collection_modifyitems|ignore_collect|collect_file|pycollect_makeitem|deselected"
    r"|runtest_\w+|pyfunc_call|sessionfinish|unconfigure|report_teststatus|itemcollected"
    r"|cmdline_main|load_initial_conftests|exception_interact)\Z"
)
_ASSERTIONS = regex(
    r"TestCase\.(?:assert\w*|fail\w*|subTest|run)\Z|\Apytest\.(?:raises|fail|approx|warns)\Z"
)
_TAMPERS = regex(
    r"\b(?:outcome|exitstatus|deselected|wasxfail|excinfo|force_result|shouldstop)\b|items\s*\[|items\.(?:clear|remove"
    r"|pop)|\bskip\b|\bxfail\b|_exit\b|\bexit\b|\breturn True\b|\breturn 0\b"
)


class Weakness(NamedTuple):
    """One way in which a changed test file shows less than before."""

    line: int
    message: str
    grave: bool = True
    """Whether it rejects the change; else it is a warning."""


def find_added_hooks(old: bytes | None, new: bytes) -> Iterator[Weakness]:
    """Return the hooks, exits and replaced assertions that a Python test file did not have."""
    if len(new) > _LARGEST:
        return
    before, after = (old or b"").decode("utf-8", "replace"), new.decode("utf-8", "replace")
    known = Counter(code for code, _, _ in _find_tampering(before))
    for code, line, grave in _find_tampering(after):
        if known[code]:
            known[code] -= 1
        else:
            first = code.splitlines()[0]
            what = "can change test results" if grave else "is called with test results"
            yield Weakness(line, f"`{first[:80]}` {what}", grave)


def _find_tampering(source: str) -> list[tuple[str, int, bool]]:
    """Return pytest hooks and exits with their code, their line and whether they affect results."""
    tree = python_tree(source)
    if tree is None:
        return []
    found: list[tuple[str, int, bool]] = []
    calls = (name_of(node) for node in ast.walk(tree) if isinstance(node, ast.Call))
    forks = any(name.endswith(("fork", "forkpty")) for name in calls)  # then a child may end so
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _HOOKS.search(node.name):
            code = ast.unparse(ast.Module(node.body, []))
            named = f"def {node.name}(...)\n{code}"
            found.append((named, node.lineno, bool(_TAMPERS.search(code))))
        elif isinstance(node, ast.Call) and _ends(node):
            found.append((ast.unparse(node), node.lineno, not forks))
        elif isinstance(node, ast.Call | ast.Assign) and _breaks(node):
            found.append((ast.unparse(node), node.lineno, True))
    return found


def _breaks(node: ast.Call | ast.Assign) -> bool:
    """Return whether a call or assignment skips tests or silences assertions."""
    if isinstance(node, ast.Call):
        return _resets(node)
    return _ignores(node) or _replaces_assertion(node)


def _ends(node: ast.Call) -> bool:
    """Return whether a call exits the interpreter successfully."""
    return name_of(node) in ("os._exit", "_exit", "sys.exit") and _is_success(node)


def _ignores(node: ast.Assign) -> bool:
    return any(name_of(target).startswith("collect_ignore") for target in node.targets)


def _replaces_assertion(node: ast.Assign) -> bool:
    """Return whether an assignment replaces an assertion of the test framework."""
    return any(
        isinstance(target, ast.Attribute) and _ASSERTIONS.search(name_of(target))
        for target in node.targets
    )


def _resets(node: ast.Call) -> bool:
    """Return whether a call patches unittest's `TestCase`."""
    sets = name_of(node).rpartition(".")[2] in ("setattr", "object")  # mock.patch.object, too
    return sets and bool(node.args) and name_of(node.args[0]).endswith("unittest.TestCase")


def _is_success(call: ast.Call) -> bool:
    return not call.args or (isinstance(call.args[0], ast.Constant) and not call.args[0].value)
