"""The functions of source with braces: name, place, and in Go what they give."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.languages.c_like_lexer import find_closing, statement_end
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCRIPT = re.compile(
    r"\bfunction\b\s*\*?\s*(?P<plain>[\w$]*)\s*(?:<[^()]*>)?\s*(?=\()"
    r"|(?:^|[;{}\n])[ \t]*"
    r"(?:(?:async|static|public|private|protected|readonly|override|get|set)\s+)*"
    r"\*?\s*#?(?P<method>[\w$]+)\s*(?:<[^()]*>)?\s*(?=\()"
)
_ARROW = re.compile(
    r"(?:(?P<name>[\w$]+)\s*(?::[^=;\n]*)?(?P<by>[=:])\s*)?(?:async\s+)?(?:\([^()]*\)|[\w$]+)"
    r"\s*(?::\s*[^=;{}\n]+)?=>\s*"
)
_GO = re.compile(r"\bfunc\s*(?:\((?P<on>[^)]*)\)\s*)?(?P<name>\w+)\s*(?:\[[^()\n]*\])?(?=\()")
_RUST = re.compile(r"\bfn\s+(?P<name>\w+)\s*(?:<[^{(]*>)?\s*(?=\()")
_NO_METHODS = frozenset(
    {"if", "for", "while", "switch", "catch", "return", "function", "with", "await", "super"}
    | {"typeof", "new", "throw", "else", "do", "yield"}
)
_NEAR = 2_000
"""Letters before an arrow that are looked at for what it stands in."""
_RESULT = re.compile(r"\s*(?::[^{;=]*)?(?=\{)")


@dataclass(frozen=True, slots=True)
class Function:
    """A function's body."""

    name: str
    start: int
    end: int
    types: tuple[str, ...] = ()
    """The types of what it gives, where the language says them and they decide what can stand
    in a value's place."""
    is_expression: bool = False
    """Whether its body is a single expression, which is what it gives."""


def functions(mask: str, language: str) -> tuple[Function, ...]:
    """Every function with a body, as far as its head can be read."""
    if language == "go":
        return tuple(_of_go(mask))
    if language == "rs":
        return tuple(_of_rust(mask))
    return (*_of_script(mask), *_arrows(mask))


def _of_script(mask: str) -> Iterator[Function]:
    for match in _SCRIPT.finditer(mask):
        name = match["plain"] or match["method"] or "an anonymous function"
        if match["method"] in _NO_METHODS:
            continue
        head = _RESULT.match(mask, find_closing(mask, match.end()) + 1)
        if head:
            yield Function(name, head.end(), find_closing(mask, head.end()))


def _arrows(mask: str) -> Iterator[Function]:
    for match in _ARROW.finditer(mask):
        if not match["name"] or _is_type(mask, match):
            continue  # part of the function around it
        start = match.end()
        if mask[start : start + 1] == "{":
            yield Function(match["name"], start, find_closing(mask, start))
        else:
            yield Function(match["name"], start, statement_end(mask, start), is_expression=True)


def _is_type(mask: str, match: re.Match[str]) -> bool:
    """Whether it is the type of a parameter: `name:` stands right inside of parentheses."""
    if match["by"] != ":":
        return False
    depth = 0
    for at in range(match.start() - 1, max(match.start() - _NEAR, -1), -1):
        if mask[at] in ")]}":
            depth += 1
        elif mask[at] in "([{":
            if depth == 0:
                return mask[at] == "("
            depth -= 1
    return False


def _of_go(mask: str) -> Iterator[Function]:
    for match in _GO.finditer(mask):
        last = find_closing(mask, match.end())
        opening = _go_body(mask, last + 1)
        if opening < 0:
            continue
        on = re.sub(r"\A\s*\w+\s+|[*\s]", "", match["on"] or "")
        name = f"{on}.{match['name']}" if on else match["name"]
        types = _go_types(mask[last + 1 : opening].strip())
        yield Function(name, opening, find_closing(mask, opening), types)


def _go_body(mask: str, at: int) -> int:
    """The `{` of the body, behind results that may be `interface{}`; -1 where there is none."""
    while at < len(mask) and mask[at] != "\n":
        if mask[at] == "(":
            at = find_closing(mask, at)
        elif mask[at] == "{":
            if not re.search(r"(?:interface|struct)\s*\Z", mask[:at]):
                return at
            at = find_closing(mask, at)
        at += 1
    return -1


def _go_types(result: str) -> tuple[str, ...]:
    if not result:
        return ()
    if not result.startswith("("):
        return (result,)
    parts = [part.strip() for part in result[1:-1].split(",")]
    # Named results may be given by a bare `return` (Go specification, Return statements): nothing
    # stands there that another value could replace.
    named = any(" " in part and not part.startswith(("func", "chan")) for part in parts)
    return () if named or "(" in result[1:-1] else tuple(parts)


def go_results(mask: str, function: Function) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names, empty where they have none, and types of what a function of Go gives."""
    heads = [one for one in _GO.finditer(mask) if one.start() < function.start]
    if not heads:
        return (), ()
    result = mask[find_closing(mask, heads[-1].end()) + 1 : function.start].strip()
    if not result or (result.startswith("(") and "(" in result[1:-1]) or "func" in result:
        return (), ()
    if not result.startswith("("):
        return ("",), (result,)
    parts = [part.split() for part in result[1:-1].split(",") if part.strip()]
    if all(len(part) == 1 for part in parts):
        return ("",) * len(parts), tuple(part[0] for part in parts)
    types, last = [], ""
    for part in reversed(parts):  # `low, high ID`: both are of the type behind them
        last = " ".join(part[1:]) or last
        types.append(last)
    return tuple(part[0] for part in parts), tuple(reversed(types))


def _of_rust(mask: str) -> Iterator[Function]:
    for match in _RUST.finditer(mask):
        last = find_closing(mask, match.end())
        opening = re.compile(r"[^{;]*(?=\{)").match(mask, last + 1)
        if opening:
            yield Function(match["name"], opening.end(), find_closing(mask, opening.end()))
