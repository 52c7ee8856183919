"""Tests that work out what they expect by the expression of the product, mistake and all.

Asked by running: the expression gives another value in the product and in the tests alike. Where
every test passes then, and fails where the product alone does, no test says by itself what must
come out. An expression counts from two operations on; names and lengths do not count.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.coverage.lines import own_lines
from runner.gates.function_heads import heads
from runner.gates.mutation.brace_functions import functions
from runner.gates.mutation.mutants import Mutant, is_left_out
from runner.gates.mutation.run_mutants import Ends, Executions, MutantRunner
from runner.gates.mutation.survivors import find_seconds
from runner.gates.mutation.written_again import copies, own_functions
from runner.languages.c_like_lexer import line_of, mask_literals
from runner.languages.registry import is_written_in, read_code
from runner.lazy_pattern import regex
from runner.model import Finding
from runner.text.prose import IDENTIFIER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.gates.base import GateContext
    from runner.gates.function_heads import Head
    from runner.model import Severity

_TEXT = (
    r"(?P<text>\"\"\"[\s\S]*?\"\"\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"
)
_REST = (
    r"|(?P<length>\blen\([A-Za-z_$][\w$.]*\))|(?P<number>(?<![\w.])\d[\w.]*)"
    r"|(?P<name>[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*(?P<call>\s*\()?)"
    r"|(?P<sign>===|!==|\*\*|//|<<|>>|[=!<>]=|&&|\|\||\?\?|=>|:=|[^\s\w])|(?P<line>\n)"
)
_HASHES = regex(r"(?P<comment>\#[^\n]*)|" + _TEXT + _REST)
_SLASHES = regex(r"(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)|" + _TEXT + _REST)
_OPERATES = frozenset(["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"])
_WORDS = frozenset(
    [
        "if",
        "else",
        "and",
        "or",
        "not",
        "in",
        "is",
        "for",
        "lambda",
        "await",
        "new",
        "typeof",
        "range",
        "true",
        "false",
        "nil",
    ]
)
_LEAST = 2
"""Operations: arithmetic, calls and places in a list; a single one is no copy."""
_MOST = 3
_LARGEST = 400_000

_OTHER = {
    "python": "(lambda v: (not v) if v is True or v is False else v + 1"
    " if isinstance(v, (int, float)) else ('~', v))(EXPRESSION)",
    "javascript": "((v) => typeof v === 'number' ? v + 1 : typeof v === 'boolean' ? !v"
    " : typeof v === 'string' ? v + '~' : ['~', v])(EXPRESSION)",
}
_GO_OTHER = {"string": '((EXPRESSION) + "~")', "bool": "!(EXPRESSION)"}
_GO_NUMBER = regex(r"u?int(?:8|16|32|64)?|float(?:32|64)")


class _Token(NamedTuple):
    said: str
    """With `_` in the place of each name of a value."""
    start: int
    end: int


def find_repeated(check: str, bench: GateContext, severity: Severity) -> Iterator[Finding]:
    """A finding for each function of the task whose expression tests use to judge it."""
    executions, own = Executions.of(bench), own_lines(bench)
    seconds = find_seconds(bench.proofs, _MOST, strict=bench.settings.mutation == "strict")
    laboratory = MutantRunner(bench, executions, seconds)
    # Of a test that has the whole function that is said by itself.
    whole = {one.path for one in copies(check, bench, own_functions(bench, own), severity)}
    tests = [
        (one.path, one.content)
        for one in bench.changes
        if one.content and len(one.content) <= _LARGEST and bench.is_test(one.path)
        if one.path not in whole
    ]
    for path, lines in sorted(own.items()) if tests else ():
        content = bench.after(path)
        if content is None or bench.is_test(path) or is_left_out(path, content):
            continue
        ran = executions.lines(path) & lines
        for head in heads(path, content):
            frame = find_frame(path, content, head)
            for expression in expressions(path, head)[:_MOST] if frame else ():
                alone = change_value(path, content, head, expression, frame)
                if alone is None or alone.line not in ran:
                    continue
                also = tuple(repeat_in_tests(path, frame, expression, tests))
                if also and _passes_together(alone, also, laboratory):
                    yield Finding(
                        check=check,
                        message=f"tests work out what {head.name} should give by its own"
                        f" expression, `{expression}`: with both changed alike every test passes",
                        path=also[0].path,
                        line=also[0].line,
                        severity=severity,
                        hint="have a test say what must come out, as a value that nobody computes",
                    )
                    break


def _passes_together(alone: Mutant, also: tuple[Mutant, ...], laboratory: MutantRunner) -> bool:
    if laboratory.is_over or laboratory.run(alone) is not Ends.NOTICED or laboratory.is_over:
        return False
    return laboratory.run(replace(alone, also=also)) is Ends.SURVIVED


def expressions(path: str, head: Head) -> list[str]:
    """What a function gives, where that is worked out in the expression; by a name, what it is."""
    found = []
    for given in head.gives:
        expression = given
        if IDENTIFIER.fullmatch(given):
            bound = re.findall(
                rf"(?m)(?:^|\s){re.escape(given)}\s*:?=\s*([^=\n][^\n;]*)", head.body
            )
            expression = bound[-1].strip() if len(bound) == 1 else ""
        if _operations(_read(path, expression)) >= _LEAST and expression not in found:
            found.append(expression)
    return found


def _operations(tokens: Sequence[_Token]) -> int:
    """How many operations there are; none where nothing is computed."""
    said = [one.said for one in tokens]
    signs = sum(one in _OPERATES for one in said)
    calls = sum(one.endswith("(") and one != "(" for one in said)
    places = sum(one == "[" and at > 0 for at, one in enumerate(said))
    return signs + calls + places if signs else 0


def change_value(
    path: str, content: bytes, head: Head, expression: str, frame: str
) -> Mutant | None:
    """The function with another value in the place of an expression, in the lines that it had."""
    text = content.decode("utf-8", "replace")
    lines = text.split("\n")
    start = sum(len(one) + 1 for one in lines[: head.line - 1])
    end = sum(len(one) + 1 for one in lines[: head.last])
    wanted = [one.said for one in _read(path, expression)]
    for first, last in _places(_read(path, text[start:end]), wanted):
        at, behind = start + first, start + last
        if re.sub(r"\W", "", text[at:behind]) != re.sub(r"\W", "", expression):
            continue  # another expression of that form
        new = frame.replace("EXPRESSION", text[at:behind]).encode()
        low = len(text[:at].encode())
        high = low + len(text[at:behind].encode())
        return Mutant(path, head.name, "both", line_of(text, at), low, high, new)
    return None


def find_frame(path: str, content: bytes, head: Head) -> str:
    """How an expression becomes another one of its type; empty where nobody can tell."""
    for language, frame in _OTHER.items():
        if is_written_in(path, language):
            return frame
    text, literals = read_code(path, content) or ("", None)
    if literals is None or not is_written_in(path, "go"):
        return ""
    for one in functions(mask_literals(text, literals), "go"):
        if one.name == head.name and len(one.types) == 1:
            number = "((EXPRESSION) + 1)" if _GO_NUMBER.fullmatch(one.types[0]) else ""
            return _GO_OTHER.get(one.types[0], number)
    return ""


def repeat_in_tests(
    path: str, frame: str, expression: str, tests: Sequence[tuple[str, bytes]]
) -> Iterator[Mutant]:
    """Each test of that language with the same change wherever it has the expression."""
    language = next((one for one in (*_OTHER, "go") if is_written_in(path, one)), "")
    wanted = [one.said for one in _read(path, expression)]
    before, _, after = frame.partition("EXPRESSION")
    for test, content in tests:
        if not is_written_in(test, language):
            continue
        text = content.decode("utf-8", "replace")
        found = [*_places(_read(test, text), wanted)]
        parts, at = [], 0
        for first, last in found:
            parts += [text[at:first], before, text[first:last], after]
            at = last
        if found:
            whole = "".join((*parts, text[at:])).encode()
            line = line_of(text, found[0][0])
            yield Mutant(test, "", "both", line, 0, len(content), whole)


def _read(path: str, text: str) -> list[_Token]:
    pattern = _HASHES if is_written_in(path, "python") else _SLASHES
    found = []
    for match in pattern.finditer(text):
        said, start, end = match[0], match.start(), match.end()
        match match.lastgroup:
            case "comment" | "line":
                continue
            case "length":
                said = "_"
            case "text":
                said = said.strip("\"'`")
            case "name" if match["call"]:
                said = f"{said.removesuffix('(').rstrip().rpartition('.')[2]}("
            case "name" if said not in _WORDS:
                said = "_"
        found.append(_Token(said, start, end))
    return found


def _places(tokens: Sequence[_Token], wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where an expression stands whole: nothing before or behind it makes it part of another."""
    many, at = len(wanted), 0
    said = [one.said for one in tokens]
    while at + many <= len(tokens):
        before = said[at - 1] if at else ""
        behind = said[at + many] if at + many < len(said) else ""
        if (
            said[at : at + many] == list(wanted)
            and before not in _OPERATES | {"."}
            and behind not in _OPERATES | {".", "(", "["}
        ):
            yield tokens[at].start, tokens[at + many - 1].end
            at += many
        else:
            at += 1
