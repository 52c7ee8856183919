"""Mutants that the plan's own words ask for: another rounding, no value beside an error, keys.

Whether a test tells floor from round matters where the plan speaks of rounding, and nowhere else.
An equality that takes undefined for missing is asked again by the one that does not.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from runner.gates.mutation.brace_functions import functions
from runner.gates.mutation.mutants import Mutant, is_left_out
from runner.gates.mutation.run_mutants import Ends, Executions, MutantRunner
from runner.languages.c_like_lexer import line_of, mask_literals, statement_end
from runner.languages.registry import is_written_in, read_code
from runner.lazy_pattern import regex
from runner.model import Finding
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.gates.base import GateContext
    from runner.gates.mutation.brace_functions import Function
    from runner.model import Severity, Task

_ROUNDS = regex(
    r"\bround(?:s|ed|ing)?\b|\bnearest\b|\bfloor(?:ed|s)?\b|\bceil\w*|\btruncat\w*"
    r"|\bdecimal places?\b|\bplaces?\b|\bwhole (?:number|cent|second|minute)s?\b",
    re.IGNORECASE,
)
_BESIDE = regex(
    r"\b(?:0|zero|nil|empty|nothing)\b[^.\n]{0,60}\berror|\berror\b[^.\n]{0,60}\b(?:0|zero|nil|empty|nothing)\b",
    re.IGNORECASE,
)
_GONE = regex(r"\b(?:delet|remov|absent|missing|dropp|omit|left out)\w*", re.IGNORECASE)
_KEYS = regex(r"\b(?:keys?|propert(?:y|ies)|fields?|entr(?:y|ies)|attributes?)\b", re.IGNORECASE)
_LOOSE = regex(r"(?<!\.not)\.toEqual(?=\()")
_OTHER_ROUNDING = {"floor": "round", "round": "floor", "ceil": "round", "trunc": "round"}
_BRACE_ROUNDING = regex(r"\b(?P<of>[Mm]ath)\.(?P<name>[Ff]loor|[Rr]ound|[Cc]eil|[Tt]runc)(?=\()")
_GO_GIVES = regex(r"\breturn\b[ \t]*")
_GO_NOTHING = regex(r"\A(?:0|0\.0|nil|\"\"|false|[\w.\[\]*]*\{\})\Z")
_FLOOR = "__import__('math').floor"
_SECONDS = 60.0
_MOST = 3


def find_planned(
    check: str,
    bench: GateContext,
    executions: Executions,
    own: Mapping[str, frozenset[int]],
    laboratory: MutantRunner,
    severity: Severity,
) -> Iterator[Finding]:
    """A finding for each such change that no test notices, or that shows what is wrong."""
    plan = _plan(bench.task)
    wanted = (_ROUNDS.search(plan), _BESIDE.search(plan))
    tried = 0
    for path, lines in sorted(own.items()) if any(wanted) else ():
        content = bench.after(path)
        if content is None or bench.is_test(path) or is_left_out(path, content):
            continue
        found = [*(roundings(path, content) if wanted[0] else ())]
        found += values_beside_errors(path, content) if wanted[1] else ()
        ran = executions.lines(path)
        for mutant in (one for one in found if one.line in lines and one.line in ran):
            if tried >= _MOST or laboratory.is_over:
                return
            tried += 1
            if laboratory.run(mutant) is Ends.SURVIVED:
                yield _finding(check, mutant, content, severity)
    if _GONE.search(plan) and _KEYS.search(plan):
        yield from _loose(check, bench, severity)


def _plan(task: Task) -> str:
    return "\n".join((task.title, *task.acceptance, task.prose))


def _finding(check: str, mutant: Mutant, content: bytes, severity: Severity) -> Finding:
    old = content[mutant.start : mutant.end].decode("utf-8", "replace")
    about = (
        f"no test tells `{old}` of {mutant.function} from another rounding"
        if mutant.kind == "rounding"
        else f"no test looks at what {mutant.function} gives beside an error: nothing in the"
        f" place of `{old}` passes them all"
    )
    return Finding(
        check=check,
        message=about,
        path=mutant.path,
        line=mutant.line,
        severity=severity,
        hint="the plan speaks of it: have a test give a value that tells the two apart",
    )


# --- rounding -------------------------------------------------------------------------------


def roundings(path: str, content: bytes) -> Iterator[Mutant]:
    """Each rounding of a file by another one of the same type."""
    if is_written_in(path, "python"):
        yield from _in_python(path, content)
        return
    text, literals = read_code(path, content) or ("", None)
    if literals is None:
        return
    mask = mask_literals(text, literals)
    language = "go" if is_written_in(path, "go") else "js"
    for match in _BRACE_ROUNDING.finditer(mask):
        name = match["name"]
        other = _OTHER_ROUNDING[name.lower()]
        new = f"{match['of']}.{other.title() if name[0].isupper() else other}"
        around = _innermost(functions(mask, language), match.start())
        yield _mutant(path, text, around, "rounding", (*match.span(), new))


def _in_python(path: str, content: bytes) -> Iterator[Mutant]:
    tree = python_tree(content)
    starts = [0]
    for line in content.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    found: dict[tuple[int, int], Mutant] = {}  # a function inside of another comes after it
    for function in ast.walk(tree) if tree else ():
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            new = _other_rounding(node) if isinstance(node, ast.Call | ast.BinOp) else ""
            if new and isinstance(node, ast.expr):
                start = starts[node.lineno - 1] + node.col_offset
                end = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
                about = path, function.name, "rounding", node.lineno
                found[start, end] = Mutant(*about, start, end, new.encode())
    yield from found.values()


def _other_rounding(node: ast.Call | ast.BinOp) -> str:
    match node:
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return f"(-(-({ast.unparse(left)}) // ({ast.unparse(right)})))"
        case ast.Call(func=func, args=[value], keywords=[]):
            name = ast.unparse(func).rpartition(".")[2]
            if name == "int" and not isinstance(value, ast.BinOp):
                return ""  # it may read a text
            if name in ("floor", "ceil", "trunc", "int"):
                return f"round({ast.unparse(value)})"
            return f"{_FLOOR}({ast.unparse(value)})" if name == "round" else ""
        case ast.Call(func=ast.Name(id="round"), args=[value, digits], keywords=[]):
            by = f"10 ** ({ast.unparse(digits)})"
            return f"({_FLOOR}(({ast.unparse(value)}) * {by}) / {by})"
    return ""


# --- beside an error ------------------------------------------------------------------------


def values_beside_errors(path: str, content: bytes) -> Iterator[Mutant]:
    """Of Go's `return value, err` the value, as nothing where there is an error."""
    text, literals = read_code(path, content) or ("", None)
    if literals is None or not is_written_in(path, "go"):
        return
    mask = mask_literals(text, literals)
    known = functions(mask, "go")
    for match in _GO_GIVES.finditer(mask):
        around = _innermost(known, match.start())
        if around is None or len(around.types) != 2 or around.types[1] != "error":  # noqa: PLR2004 - value and error
            continue
        end = statement_end(mask, match.end())
        value, comma, error = text[match.end() : end].rstrip().rpartition(",")
        error, kind = error.strip(), around.types[0]
        if not comma or not re.fullmatch(r"[a-z]\w*", error) or error == "nil":
            continue
        if _GO_NOTHING.match(value.strip()) or kind == "error":
            continue
        body = f"if e != nil {{ var z {kind}; return z }}; return v"
        new = f"func(v {kind}, e error) {kind} {{ {body} }}({value}, {error})"
        last = match.end() + len(value)
        edit = match.end(), last, new
        yield _mutant(path, text, around, "value beside an error", edit)


