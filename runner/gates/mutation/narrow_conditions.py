"""Work that was done always, and is done now for sizes alone that tests have: asked by running.

A change that puts a statement of before behind `capacity in range(1, 4)` passes where tests have
caches of three. Told where the condition is new, holds a number that bounds it, every test passes
with it true for all, and some test fails with it false for all: no test shows what is beyond it.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.coverage.lines import own_lines
from runner.gates.mutation.brace_functions import functions
from runner.gates.mutation.languages import language_of
from runner.gates.mutation.mutants import Mutant, is_left_out
from runner.gates.mutation.run_mutants import Ends, Executions, MutantRunner
from runner.gates.mutation.survivors import find_seconds
from runner.languages.c_like_lexer import find_closing, line_of, mask_literals
from runner.languages.registry import is_written_in, read_code
from runner.lazy_pattern import regex
from runner.model import Finding
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.gates.base import GateContext
    from runner.model import Severity

_LEAST = 2
"""A number from which on it is no "is there any"."""
_MOST = 3
_SHOWN = 60
_IF = regex(r"(?<![\w.$])if\b\s*")
_BOUND = regex(
    r"\A[\w.$()\[\]]+\s*(?:<=?|===?)\s*(?P<high>\d+)\Z"
    r"|\A(?P<low>\d+)\s*(?:>=?|===?)\s*[\w.$()\[\]]+\Z"
    r"|\A\[\s*(?P<any>\d+(?:\s*,\s*\d+)*)\s*\]\.includes\([^()]*\)\Z"
)
_WORK = regex(
    r"(?!(?:return|break|continue|yield)\b[ \t]*[\w'\"-]*\Z|(?:raise|throw|panic)\b).*\w{2}",
    re.DOTALL,
)
"""A statement that does something; what only leaves stands in many places of a function."""


class Narrow(NamedTuple):
    """A new condition of an old function, before something that it did always."""

    function: str
    code: str
    did: str
    line: int
    start: int
    """In bytes of the file, as `end`."""
    end: int


def find_narrow(check: str, bench: GateContext, severity: Severity) -> Iterator[Finding]:
    """A finding for each such condition that is true in all tests, and that tests need."""
    executions = Executions.of(bench)
    strict = bench.settings.mutation == "strict"
    laboratory = MutantRunner(bench, executions, find_seconds(bench.proofs, _MOST, strict=strict))
    for path, lines in sorted(own_lines(bench).items()):
        content, before = bench.after(path), bench.before(path)
        if content is None or before is None or bench.is_test(path) or is_left_out(path, content):
            continue
        ran = executions.lines(path) & lines
        for one in [each for each in narrow_conditions(path, content, before) if each.line in ran]:
            if laboratory.is_over:
                return
            if _is_never_false(path, one, content, laboratory):
                yield Finding(
                    check=check,
                    message=f"`{one.code[:_SHOWN]}` is new and holds wherever tests come to it:"
                    f" none shows {one.function} where it does not, and `{one.did[:_SHOWN]}` was"
                    " done there before",
                    path=path,
                    line=one.line,
                    severity=severity,
                    hint="have a test come to it with a size beyond, or take the condition out",
                )


def _is_never_false(path: str, one: Narrow, content: bytes, laboratory: MutantRunner) -> bool:
    code = content[one.start : one.end]
    python = is_written_in(path, "python")
    true, false = (b"True or", b"False and") if python else (b"true ||", b"false &&")

    def ends(word: bytes) -> Ends:
        new = b"(" + word + b" (" + code + b"))"
        return laboratory.run(
            Mutant(path, one.function, "condition", one.line, one.start, one.end, new)
        )

    return ends(true) is Ends.SURVIVED and not laboratory.is_over and ends(false) is Ends.NOTICED


def narrow_conditions(path: str, content: bytes, before: bytes) -> list[Narrow]:
    """The first of them in a file, as it is proposed and as it was."""
    if is_written_in(path, "python"):
        return [*_in_python(content, before)][:_MOST]
    return [*_in_braces(path, content, before)][:_MOST]


# --- Python ---------------------------------------------------------------------------------


def _in_python(content: bytes, before: bytes) -> Iterator[Narrow]:
    old = dict(_functions(python_tree(before)))
    starts = [0]
    for line in content.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    for name, node in _functions(python_tree(content)):
        if name not in old:
            continue
        known = {
            ast.unparse(one) for one in ast.walk(old[name]) if isinstance(one, ast.expr | ast.stmt)
        }
        for one in ast.walk(node):
            if not isinstance(one, ast.If | ast.IfExp):
                continue
            parts = [one.test]
            if isinstance(one.test, ast.BoolOp) and isinstance(one.test.op, ast.And):
                parts = one.test.values
            beside = [ast.unparse(each) for each in parts]
            body = one.body if isinstance(one, ast.If) else [one.body]
            done = [each for each in map(ast.unparse, body) if each in known and _WORK.match(each)]
            for part, code in zip(parts, beside, strict=True):
                if done and code not in known and _is_bounded(part):
                    first = starts[part.lineno - 1] + part.col_offset
                    last = starts[(part.end_lineno or 1) - 1] + (part.end_col_offset or 0)
                    yield Narrow(name, code, done[0], part.lineno, first, last)


def _functions(tree: ast.AST | None, owner: str = "") -> Iterator[tuple[str, ast.AST]]:
    for node in ast.iter_child_nodes(tree) if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{owner}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{owner}{node.name}.")


def _is_bounded(node: ast.expr) -> bool:
    """Whether a comparison holds below a number, or for some numbers, alone."""
    if not isinstance(node, ast.Compare):
        return False
    match node.ops[-1], node.comparators[-1], node.left:
        case ast.Lt() | ast.LtE() | ast.Eq(), bound, _ if _is_number(bound):
            return True
        case ast.Gt() | ast.GtE() | ast.Eq(), _, bound if _is_number(bound):
            return True
        case ast.In(), ast.Call(func=ast.Name(id="range"), args=[*_, bound]), _:
            return _is_number(bound)
        case ast.In(), ast.Tuple() | ast.List() | ast.Set() as listed, _:
            numbers = [
                isinstance(one, ast.Constant) and type(one.value) is int for one in listed.elts
            ]
            return bool(numbers) and all(numbers) and any(map(_is_number, listed.elts))
    return False


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= _LEAST


# --- languages with braces --------------------------------------------------------------------


def _in_braces(path: str, content: bytes, before: bytes) -> Iterator[Narrow]:
    code, former = read_code(path, content), read_code(path, before)
    text, literals = code or ("", None)
    if former is None or literals is None:
        return
    mask = mask_literals(text, literals)
    old = {name: {*_statements(body)} for name, body in _bodies(path, former[0], literals)}
    for one in functions(mask, language_of(path)):
        known = old.get(one.name)
        for match in _IF.finditer(mask, one.start, one.end) if known else ():
            start, end, body = _parts(mask, match.end(), text)
            done = [
                each for each in _statements(body) if each in (known or ()) and _WORK.match(each)
            ]
            at = start
            for part in mask[start:end].split("&&") if done else ():
                first = at + len(part) - len(part.lstrip())
                at += len(part) + len("&&")
                if _bounds(part.strip()) and part.strip() not in " ".join(known or ()):
                    low = len(text[:first].encode())
                    high = low + len(part.strip().encode())
                    yield Narrow(one.name, part.strip(), done[0], line_of(text, first), low, high)


def _bodies(path: str, text: str, literals: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    for one in functions(mask_literals(text, literals), language_of(path)):
        yield one.name, text[one.start : one.end + 1]


def _parts(mask: str, at: int, text: str) -> tuple[int, int, str]:
    """Where a condition stands behind `if`, and what stands in its block."""
    if mask[at : at + 1] == "(":
        end = find_closing(mask, at)
        opening = re.compile(r"\s*\{").match(mask, end + 1)
        start, last = at + 1, end
    else:
        opening = re.compile(r"[^{}\n]*\{").match(mask, at)
        start, last = at, opening.end() - 1 if opening else at
        start = max(start, mask.rfind(";", at, last) + 1)
    if opening is None:
        return start, last, text[last + 1 :].partition("\n")[0]
    return start, last, text[opening.end() : find_closing(mask, opening.end() - 1)]


def _statements(body: str) -> Iterable[str]:
    return (line for each in body.split("\n") if (line := each.strip(" \t;{}")))


def _bounds(condition: str) -> bool:
    match = _BOUND.match(condition)
    numbers = re.findall(r"\d+", match["high"] or match["low"] or match["any"]) if match else ()
    return any(int(one) >= _LEAST for one in numbers)
