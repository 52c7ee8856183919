"""Tests whose only assertions stand in work that they start and do not wait for: over texts.

A goroutine, a thread, a task or a promise may end after its test did, or never: what it asserts
then fails nothing. A test that waits in any way, or asserts something itself, is not told.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from runner.gates.mutation.brace_functions import functions
from runner.languages.c_like_lexer import find_closing, line_of
from runner.languages.python.claims import is_asserting_name
from runner.languages.python.marks import name_of
from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

WHY = "the test ends without waiting for what it stands in"
_GO_STARTED = regex(r"\bgo\s+func\s*\(")
_GO_SELECT = regex(r"\bselect\s*(?=\{)")
_GO_CLAIMS = regex(
    r"\b(?:t|tb|c|s)\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow|Run|Assert|Check)\(|\bpanic\("
    r"|\b(?:require|assert|is|qt|check|must|expect)\.\w+\(|\(\s*t\s*[,)]|\bExpect\("
)
_GO_WAITS = regex(
    r"\.Wait\w*\(|<-\s*[\w(]|\brange\s+\w+[^{\n]*\{|\bEventually|\bSleep\(|\bsynctest\b|\.Done\(\)"
)
_COMPARED = regex(r"[!=]=|<|>")
_SCRIPT_TEST = regex(r"\b(?:it|test|specify)(?:\.only|\.concurrent)?\s*(?=\()")
_SCRIPT_CLAIMS = regex(r"\b(?:expect|assert|should|t\.(?:is|equal|deepEqual|ok|true))\b")
_SCRIPT_LATER = regex(
    r"^[ \t]*(?:void\s+)?(?:(?!return\b|await\b|yield\b|expect\b|const\b|let\b|var\b)[\w$.]+"
    r"(?:\([^;\n]*?\))?"
    r"(?:\s*\.\w+\([^;\n]*?\))*?\s*\.(?:then|catch|finally)\s*(?=\()"
    r"|(?:setTimeout|setImmediate|queueMicrotask|process\.nextTick)\s*(?=\())",
    re.MULTILINE,
)
_SCRIPT_WAITS = regex(
    r"\b(?:await|done|resolve|Promise\.(?:all|race)|useFakeTimers|run\w*Timers|advanceTimers\w*|tick"
    r"|return|yield|callback|cb|next|plan|end)\b"
)
_STARTS = frozenset(
    {"create_task", "ensure_future", "run_in_executor", "call_soon", "submit", "start_soon"}
)
_WAITS = frozenset(
    {
        "join",
        "wait",
        "wait_for",
        "gather",
        "result",
        "sleep",
        "get",
        "as_completed",
        "run_until_complete",
    }
    | {"run", "shutdown", "acquire", "settle", "flush", "drain", "processEvents", "barrier"}
)


def find_unawaited(path: str, text: str, mask: str) -> Iterator[tuple[int, str, str]]:
    """Each such test of Go, JavaScript or TypeScript: line, code and reason."""
    if is_written_in(path, "go"):
        yield from _in_go(text, mask)
    elif is_written_in(path, "javascript"):
        yield from _in_scripts(text, mask)


def _in_go(text: str, mask: str) -> Iterator[tuple[int, str, str]]:
    for one in functions(mask, "go"):
        if not one.name.rpartition(".")[2].startswith("Test"):
            continue
        started = []
        for match in _GO_STARTED.finditer(mask, one.start, one.end):
            opening = mask.find("{", find_closing(mask, match.end() - 1))
            started.append((match.start(), find_closing(mask, opening)))
        outside = _without(mask, one.start, one.end, started)
        for select in [*_GO_SELECT.finditer(outside)]:
            end = find_closing(outside, select.end())
            # With a `default` it never waits (Go specification, Select statements).
            if re.search(r"\bdefault\s*:", outside[select.end() : end]):
                outside = _blank(outside, select.start(), end)
        if _GO_CLAIMS.search(outside) or _GO_WAITS.search(outside):
            continue
        for first, last in started:
            inside = mask[first:last]
            if _GO_CLAIMS.search(inside) or _COMPARED.search(inside):
                yield line_of(text, first), "go func()", WHY
                break


def _without(mask: str, start: int, end: int, parts: list[tuple[int, int]]) -> str:
    kept = mask
    for first, last in parts:
        kept = _blank(kept, first, last + 1)
    return kept[start:end]


def _blank(text: str, first: int, last: int) -> str:
    return text[:first] + re.sub(r"[^\n]", " ", text[first:last]) + text[last:]


def _in_scripts(text: str, mask: str) -> Iterator[tuple[int, str, str]]:
    for test in _SCRIPT_TEST.finditer(mask):
        last = find_closing(mask, test.end())
        opening = mask.find("{", test.end(), last)
        if opening < 0 or re.search(r"\(\s*\w+\s*\)\s*(?:=>\s*)?\Z", mask[test.end() : opening]):
            continue  # it is handed what it may call at the end
        later: list[tuple[int, int]] = []
        for match in _SCRIPT_LATER.finditer(mask, opening + 1, last):
            if not later or match.start() > later[-1][1]:
                later.append((match.start(), _chain_end(mask, match.end())))
        outside = _without(mask, opening, last, later)
        if not later or _SCRIPT_CLAIMS.search(outside) or _SCRIPT_WAITS.search(outside):
            continue
        for first, end in later:
            if _SCRIPT_CLAIMS.search(mask[first:end]):
                start = first + len(mask[first:end]) - len(mask[first:end].lstrip())
                shown = text[start : text.find("\n", start)].strip()
                yield line_of(text, start), shown, WHY
                break


def _chain_end(mask: str, at: int) -> int:
    """Where a chain of calls ends, of which the first bracket stands at a place."""
    end = find_closing(mask, at)
    while match := re.compile(r"\s*\.\s*\w+\s*(?=\()").match(mask, end + 1):
        end = find_closing(mask, match.end())
    return end


def find_unawaited_in_python(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """The same of threads, tasks and pools of Python."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not node.name.startswith("test"):
            continue
        inner = [
            one
            for one in ast.walk(node)
            if one is not node and isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        within = {id(one) for part in inner for one in ast.walk(part)}
        outside = [one for one in ast.walk(node) if id(one) not in within]
        started = next((one for one in outside if isinstance(one, ast.Call) and _starts(one)), None)
        calls = {name_of(one).rpartition(".")[2] for one in outside if isinstance(one, ast.Call)}
        own = {part.name for part in inner}
        if started is None or _WAITS & calls or any(_claims(one, own) for one in outside):
            continue
        if any(
            isinstance(one, ast.Await | ast.AsyncWith | ast.AsyncFor | ast.Return)
            for one in outside
        ):
            continue
        if isinstance(node, ast.FunctionDef) and any(isinstance(one, ast.With) for one in outside):
            continue  # a pool waits at the end of its block
        names = {one.id for one in ast.walk(started) if isinstance(one, ast.Name)}
        if any(
            part.name in names and any(_claims(one, set()) for one in ast.walk(part))
            for part in inner
        ):
            yield started.lineno, ast.unparse(started), WHY


def _starts(call: ast.Call) -> bool:
    name = name_of(call).rpartition(".")[2]
    return name in _STARTS or name in ("Thread", "Timer", "Process", "start_new_thread")


def _claims(node: ast.AST, own: set[str]) -> bool:
    """Whether it asserts; a call of one of the test's `own` functions may only start it."""
    name = name_of(node).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Assert) or (name not in own and is_asserting_name(name))