def _innermost(known: tuple[Function, ...], at: int) -> Function | None:
    around = [one for one in known if one.start <= at < one.end]
    return min(around, key=lambda one: one.end - one.start, default=None)


def _mutant(
    path: str, text: str, around: Function | None, kind: str, edit: tuple[int, int, str]
) -> Mutant:
    start, end, new = edit
    first = len(text[:start].encode())
    last = first + len(text[start:end].encode())
    name = around.name if around else ""
    return Mutant(path, name, kind, line_of(text, start), first, last, new.encode())


# --- keys that are there, and undefined -------------------------------------------------------


def _loose(check: str, bench: GateContext, severity: Severity) -> Iterator[Finding]:
    """Tests that hold by `toEqual` alone, where the plan wants keys gone: undefined is not gone."""
    ran = [one.id for one in bench.task.test_contracts if one.id in bench.ran]
    for change in bench.changes:
        content = change.content
        if content is None or not bench.is_test(change.path):
            continue
        text = content.decode("utf-8", "replace")
        match = _LOOSE.search(text) if is_written_in(change.path, "javascript") else None
        if match is None:
            continue
        whole = (("", ((1, content.count(b"\n") + 1),)),)
        laboratory = MutantRunner(
            bench, Executions({(one, change.path): whole for one in ran}), _SECONDS
        )
        line = line_of(text, match.start())
        new = _LOOSE.sub(".toStrictEqual", text).encode()
        strict = Mutant(change.path, "", "equality", line, 0, len(content), new)
        # what fails names its own file, which is the changed one here: as a crash would
        if laboratory.run(strict) in (Ends.NOTICED, Ends.CRASHED):
            yield Finding(
                check=check,
                message="a test holds by `toEqual` alone, which takes undefined for missing:"
                " by `toStrictEqual` it fails, and the plan wants keys gone",
                path=change.path,
                line=line,
                severity=severity,
                hint="have the code leave the key out, and the test say so: toStrictEqual",
            )
