"""Hooks, exits and replaced assertions by which a Python test file changes how tests end."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.text.syntax import name_of, python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """Whether it refuses; else it is a warning."""


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
    """Hooks of pytest and exits: their code, line, and whether they touch what counts."""
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
    """Whether tests are left out or assertions made silent by a call or an assignment."""
    if isinstance(node, ast.Call):
        return _resets(node)
    ignores = any(name_of(target).startswith("collect_ignore") for target in node.targets)
    return ignores or _replaces_assertion(node)


def _ends(node: ast.Call) -> bool:
    """Whether a call ends the interpreter as if all were well."""
    succeeds = not node.args or (isinstance(node.args[0], ast.Constant) and not node.args[0].value)
    return name_of(node) in ("os._exit", "_exit", "sys.exit") and succeeds


def _replaces_assertion(node: ast.Assign) -> bool:
    """Whether an assertion of the test tool itself becomes something else."""
    return any(
        isinstance(target, ast.Attribute) and _ASSERTIONS.search(name_of(target))
        for target in node.targets
    )


def _resets(node: ast.Call) -> bool:
    """Whether something of unittest's `TestCase` itself is set, under whichever name."""
    sets = name_of(node).rpartition(".")[2] in ("setattr", "object")  # mock.patch.object, too
    return sets and bool(node.args) and name_of(node.args[0]).endswith("unittest.TestCase")
