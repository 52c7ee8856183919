"""Aspects of functions in JavaScript, TypeScript and Go, by tokens.

A mutant is the whole file with its helper at the end. Of TypeScript the compiler looks at none of
it: types say nothing of what tests notice.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.mutation.aspects import FURTHER, GIVES, SIDE, Watched, WatchedFile, Way
from runner.gates.mutation.brace_functions import functions, go_results
from runner.gates.mutation.brace_mutants import brace_mutants
from runner.gates.mutation.brace_values import GO, GO_IMPORTS, SCRIPT
from runner.gates.mutation.changed_values import WAYS
from runner.gates.mutation.mutants import Mutant, only_tells
from runner.gates.mutation.source_edits import Edit, inside_out
from runner.languages.base import ELSEWHERE
from runner.languages.c_like_lexer import find_closing, line_of, mask_literals, statement_end
from runner.languages.registry import read_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.mutation.brace_functions import Function

_RETURN = re.compile(r"(?<![\w.$])return\b")
_BLANKS = re.compile(r"[ \t]*")
_IF = {
    "js": re.compile(r"(?<![\w.$])(?:if|while)\s*(?=\()"),
    "go": re.compile(r"(?<![\w.])if\s+"),
}
_THROW = re.compile(r"(?<![\w.$])throw\b(?=\s)\s*(?:new\s+)?")
_CALL = re.compile(r"(?<![\w$])(?P<name>[A-Za-z_$][\w.$]*)\(")
_NO_CALLS = frozenset(
    {"if", "for", "while", "switch", "catch", "function", "func", "return", "super", "typeof"}
    | {"append", "len", "cap", "make", "new", "copy", "delete", "panic", "string", "byte", "rune"}
    | {"int", "int64", "int32", "uint", "uint64", "uint32", "uint16", "float64", "bool", "error"}
    | {"String", "Number", "Boolean", "Array.isArray", "Object.keys", "constructor", "require"}
)
_ASKS = re.compile(r"(?:\.(?:test|includes|has|startsWith|endsWith)|\b(?:[iI]s|[hH]as)[A-Z]\w*)\Z")
"""Calls that answer yes or no, for most other values the same."""
_DEFINED = re.compile(r"\b(?:function\*?|func(?:\s*\([^)]*\))?)\s*\Z")
_MODULE = re.compile(r"^[ \t]*(?:import\b(?!\s*[(.])|export\b)", re.MULTILINE)
_PACKAGE = re.compile(r"^package[ \t]+\w+", re.MULTILINE)
_TEXT = re.compile(r"\"(?:[^\"\\\n]|\\.)+\"|'(?:[^'\\\n]|\\.)+'")
_BARE = re.compile(r"(?:\.\.\.|func\b|function\b|async\b|class\b|\w+\s*=>|\([^()]*\)\s*=>)")
_SMALL = {"comparison", "constant", "arithmetic", "operand", "loop", "raise", "statement"}
_NAMED_ERROR = re.compile(r"(?:\w+\.)?Err[A-Z]\w*\Z")
"""An error that callers of Go compare with; of another one tests ask whether it is there."""
_BOUND = re.compile(rb"[<>]=?[ \t(]*\Z")
_SHOWN = 70
_MOST_ARGUMENTS = 6
_WAYS = ("any", *FURTHER)


class _Code(NamedTuple):
    path: str
    text: str
    literals: re.Pattern[str]
    mask: str
    language: str
    known: tuple[Function, ...]
    own: frozenset[int]

    def is_own(self, at: int) -> bool:
        """Whether a place stands on an own line that ran."""
        return line_of(self.text, at) in self.own

    def around(self, at: int) -> Function | None:
        """The innermost function around a place."""
        inside = [one for one in self.known if one.start <= at < one.end]
        return min(inside, key=lambda one: one.end - one.start, default=None)


def put_watches(
    path: str,
    content: bytes,
    own: frozenset[int],
    ran: frozenset[int],
    out: str,
    language: str,
) -> WatchedFile | None:
    """The file with each result and condition of own lines watched; None where it cannot be."""
    code = _read(path, content, own & ran, language)
    if code is None:
        return None
    places: list[Watched] = []
    edits: list[Edit] = []
    for place in _results(code):
        key = f"{GIVES}{place.function}#{place.at}"
        if not any(one.key == key for one in places):
            places.append(Watched(key, GIVES, place.function, place.line, place.code))
        edit = Edit(place.start, place.end, place.around("Seen", key))
        if place.before and edits and edits[-1][:2] == edit[:2]:  # the results of a bare return
            text = edits.pop().text.removesuffix("return")
            edit = edit._replace(text=text + edit.text)
        edits.append(edit)
    for start, end, name, then, other in _conditions(code):
        shown = _shown(code.text[start:end])
        key = f"{SIDE}{len(places)}"
        places.append(Watched(key, SIDE, name, line_of(code.text, start), shown, then, other))
        side = "__runner_side" if language != "go" else "runnerSide"
        edits.append(Edit(start, end, f'{side}({code.text[start:end]}, "{key}")'))
    return WatchedFile(path, _whole(code, edits, out), tuple(places)) if places else None


def ways_of(
    path: str,
    content: bytes,
    own: frozenset[int],
    ran: frozenset[int],
    out: str,
    language: str,
) -> Iterator[Way]:
    """The mutants of each aspect of own lines that ran: results first, then errors and parts."""
    code = _read(path, content, own & ran, language)
    if code is None:
        return
    yield from _other_results(code, out)
    yield from _other_errors(code, out)
    for start, end, name, _, _ in _conditions(code):
        old = code.text[start:end]
        for truth, word in (("true", "||"), ("false", "&&")):
            told = f"`{_shown(old)}` always {truth}"
            edit = Edit(start, end, f"(({old}) {word} {truth})")
            key = f"{truth} {_shown(old)}"
            yield _way(code, out, "condition", told, name, [edit], key=key)
    yield from _other_arguments(code, out)
    for match in code.literals.finditer(code.text):
        around = code.around(match.start())
        line = code.text[code.text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if around is None or not _TEXT.fullmatch(match[0]) or not code.is_own(match.start()):
            continue
        if re.search(
            r"//|\b(?:throw|import|require|panic|case)\b|\bfmt\.|\berrors\.|Error\(", line
        ):
            continue
        told = f"another text than `{match[0]}`"
        edit = Edit(*match.span(), f"{match[0][:-1]}~{match[0][-1]}")
        yield _way(code, out, "text", told, around.name, [edit])
    for one in brace_mutants(path, content, own, ran, language):
        if one.kind in _SMALL:
            old = content[one.start : one.end].decode("utf-8", "replace").strip()
            line = content.split(b"\n")[one.line - 1].decode("utf-8", "replace").strip()
            new = one.text.decode("utf-8", "replace").strip()
            bound = one.kind == "constant" and _BOUND.search(content[: one.start])
            kind = "comparison" if bound else one.kind
            yield Way(kind, f"`{_shown(new)}` for `{_shown(old)}` in `{_shown(line)}`", one)


def _read(path: str, content: bytes, own: frozenset[int], language: str) -> _Code | None:
    text, literals = read_code(path, content) or ("", None)
    if literals is None or language == "rs":
        return None
    mask = mask_literals(text, literals)
    return _Code(path, text, literals, mask, language, functions(mask, language), own)


def _shown(code: str) -> str:
    text = " ".join(code.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


# --- results --------------------------------------------------------------------------


class _Given(NamedTuple):
    """One of what a `return` gives."""

    function: str
    at: int
    """Which of several it is."""
    start: int
    end: int
    line: int
    code: str
    type: str
    """In Go; empty where the language does not say."""
    before: str = ""
    """What stands in front of a value that another statement has to give."""

    def around(self, name: str, word: str) -> str:
        """The code that watches or changes it, in its place."""
        if self.type:
            call = f"runner{name}(({self.type})({self.code}), {json.dumps(word)})"
            value = f"func() {self.type} {{ r, _ := {call}.({self.type}); return r }}()"
        else:
            value = f"__runner_{name.lower()}(({self.code}), {json.dumps(word)})"
        return f"{self.before} = {value}; return" if self.before else value


def _results(code: _Code) -> Iterator[_Given]:
    for match in _RETURN.finditer(code.mask):
        around = code.around(match.start())
        if around is None or not code.is_own(match.start()):
            continue
        blanks = _BLANKS.match(code.text, match.end())  # in the mask a text is blank, too
        start = blanks.end() if blanks else match.end()
        end = start + len(code.text[start : statement_end(code.mask, start)].rstrip())
        if code.language == "go":
            yield from _of_go(code, around, match.start(), start, end)
        elif end > start:
            yield _given(code, around.name, 0, start, end)
    for one in code.known:
        if one.is_expression and one.start < one.end and code.is_own(one.start):
            end = one.start + len(code.text[one.start : one.end].rstrip())
            yield _given(code, one.name, 0, one.start, end)


def _given(code: _Code, name: str, at: int, start: int, end: int, type_: str = "") -> _Given:
    return _Given(name, at, start, end, line_of(code.text, start), code.text[start:end], type_)


def _of_go(code: _Code, around: Function, word: int, start: int, end: int) -> Iterator[_Given]:
    names, types = go_results(code.mask, around)
    if not types:
        return
    if end <= start:  # a bare return of results that have names
        for at, (name, type_) in enumerate(zip(names, types, strict=True)):
            if name:
                line = line_of(code.text, word)
                whole = word + len("return")
                yield _Given(around.name, at, word, whole, line, name, type_, before=name)
        return
    parts = _split(code, start, end)
    if len(parts) != len(types):
        return
    for at, ((first, last), type_) in enumerate(zip(parts, types, strict=True)):
        yield _given(code, around.name, at, first, last, type_)


def _split(code: _Code, start: int, end: int) -> list[tuple[int, int]]:
    """The places between commas outside of brackets, without blanks in front of them."""
    parts, at, first = [], start, start
    while at < end:
        if code.mask[at] in "([{":
            at = find_closing(code.mask, at)
        elif code.mask[at] == ",":
            parts.append((first, at))
            first = at + 1
        at += 1
    parts.append((first, end))
    texts = (code.text[low:high] for low, high in parts)  # in the mask a text is blank, too
    blanks = [len(text) - len(text.lstrip()) for text in texts]
    return [(low + many, high) for (low, high), many in zip(parts, blanks, strict=True)]


def _other_results(code: _Code, out: str) -> Iterator[Way]:
    groups: dict[tuple[str, int], list[_Given]] = {}
    for one in _results(code):
        groups.setdefault((one.function, one.at), []).append(one)
    for way in WAYS:
        for (name, at), each in groups.items():
            edits = [Edit(one.start, one.end, one.around("Changed", way)) for one in each]
            lines = tuple(one.line for one in each)
            key = f"{GIVES}{name}#{at}.{way}"
            yield _way(code, out, "result", way, name, edits, lines=lines, key=key)


def _other_errors(code: _Code, out: str) -> Iterator[Way]:
    if code.language == "go":
        for one in _results(code):
            if one.type == "error" and _NAMED_ERROR.match(one.code.strip()):
                told = f"another error than `{_shown(one.code)}`"
                text = f"runnerError({one.code})"
                new = f"{one.before} = {text}; return" if one.before else text
                given = [Edit(one.start, one.end, new)]
                yield _way(code, out, "error", told, one.function, given)
        return
    for match in _THROW.finditer(code.mask):
        around = code.around(match.start())
        end = statement_end(code.mask, match.end())
        if around is None or not code.is_own(match.start()):
            continue
        told = f"another error than `{_shown(code.text[match.end() : end])}`"
        edit = Edit(match.start(), end, "throw new (class Another extends Error {})('another')")
        yield _way(code, out, "error", told, around.name, [edit])


# --- conditions and arguments -----------------------------------------------------------


def _conditions(code: _Code) -> Iterator[tuple[int, int, str, str, str]]:
    """Where each stands, its function, and what is done where it holds and where not."""
    for match in _IF["go" if code.language == "go" else "js"].finditer(code.mask):
        around = code.around(match.start())
        if around is None or not code.is_own(match.start()):
            continue
        if code.language == "go":
            start, end = match.end(), _brace(code.mask, match.end())
            semicolon = code.mask.rfind(";", start, end)
            start = start if semicolon < 0 else semicolon + 1
            opening = end
        else:
            start, end = match.end() + 1, find_closing(code.mask, match.end())
            opening = end + 1
        low = start + len(code.text[start:end]) - len(code.text[start:end].lstrip())
        high = start + len(code.text[start:end].rstrip())
        if low < high and not ELSEWHERE.search(code.text[low:high]):
            then = code.text[opening:].lstrip(" {\n\t").partition("\n")[0]
            yield low, high, around.name, _shown(then), ""


def _brace(mask: str, start: int) -> int:
    at = start
    while at < len(mask) and mask[at] not in "{\n":
        at = find_closing(mask, at) if mask[at] in "([" else at
        at += 1
    return at


def _other_arguments(code: _Code, out: str) -> Iterator[Way]:
    """Another value in each place of a call, but in Go, where nobody knows its type."""
    if code.language == "go":
        return
    many: dict[str, int] = {}
    for match in _CALL.finditer(code.mask):
        around, name = code.around(match.start()), match["name"]
        if around is None or name in _NO_CALLS or _ASKS.search(name) or only_tells(name):
            continue
        if not code.is_own(match.start()) or _DEFINED.search(code.mask, 0, match.start()):
            continue
        if re.search(
            r"\bnew\s+\w*(?:Error|Set|Map)\Z|\bthrow\b[^\n]*\Z", code.mask[: match.start()]
        ):
            continue
        closing = find_closing(code.mask, match.end() - 1)
        if re.match(r"\s*(?::[^;{}\n]*)?\{", code.mask[closing + 1 :]):
            continue  # a method's head
        for start, end in _split(code, match.end(), closing):
            given = code.text[start:end].strip()
            if not given or _BARE.match(given) or many.get(around.name, 0) >= _MOST_ARGUMENTS:
                continue
            many[around.name] = many.get(around.name, 0) + 1
            told = f"another `{_shown(given)}` given to `{name}`"
            any_, *others = (
                _way(code, out, "argument", told, around.name, [Edit(start, end, changed)])
                for changed in (f'__runner_changed(({given}), "{way}")' for way in _WAYS)
            )
            yield any_._replace(further=tuple(one.mutant for one in others))


# --- the file ---------------------------------------------------------------------------


def _way(  # noqa: PLR0917 - a mutant and what is said of it
    code: _Code,
    out: str,
    aspect: str,
    told: str,
    name: str,
    edits: list[Edit],
    lines: tuple[int, ...] = (),
    key: str = "",
) -> Way:
    line = line_of(code.text, edits[0].start)
    size = len(code.text.encode())
    mutant = Mutant(code.path, name, aspect, line, 0, size, _whole(code, edits, out), lines=lines)
    says_so = any("hanged(" in one.text or "runnerError(" in one.text for one in edits)
    return Way(aspect, told, mutant, key, says_so)


def _whole(code: _Code, edits: list[Edit], out: str) -> bytes:
    """The file with these places changed, and the helper at its end."""
    marked = inside_out(code.text, edits)
    if code.language == "go":
        package = _PACKAGE.search(code.mask)
        if package is not None:
            marked = marked[: package.end()] + GO_IMPORTS + marked[package.end() :]
        ways = ", ".join(map(json.dumps, WAYS))
        return (marked + GO.replace("OUT", json.dumps(out)).replace("WAYS", ways)).encode()
    typed = code.language == "ts"
    name = code.path.lower()
    append, head = 'require("fs").appendFileSync', ""
    module = name.endswith((".mjs", ".mts")) or bool(_MODULE.search(code.mask))
    if module and not name.endswith((".cjs", ".cts")):
        # An import may stand anywhere at a module's top: all are resolved before it runs.
        append, head = "__runner_append", 'import { appendFileSync as __runner_append } from "fs";'
    helper = SCRIPT.format(
        any=": any" if typed else "", out=json.dumps(out), append=append, ways=json.dumps(WAYS)
    )
    first = "// @ts-nocheck\n" if typed else ""
    return f"{first}{marked}\n{head}{helper}".encode()
