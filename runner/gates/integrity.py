"""Frozen tests: refuse deleted tests, and new hooks that change results.

A family of the registry; it runs no command. Skipped, deselected and failing tests of the base are
found by their ids (`base_tests`). New tests that assert nothing are a warning. A task may weaken a
test that its field `Changes tests` names, without a question to a person.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct

from runner.gates.base import INTEGRITY, Check, Proved, make_proof
from runner.gates.test_paths import find_tests, is_benchmark, is_test_path
from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex
from runner.model import Finding, Severity, Verdict
from runner.process.limits import Limits
from runner.text.python_syntax import name_of, python_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.gates.base import GateContext
    from runner.languages.base import NamedTest
    from runner.model import Change, Proof, Task

    Bodies: TypeAlias = Mapping[str, list[tuple[str, NamedTest]]]
    """Path and body of tests, by the last part of their name."""


ASKED = "keep the test passing, or name the part of the plan that requires this change"
"""Hint of a question to those who can still repair it."""
_STAYS = "restore the landed test, or list {path} itself in the task's Output files"
_UNREAD = "restore the landed test, or review the change yourself: runner --review prompt"
_LISTED = "the task lists {path} exactly, so this is only a warning: check that it is intended"
_ABLE = "remove this code: every test must run, and must be able to fail"
_EXITS = frozenset({"os._exit", "_exit", "sys.exit"})
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
    def known() -> Meaning:
        return Meaning.of(context)

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
        message = f"{change.path} was deleted"
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
        elif isinstance(node, ast.Call) and name_of(node) in _EXITS and _is_success(node):
            found.append((ast.unparse(node), node.lineno, not forks))
        elif isinstance(node, ast.Call | ast.Assign) and _breaks(node):
            found.append((ast.unparse(node), node.lineno, True))
    return found


def _breaks(node: ast.Call | ast.Assign) -> bool:
    """Return whether a call or assignment skips tests or silences assertions."""
    if isinstance(node, ast.Call):
        return _resets(node)
    return _ignores(node) or _replaces_assertion(node)


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


_LAST = regex(r"(?:::|\.| > | \u203a |/)")
_PLACE = regex(r"%[a-zA-Z#$]|\$\w+(?:\.\w+)*")
"""Placeholder of a value in the name of a table test in jest and vitest: `%i`, `$name`."""
_MOST_WILDCARDS = 16
ASKED_FOR = "required by the plan"


def last_of(test: str) -> str:
    """Return the function name of a test: `test_c` of `tests/test_a.py::TestB::test_c`."""
    return [part for part in _LAST.split(test) if part][-1] if test else test


class Meaning(Struct, frozen=True):
    """The facts about a change's tests that follow from their text."""

    named: tuple[str, ...]
    """Paths, IDs or globs in the plan's `Changes tests:`."""
    revised: frozenset[str]
    """Test files of the task itself, if its section changed since they landed."""
    old: Bodies
    new: Bodies

    @classmethod
    def of(cls, context: GateContext) -> Meaning:
        """Compare the tests of a proposal with those of its base."""
        tests = [one for one in context.changes if context.is_test(one.path)]
        return cls(
            named=context.task.changes_tests,
            revised=frozenset(context.former) if context.origin.revised else frozenset(),
            old=_find_bodies((one.path, context.before(one.path)) for one in tests),
            new=_find_bodies((one.path, one.content) for one in tests),
        )

    def of_test(self, test: str, file: str) -> str:
        """Return why a person knows of a lost test already; empty where nobody does."""
        places = (path for path, _ in self.old.get(last_of(test), ()))  # many a tool tells no file
        files = frozenset({file} if file else places)
        own = bool(files) and files <= self.revised
        named = any(_is_named(pattern, test, files) for pattern in self.named)
        return ASKED_FOR if own or named else ""

    def find_renamed_tests(self, gone: Iterable[str], fresh: Iterable[str]) -> frozenset[str]:
        """Return the missing tests whose body runs under a new name.

        Several may have become one with cases.
        """
        names = frozenset(map(last_of, fresh))
        now = (bodies for name, bodies in self.new.items() if _is_one_of(name, names))
        codes = {body.code for bodies in now for _, body in bodies}
        return frozenset(
            test
            for test in gone
            if any(body.code in codes for _, body in self.old.get(last_of(test), ()))
        )


def _is_one_of(name: str, shown: frozenset[str]) -> bool:
    """Return whether tests of this name ran; placeholders match the values of a case."""
    if name in shown:
        return True
    parts = _PLACE.split(name)
    if len(parts) == 1:
        return False
    shape = re.compile(".*".join(map(re.escape, parts)), re.DOTALL)
    return any(map(shape.fullmatch, shown))


def _is_named(pattern: str, test: str, files: frozenset[str]) -> bool:
    folder = pattern.rstrip("/") + "/"
    if _meets(test, pattern) or _meets(last_of(test), pattern):
        return True
    return bool(files) and all(_meets(file, pattern) or file.startswith(folder) for file in files)


def _meets(text: str, pattern: str) -> bool:
    return pattern.count("*") <= _MOST_WILDCARDS and fnmatchcase(text, pattern)


def _find_bodies(files: Iterable[tuple[str, bytes | None]]) -> Bodies:
    found: dict[str, list[tuple[str, NamedTest]]] = {}
    for path, content in files:
        for test in find_tests(path, content) or ():
            found.setdefault(last_of(test.name), []).append((path, test))
    return found
