"""What a Python test file claims, read from its syntax tree; nothing of it is run."""

from __future__ import annotations

import ast
import re
import shlex
from typing import TYPE_CHECKING

from runner.languages.base import TestBody, TestFile
from runner.languages.python.claims import claims_of, is_helping_name
from runner.languages.python.marks import cases_of, marks_of_body, marks_of_file, name_of
from runner.languages.python.sides import Names, follow_names, spell_out
from runner.text.syntax import blocks_of, python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.languages.python.marks import Function

_NO_CASE = re.compile(r"Mixin\Z|\A(?:object|ABC|abc\.ABC)\Z")
"""Bases that make no class a `TestCase`."""
_BROAD = frozenset({"", "Exception", "BaseException"})


def tests_of(source: str) -> TestFile | None:
    """The tests of a file by qualified name, and the functions that assert for them.

    None where it is no Python that this interpreter reads: the compile step says so.
    """
    tree = python_tree(source)
    if tree is None:
        return None
    functions = dict(_functions(tree.body, "", ()))
    helpers, names = _helpers(functions), Names.of(tree)
    inherited = _inherited(tree)
    tests: dict[str, TestBody] = {}
    for name, (function, outer) in functions.items():
        claims = tuple(follow_names(claims_of(function, helpers), names, names.within(function)))
        found = all(map(_holds_tests, outer))
        runs = found or all(_holds_tests(one) or one.name in inherited for one in outer)
        # what asserts in a class that is not found itself is a test of those who inherit it
        is_test = function.name.startswith("test") and (found or bool(claims))
        if is_test or claims:
            tests[name] = TestBody(
                line=function.lineno,
                code=_code(function) if runs else f"# inherited\n{_code(function)}",
                claims=claims,
                marks=(*_outer_marks(outer), *marks_of_body(function)),
                cases=tuple(case for one in (*outer, function) for case in cases_of(one)),
                is_test=is_test,
                found=found,
                helped=_is_helped(function, helpers),
                spelled_out=spell_out(function, claims, names) if is_test else frozenset(),
            )
        else:  # so that one that asserted before is known to be there, and to assert no more
            tests[name] = TestBody(function.lineno, _code(function), is_test=False, found=found)
    return TestFile(tests, tuple(marks_of_file(tree)))


def _functions(
    body: Sequence[ast.stmt], prefix: str, outer: tuple[ast.ClassDef, ...]
) -> Iterator[tuple[str, tuple[Function, tuple[ast.ClassDef, ...]]]]:
    """Every function that is made when the file is imported; below `if False` there is none."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, (node, outer)
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.", (*outer, node))
        elif isinstance(node, ast.If):
            if not (isinstance(node.test, ast.Constant) and not node.test.value):
                yield from _functions(node.body, prefix, outer)
            yield from _functions(node.orelse, prefix, outer)
        else:
            # Of one name the last counts: what is tried counts before what stands in for it.
            for block in reversed(tuple(blocks_of(node))):
                yield from _functions(block, prefix, outer)


def _holds_tests(outer: ast.ClassDef) -> bool:
    """Whether tests in a class are found: by its name, or as what may be a `TestCase`."""
    bases = (name_of(base) for base in outer.bases)
    return outer.name.startswith("Test") or any(not _NO_CASE.search(base) for base in bases)


def _inherited(tree: ast.Module) -> frozenset[str]:
    """Classes of the file of which others of it are made that hold tests: theirs are run there."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    known: set[str] = set()
    left = [one for one in classes.values() if _holds_tests(one)]
    while left:
        names = {name_of(base) for base in left.pop().bases}
        new = names & classes.keys() - known
        known |= new
        left += (classes[name] for name in new)
    return frozenset(known)


def _outer_marks(outer: tuple[ast.ClassDef, ...]) -> Iterator[tuple[str, int]]:
    for one in outer:
        yield from marks_of_body(one)


def _helpers(functions: dict[str, tuple[Function, tuple[ast.ClassDef, ...]]]) -> frozenset[str]:
    """Names of functions of this file that assert something, by themselves or through another."""
    known: set[str] = set()
    plain = {f.name: f for f, _ in functions.values() if not f.name.startswith("test")}
    while True:
        found = {
            name
            for name, function in plain.items()
            if name not in known and any(claims_of(function, frozenset(known)))
        }
        if not found:
            return frozenset(known)
        known |= found


def _is_helped(function: Function, helpers: frozenset[str]) -> bool:
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(_helps(call, helpers) for call in calls)


def _helps(call: ast.Call, helpers: frozenset[str]) -> bool:
    """Whether what is called would raise where something is wrong."""
    name = name_of(call).rpartition(".")[2] or getattr(call.func, "attr", "")
    checked = any(
        keyword.arg == "check" and isinstance(keyword.value, ast.Constant) and keyword.value.value
        for keyword in call.keywords
    )
    return name in helpers or is_helping_name(name) or checked


def _code(function: Function) -> str:
    """The body without its place and its words for people; the name does not count."""
    body = function.body
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        body = body[1:] or body
    return "\n".join(ast.unparse(statement) for statement in body)


def find_swallowed(source: str) -> list[tuple[str, int]]:
    """Handlers that catch everything and do nothing about it."""
    tree = python_tree(source)
    if tree is None:
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and _does_nothing(node.body):
            types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if any((name_of(one) if one else "") in _BROAD for one in types):
                caught = f" {ast.unparse(node.type)}" if node.type else ""
                found.append((f"except{caught}: pass", node.lineno))
    return found


def _does_nothing(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(one, ast.Pass)
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        for one in body
    )


def test_command(paths: tuple[str, ...], text: bytes, known: str) -> str:
    """A command that runs these files of tests, by the Python that the task's own commands name."""
    named = " ".join(map(shlex.quote, paths))
    python = next(iter(re.findall(r"\S*python[\d.]*(?= -m )", known)), "python3")
    if b"unittest" in text and b"pytest" not in text and "pytest" not in known:
        return f"{python} -m unittest -v {named}"
    return f"{python} -m pytest -q {named}"
