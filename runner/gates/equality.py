"""Product code whose equality does not look: every comparison in a test holds, whatever it holds.

A family of the registry; it runs no command. Told where a change adds an equality of a class that
uses nothing of its own object, but for one that only says of which class both are.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from runner.gates.base import INTEGRITY, Check, Proved
from runner.languages.c_like_lexer import find_closing, line_of, mask_literals
from runner.languages.registry import code_language, is_written_in
from runner.model import Finding, Severity
from runner.process.limits import Limits
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.model import Task

CHECK = "equality"
_LARGEST = 1_000_000
_METHOD = re.compile(
    r"\b(?P<name>asymmetricMatch|equals|isEqual|Equals?|eq)\s*(?=\()(?:\([^(){}]*\))[^(){};=]*(?=\{)"
)
_ALWAYS = re.compile(r"\{\s*(?:return\s+)?true\s*;?\s*\}")


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at what a task that may write adds."""
    if not task.writes_anything:
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each equality that the change adds and that does not look: a question, or a warning."""
    found = []
    for change in bench.changes:
        content = change.content
        if content is None or len(content) > _LARGEST or bench.is_test(change.path):
            continue
        before = bench.before(change.path) or b""
        known = {name for name, _ in blind(change.path, before)}
        found += [
            _finding(change.path, name, line, bench)
            for name, line in blind(change.path, content)
            if name not in known
        ]
    return Proved(None, tuple(found))


def _finding(path: str, name: str, line: int, bench: GateContext) -> Finding:
    return Finding(
        check=INTEGRITY,
        message=f"{name} is equal without a look at what it holds: tests that compare it hold",
        path=path,
        line=line,
        severity=Severity.WARNING if bench.by_person else Severity.QUESTION,
        hint="compare what both hold, or leave equality to the language",
    )


def blind(path: str, content: bytes) -> Iterator[tuple[str, int]]:
    """Name and line of each equality that uses nothing of its own object."""
    language = code_language(path)
    text = content.decode("utf-8", "replace")
    if is_written_in(path, "python") and "__eq__" in text:
        tree = python_tree(text)
        yield from _in_python(tree) if tree else ()
    elif language is not None and language.literals is not None:
        mask = mask_literals(text, language.literals)
        for match in _METHOD.finditer(mask):
            if _ALWAYS.fullmatch(mask[match.end() : find_closing(mask, match.end()) + 1]):
                yield match["name"], line_of(text, match.start())


def _in_python(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__eq__":
                if _is_blind(method, node):
                    yield node.name, method.lineno
            elif _gives_true(method):
                yield node.name, method.lineno


def _gives_true(node: ast.stmt) -> bool:
    """Whether `__eq__` is a function that is written in its place, and always true."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id="__eq__")], value=ast.Lambda(body=ast.Constant(value))
        ):
            return value is True
    return False


def _is_blind(method: ast.FunctionDef, owner: ast.ClassDef) -> bool:
    """Whether it can be true, and nothing of its own object or of its own class decides."""
    arguments = [one.arg for one in (*method.args.posonlyargs, *method.args.args)]
    own = {arguments[0] if arguments else "self", owner.name, "super"}
    results = [one.value for one in ast.walk(method) if isinstance(one, ast.Return) and one.value]
    if not results or all(_is_no(one) for one in results):
        return False
    return not any(isinstance(one, ast.Name) and one.id in own for one in ast.walk(method))


def _is_no(node: ast.expr) -> bool:
    """False, or that it is not known; an object that equals nothing deceives no test."""
    constant = isinstance(node, ast.Constant) and not node.value
    return constant or (isinstance(node, ast.Name) and node.id == "NotImplemented")
