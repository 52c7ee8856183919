"""Tests that ask what they wrote themselves: a stand-in with the name of the product's function.

A fake database whose `archive` does the work says nothing of the product's `archive`. Told of a
test that asserts what a function of the tests gives, which is called as a new one of the product
is, and that comes to none of the product's by a name of its own. A stand-in that calls the
product's function, or that the product is given, is none of these.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.coverage.lines import own_lines
from runner.gates.function_heads import heads
from runner.gates.mutation.written_again import functions_in
from runner.languages.registry import read_code
from runner.lazy_pattern import regex
from runner.model import Finding
from runner.text.prose import IDENTIFIER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.gates.base import GateContext
    from runner.model import Severity

_ASSERTS = regex(
    r"\bassert\w*|\bexpect\b|\bt\.(?:Error|Fatal|Fail)\w*|\b(?:should|strictEqual|deepEqual|equal|is)\b"
)
_TEST = regex(
    r"(?:\b(?:it|test|specify)(?:\.\w+)*\s*\(\s*(?=[\"'`])|\bdef\s+(?=test)|\bfunc\s+(?=Test))"
)
_BRINGS = regex(
    r"^[ \t]*(?:import|from)\b[^\n]*|^[ \t]*(?:\w+ )?\"[\w./-]+\"$|^[^\n]*\brequire\([^\n]*",
    re.MULTILINE,
)
_REACHES = regex(
    r"\b(?:subprocess|requests?|fetch|post|client|invoke|exec\w*|spawn\w*|http\w*|socket|app|cli|main|run\w*)\b"
)
"""Words of what asks the product from outside: a process, a server, a command."""
_LARGEST = 400_000


class _Own(NamedTuple):
    """A function of the tests that bears the name of one of the product's."""

    path: str
    line: int
    is_method: bool


def find_stand_ins(check: str, bench: GateContext, severity: Severity) -> Iterator[Finding]:
    """A finding for each function of the task that tests ask of a stand-in of theirs."""
    tests = {
        one.path: one.content
        for one in bench.changes
        if one.content and len(one.content) <= _LARGEST and bench.is_test(one.path)
    }
    product = _functions(bench) if tests else {}
    for name in product:
        for own in _defined(name, tests):
            told = next(_asked(name, own, frozenset(product), tests), None)
            if told is not None:
                path, line = told
                yield Finding(
                    check=check,
                    message=f"a test asks the {name} that the tests have themselves"
                    f" ({own.path}:{own.line}), and not the one of {product[name]}",
                    path=path,
                    line=line,
                    severity=severity,
                    hint="call the product's own, with what the stand-in stands for as an argument",
                )
                break


def _functions(bench: GateContext) -> dict[str, str]:
    """The functions that the task wrote anew, no methods, with their files."""
    found: dict[str, str] = {}
    for path, lines in sorted(own_lines(bench).items()):
        content = bench.after(path)
        if content is None or bench.is_test(path):
            continue
        for one in heads(path, content):
            if one.is_alone and one.line in lines:
                found[one.name] = path
    return found


def _defined(name: str, tests: Mapping[str, bytes]) -> Iterator[_Own]:
    """Functions of the tests of that name which do not call the product's."""
    calls = re.compile(rf"(?<![\w$]){re.escape(name)}\s*\(")
    for path, content in tests.items():
        for one in functions_in(path, content):
            owner, _, last = one.name.rpartition(".")
            if last == name and not calls.search(one.body) and not _REACHES.search(one.body):
                yield _Own(path, one.line, bool(owner) or _is_indented(content, one.line))


def _is_indented(content: bytes, line: int) -> bool:
    """Whether a function stands in something else, as a method does."""
    head = content.decode("utf-8", "replace").split("\n")[line - 1]
    return head[:1].isspace() and not re.match(r"\s*(?:async\s+)?function\b", head)


def _asked(
    name: str, own: _Own, product: frozenset[str], tests: Mapping[str, bytes]
) -> Iterator[tuple[str, int]]:
    """Each test that asserts what a method of that name gives, and calls no product's function."""
    if not own.is_method:
        return
    asked = re.compile(rf"(?<![\w$])(?P<of>[A-Za-z_$][\w$]*)\s*\.\s*{re.escape(name)}\s*\(")
    called = re.compile(rf"(?<![\w$.])(?:{'|'.join(map(re.escape, sorted(product)))})\s*\(")
    for path, content in tests.items():
        text = _bare(path, content)
        imported = {"self", "this", "cls"}
        imported.update(word for line in _BRINGS.findall(text) for word in IDENTIFIER.findall(line))
        for start, end in _bodies(text):
            body = text[start:end]
            match = asked.search(body)
            if match is None or match["of"] in imported or called.search(body):
                continue
            if any(one["of"] in imported for one in asked.finditer(body)):
                continue
            if _ASSERTS.search(body):
                yield path, text.count("\n", 0, start + match.start()) + 1


def _bare(path: str, content: bytes) -> str:
    """The text without comments; texts in it stay."""
    code = read_code(path, content)
    text, literals = code or (content.decode("utf-8", "replace"), None)
    if literals is None:
        return re.sub(r"(?m)#[^\n\"']*$", "", text)
    return literals.sub(
        lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0][:2] in ("//", "/*") else m[0], text
    )


def _bodies(text: str) -> Iterator[tuple[int, int]]:
    """The tests of a file, each up to the next one."""
    starts = [match.start() for match in _TEST.finditer(text)]
    for at, start in enumerate(starts):
        yield start, starts[at + 1] if at + 1 < len(starts) else len(text)
