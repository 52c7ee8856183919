"""A test that holds the product's function once more: its mutants are noticed, its mistakes not.

What is expected then is what the code does, right or wrong. Told by the tokens: names of variables
do not count, and a few of the copy's may differ.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from runner.gates.mutation.brace_functions import functions
from runner.gates.mutation.languages import language_of
from runner.languages.c_like_lexer import line_of, mask_literals
from runner.languages.registry import is_written_in, read_code
from runner.lazy_dataclass import dataclass
from runner.model import Finding, Severity
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.gates.base import GateContext

_GRAM = 5
"""Tokens in a row that are compared."""
_LEAST = 16
"""Tokens of a body below which two may be alike by chance."""
_ALIKE = 0.75
"""Share of a body's grams that the copy has."""
_LARGEST = 400_000
_TEXT = (
    r"|(?P<text>\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"
    r"|(?P<name>[A-Za-z_$][\w$]*)|(?P<number>\d[\w.]*)"
    r"|(?P<sign>===|!==|\*\*=?|//=?|<<|>>|[-+*/%|&^:]?=|[!=<>]=|&&|\|\||\?\?|[^\s\w;{}])"
)
_PYTHON = re.compile(r"#[^\n]*" + _TEXT, re.DOTALL)
_BRACES = re.compile(r"//[^\n]*|/\*.*?\*/" + _TEXT, re.DOTALL)
_CHAIN = re.compile(r"(?:[)\]]|\.\s*\w+)\s*\.\s*\Z")
_NEAR = 80
_DEFINED = re.compile(r"\b(?:def|function|func|fn)\s+(\w+)")
_WORDS = """
if else elif for while return in not and or is lambda yield from await async try except finally
raise with break continue match case def class None True False null undefined true false typeof
instanceof new of switch default throw catch range func go defer select struct interface map chan
nil let mut fn impl Some Ok Err
"""
_KEPT = frozenset(_WORDS.split())
_DECLARED = frozenset({"const", "let", "var", "mut"})


def tokens(text: str, path: str, own: frozenset[str] = frozenset()) -> list[str]:
    """The text without comments, blanks, braces, and names of variables or that are `own`."""
    found = []
    pattern = _PYTHON if is_written_in(path, "python") else _BRACES
    for match in pattern.finditer(text):
        word = match[0]
        match match.lastgroup:
            case "name" if word in _DECLARED:
                continue
            case "name" if word not in _KEPT and (
                (word in own and not _is_handed_on(text, match.start()))
                or not _is_named(text, match.start(), match.end())
            ):
                found.append("_")
            case "text":
                found.append(word[1:-1] or "''")
            case None:
                continue
            case _:
                found.append(word)
    return found


def _is_named(text: str, start: int, end: int) -> bool:
    """Whether a name is what it is everywhere: an attribute, or what is called."""
    return text[start - 1 : start] == "." or text[end : end + 1] == "("


def _is_handed_on(text: str, start: int) -> bool:
    """Whether a name is asked of something else, as `self.range().covers`: that is no recursion."""
    return _CHAIN.search(text, max(0, start - _NEAR), start) is not None


def again(body: Sequence[str], other: Sequence[str]) -> float:
    """The largest share of a body's grams that stand together in another text."""
    wanted = frozenset(_grams(body))
    if len(body) < _LEAST:
        return 0.0
    places = [(at, gram) for at, gram in enumerate(_grams(other)) if gram in wanted]
    # Half as much again: a copy may have lines of its own between.
    reach = len(body) + len(body) // 2
    best, first = 0, 0
    inside: dict[tuple[str, ...], int] = {}
    for at, gram in places:
        inside[gram] = inside.get(gram, 0) + 1
        while at - places[first][0] > reach:
            gone = places[first][1]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        best = max(best, len(inside))
    return best / len(wanted)


def _grams(found: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(found[at : at + _GRAM]) for at in range(len(found) - _GRAM + 1)]


def copies(
    check: str, bench: GateContext, own: Iterable[Written], severity: Severity
) -> Iterator[Finding]:
    """A finding for each function of the task that a test of the change has once more."""
    tests = [*_tests(bench)]
    bodies = [(one, _body(one)) for one in own] if tests else []
    for one, body in bodies:
        found = next((path for path, _, known in tests if again(body, known) >= _ALIKE), "")
        twin = "" if found else _twin(one, body, bodies, [text for _, text, _ in tests])
        if found or twin:
            where = f"{found} has it once more" if found else f"a test compares it with {twin}"
            yield Finding(
                check=check,
                message=f"what {one.name} should do is told by a copy of it: {where}",
                path=found or one.path,
                line=0 if found else one.line,
                severity=severity,
                hint="have the test say what must come out, as values that nobody computes",
            )


def _tests(bench: GateContext) -> Iterator[tuple[str, str, list[str]]]:
    for change in bench.changes:
        content = change.content
        if content is None or len(content) > _LARGEST or not bench.is_test(change.path):
            continue
        text = content.decode("utf-8", "replace")
        # a copy that calls itself does so by its own name
        yield change.path, text, tokens(text, change.path, frozenset(_DEFINED.findall(text)))


def _body(one: Written) -> list[str]:
    return tokens(one.body, one.path, frozenset({one.name}))


def _twin(
    one: Written, body: list[str], bodies: Sequence[tuple[Written, list[str]]], tests: list[str]
) -> str:
    """Another function of the task that is the same and that one test file names with it."""
    for other, second in bodies:
        if (other.path, other.line) <= (one.path, one.line) or other.name == one.name:
            continue
        named = [re.compile(rf"\b{re.escape(name)}\b") for name in (one.name, other.name)]
        if min(again(body, second), again(second, body)) >= _ALIKE and any(
            all(name.search(text) for name in named) for text in tests
        ):
            return other.name
    return ""


def own_functions(bench: GateContext, own: Mapping[str, frozenset[int]]) -> Iterator[Written]:
    """The functions of which the task wrote at least half of the lines."""
    for path, lines in sorted(own.items()):
        content = bench.after(path)
        if content is None or len(content) > _LARGEST:
            continue
        for one in functions_in(path, content):
            span = range(one.line, one.last + 1)
            if 2 * len(lines & frozenset(span)) >= len(span):
                yield one


# --- the functions that a task wrote ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """A function as it stands in a file."""

    path: str
    name: str
    line: int
    last: int
    body: str
    """Without its head, and in Python without what documents it."""


def functions_in(path: str, content: bytes) -> Iterator[Written]:
    """Every function of a file with a body, in languages that are read here."""
    code = read_code(path, content)
    if code is None:
        return
    text, literals = code
    if literals is None:
        yield from _of_python(path, text)
    else:
        mask = mask_literals(text, literals)
        for one in functions(mask, language_of(path)):
            first, last = line_of(text, one.start), line_of(text, max(one.start, one.end - 1))
            yield Written(path, one.name, first, last, text[one.start : one.end + 1])


def _of_python(path: str, text: str) -> Iterator[Written]:
    tree = python_tree(text)
    lines = text.split("\n")
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node, clean=False) else node.body
            if body and node.end_lineno:
                inside = "\n".join(lines[body[0].lineno - 1 : node.end_lineno])
                yield Written(path, node.name, node.lineno, node.end_lineno, inside)
