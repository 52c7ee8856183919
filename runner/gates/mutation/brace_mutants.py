"""Mutants of JavaScript, TypeScript, Go and Rust, by tokens: strings and comments do not count.

No syntax tree is at hand, so what comes out may be no program: that is told when it runs, and
counts as not made.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from runner.gates.mutation.brace_functions import functions
from runner.gates.mutation.mutants import Mutant, only_tells
from runner.languages.c_like_lexer import find_closing, line_of, mask_literals, statement_end
from runner.languages.registry import read_code
from runner.lazy_dataclass import dataclass
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.mutation.brace_functions import Function

_SIGNS = {
    "condition": {"===": "!==", "!==": "===", "==": "!=", "!=": "=="},
    "comparison": {"<=": "<", ">=": ">", "<": "<=", ">": ">="},
    "arithmetic": {
        "+": "-",
        "-": "+",
        "*": "/",
        "/": "*",
        "%": "*",
        "+=": "-=",
        "-=": "+=",
        "*=": "+=",
        "<<": ">>",
        ">>": "<<",
    },
    "operand": {"&&": "||", "||": "&&", "??": "&&"},
}
_SIGN = re.compile(r"(?<=[ \n\t])(?:===|!==|[-+*]=|[!=<>]=|<<|>>|&&|\|\||\?\?|[-+*/%<>])(?=[ \n])")
"""Signs with blanks around them: a generic, an arrow or a sign of a number has none."""
_NUMBER = re.compile(r"(?<![\w.$])\d[\d_]*(?:\.\d+)?(?![\w.$])")
_TRUTH = re.compile(r"(?<![\w.$])(?:true|false)(?![\w$])")
_IF = {
    "js": re.compile(r"(?<![\w.$])if\s*(?=\()"),
    "go": re.compile(r"(?<![\w.])if\s+"),
    "rs": re.compile(r"(?<![\w.])if\s+(?!let\b)"),
}
_RETURN = re.compile(r"(?<![\w.$])return\b")
_RAISE = re.compile(r"(?<![\w.$])throw\b(?=\s)")
_ASSIGNED = re.compile(r"(?<![\w.$=!<>+*/%-])(?:const|let|var)?\s*[\w.$]+\s*=(?![=>])")
_LOOP = re.compile(r"\bfor\s*\(\s*(?:const|let|var)\s+[^()]*?\bof\s+")
_STEP = re.compile(r"(?<=[\w\])])(?:\+\+|--)(?=[ \t]*[;\n])")
_FOR = re.compile(r"(?<![\w.$])for\b[^\n]*\Z")
_PLACED = re.compile(r"(?m)^[ \t]*(?P<place>\w[\w.]*[.\[][\w.\[\]]*) = (?=\S)")
"""What a statement of Go puts into a field or an element; a variable would be left unused."""
_CALL = re.compile(r"^[ \t]*(?:await\s+)?(?P<name>[\w.$]+)\([^\n]*\)[ \t]*;?[ \t]*$", re.MULTILINE)
_KEYWORDS = frozenset({"if", "for", "while", "switch", "return", "function", "catch", "super"})
_OF_VALUES = frozenset({"returned value", "constant"})
_ZERO = re.compile(r"\A(?:0|0\.0|nil|false|\"\"|``|[\w.\[\]*]*\{\})\Z")
_NOTHING = re.compile(r"\A(?:null|undefined|nil|None|this|self|\(\))\Z")
KINDS = (
    *("returned value", "condition", "arithmetic", "operand", "comparison", "constant"),
    *("assigned value", "loop", "raise", "statement"),
    *("empty result", "no result"),
)


@dataclass(frozen=True, slots=True)
class _Edit:
    kind: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Source:
    text: str
    mask: str
    language: str

    @property
    def is_script(self) -> bool:
        return self.language in ("js", "ts")


def brace_mutants(
    path: str, content: bytes, own: frozenset[int], ran: frozenset[int], language: str
) -> tuple[Mutant, ...]:
    """Every mutant on lines that are the task's own and that a test ran, kinds in their order."""
    text, literals = read_code(path, content) or ("", None)
    if literals is None:
        return ()
    source = _Source(text, mask_literals(text, literals), language)
    known = functions(source.mask, language)
    telling = frozenset(_telling_lines(source))
    refusals = [*_refusals(source, known)]
    found = []
    for edit in _edits(source, known):
        if edit.kind in _OF_VALUES and any(edit.start in span for span in refusals):
            continue
        line = line_of(text, edit.start)
        around = _innermost(known, edit.start)
        if around is None or line not in own or line not in ran or line in telling:
            continue
        start = len(text[: edit.start].encode())
        end = start + len(text[edit.start : edit.end].encode())
        found.append(Mutant(path, around.name, edit.kind, line, start, end, edit.text.encode()))
    found.sort(key=lambda one: KINDS.index(one.kind))
    return tuple(found)


def _innermost(known: tuple[Function, ...], at: int) -> Function | None:
    around = [one for one in known if one.start <= at < one.end]
    return min(around, key=lambda one: one.end - one.start, default=None)


def _refusals(source: _Source, known: tuple[Function, ...]) -> Iterator[range]:
    """Where Go gives nothing beside an error: nobody asks what that nothing is."""
    for match in _RETURN.finditer(source.mask) if source.language == "go" else ():
        around = _innermost(known, match.start())
        start = _after_blanks(source, match.end())
        end = statement_end(source.mask, start)
        *values, error = _split(source.text[start:end])
        if around is None or around.types[-1:] != ("error",) or error == "nil":
            continue
        if values and all(map(_ZERO.match, values)):
            yield range(start, end)


def _telling_lines(source: _Source) -> Iterator[int]:
    """Lines that log, raise words at people, or import."""
    for number, line in enumerate(source.mask.split("\n"), start=1):
        name = re.match(r"\s*(?:await\s+)?([\w.$!]+)\s*\(", line)
        words = line.strip()
        if (name and only_tells(name[1])) or words.startswith(("import ", "use ", "#[", "@")):
            yield number


def _edits(source: _Source, known: tuple[Function, ...]) -> Iterator[_Edit]:
    yield from _signs(source)
    yield from _constants(source)
    yield from _conditions(source)
    yield from _results(source, known)
    yield from _steps(source)
    if source.is_script:
        yield from _of_scripts(source)
    elif source.language == "go":
        for match in _PLACED.finditer(source.mask):
            yield _Edit("assigned value", *match.span("place"), "_")
    yield from _statements(source)


def _signs(source: _Source) -> Iterator[_Edit]:
    for match in _SIGN.finditer(source.mask):
        for kind, signs in _SIGNS.items():
            new = signs.get(match[0])
            text = kind == "arithmetic" and _beside_text(source, match.start(), match.end())
            if new and not text:
                yield _Edit(kind, match.start(), match.end(), new)


def _steps(source: _Source) -> Iterator[_Edit]:
    """`n++` the other way round, but for the heads of loops, which would not end."""
    for match in _STEP.finditer(source.mask):
        if not _FOR.search(source.mask, source.mask.rfind("\n", 0, match.start()), match.start()):
            new = "--" if match[0] == "++" else "++"
            yield _Edit("arithmetic", match.start(), match.end(), new)


def _beside_text(source: _Source, start: int, end: int) -> bool:
    """Whether a sign joins text: then no other sign would."""
    before, after = source.text[:start].rstrip()[-1:], source.text[end:].lstrip()[:1]
    return bool({before, after} & {'"', "'", "`"})


def _constants(source: _Source) -> Iterator[_Edit]:
    for match in _NUMBER.finditer(source.mask):
        if new := _one_more(match[0].replace("_", "")):
            yield _Edit("constant", match.start(), match.end(), new)
    for match in _TRUTH.finditer(source.mask):
        new = "false" if match[0] == "true" else "true"
        yield _Edit("constant", match.start(), match.end(), new)


def _one_more(number: str) -> str:
    """The number behind it; nothing for one that no program counts with."""
    if "." in number:
        more = float(number) + 1.0
        return repr(more) if math.isfinite(more) else ""
    whole = read_number(number)
    return str(whole + 1) if whole >= 0 else ""


def _conditions(source: _Source) -> Iterator[_Edit]:
    pattern = _IF["js" if source.is_script else source.language]
    for match in pattern.finditer(source.mask):
        if source.is_script:
            start, end = match.end() + 1, find_closing(source.mask, match.end())
        else:
            start, end = match.end(), _brace(source.mask, match.end())
            # Of `if v, err := f(); err != nil` only what follows is the condition.
            semicolon = source.mask.rfind(";", start, end)
            start = start if semicolon < 0 else semicolon + 2
        inner = source.text[start:end].strip()
        if inner and not ("let " in inner and source.language == "rs"):
            space = "" if source.is_script else " "
            yield _Edit("condition", start, end, f"!({inner}){space}")


def _brace(mask: str, start: int) -> int:
    """Where the block begins that follows a condition without brackets."""
    at = start
    while at < len(mask) and mask[at] not in "{\n":
        at = find_closing(mask, at) if mask[at] in "([" else at
        at += 1
    return at


def _results(source: _Source, known: tuple[Function, ...]) -> Iterator[_Edit]:
    for match in _RETURN.finditer(source.mask):
        around = _innermost(known, match.start())
        start = _after_blanks(source, match.end())
        end = statement_end(source.mask, start)
        yield from _change_value(source, start, end, "returned value", around)
    for one in known:
        if one.is_expression and one.start < one.end:
            yield from _change_value(source, one.start, one.end, "returned value", one)


def _after_blanks(source: _Source, at: int) -> int:
    """Where what stands behind a word begins; in the mask a string would be blank, too."""
    blanks = re.compile(r"[ \t]*").match(source.text, at)
    return blanks.end() if blanks else at


def _change_value(
    source: _Source, start: int, end: int, kind: str, around: Function | None
) -> Iterator[_Edit]:
    """Another value of the same type in a value's place, and where it is a result, none."""
    value = source.text[start:end].rstrip()
    end = start + len(value)
    words = source.mask[start:end].strip(" \n+")  # text alone leaves none
    if not words or _NOTHING.search(value.strip()):
        return
    types = around.types if around else ()
    for name, text in other_value(value, source.language, types):
        if name == "other":
            yield _Edit(kind, start, end, text)
        elif kind == "returned value":
            yield _Edit("empty result" if name == "empty" else "no result", start, end, text)


def _of_scripts(source: _Source) -> Iterator[_Edit]:
    for match in _ASSIGNED.finditer(source.mask):
        start = _after_blanks(source, match.end())
        end = statement_end(source.mask, start)
        value = source.text[start:end].strip()
        if value.startswith(("(", "async", "function", "class", "{", "[")) or "=>" in value:
            continue
        yield from _change_value(source, start, end, "assigned value", None)
    for match in _LOOP.finditer(source.mask):
        opening = source.mask.rfind("(", match.start(), match.end())
        yield _Edit("loop", match.end(), find_closing(source.mask, opening), "[]")
    for match in _RAISE.finditer(source.mask):
        end = statement_end(source.mask, match.end())
        yield _Edit("raise", match.start(), end, "void 0")


def _statements(source: _Source) -> Iterator[_Edit]:
    for match in _CALL.finditer(source.mask):
        name, line = match["name"], match[0]
        whole = line.count("(") == line.count(")") and line.count("{") == line.count("}")
        if whole and name not in _KEYWORDS and not only_tells(name):
            # A line of JavaScript that no semicolon ends may be the middle of an expression.
            before = source.mask[: match.start()].rstrip()[-1:]
            if before in ("{", "}", ";", ")") or source.language == "go":
                start = match.start() + len(line) - len(line.lstrip())
                yield _Edit("statement", start, match.end(), "void 0;" if source.is_script else "")


# --- another value in its place ---------------------------------------------------------

_OTHER = (
    "typeof v === 'boolean' ? !v : typeof v === 'number' ? v * 3 + 7 : "
    "typeof v === 'bigint' ? -v - BigInt(7) : "
    "typeof v === 'string' ? '~' + v.split('').reverse().join('') : "
    "Array.isArray(v) ? (v.length > 1 ? v.slice(1) : v.concat([null])) : "
    "v === null || v === undefined ? 0 : "
    "typeof v.then === 'function' ? v.then(() => null, (e{any}) => {{ throw e; }}) : "
    "v instanceof Map ? new Map(v.size ? [] : [[null, null]]) : "
    "v instanceof Set ? new Set(v.size ? [] : [null]) : "
    "v instanceof Date ? new Date(+v + 864e5) : "
    "Object.keys(v).length ? Object.assign(Object.create(Object.getPrototypeOf(v)), v, "
    "{{ [Object.keys(v)[0]]: v[Object.keys(v)[0]] == null ? 0 : null }}) : null"
)
_EMPTY = (
    "typeof v === 'boolean' ? !v : typeof v === 'number' ? (v ? 0 : 1) : "
    "typeof v === 'string' ? (v ? '' : '~') : Array.isArray(v) ? (v.length ? [] : [null]) : "
    "v && typeof v.then === 'function' ? v.then(() => undefined) : v == null ? 0 : {{}}"
)
_NUMBERS = re.compile(r"u?int(?:8|16|32|64)?\Z|float(?:32|64)\Z|byte\Z|rune\Z|time\.Duration\Z")
_TEXT = re.compile(r'\A"(?:[^"\\]|\\.)*"\Z')
_POINTER = re.compile(r"\*[A-Z\w][\w.]*(?:\[[\w., ]+\])?\Z")
_NILS = re.compile(r"(?:\*|\[\]|map\[|error\Z|interface\b|any\Z|func\b|chan\b)")


def other_value(value: str, language: str, types: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Names (`other`, `empty`, `none`) and texts of what can stand in a value's place."""
    if language in ("js", "ts"):
        any_ = ": any" if language == "ts" else ""
        for name, body in (("other", _OTHER), ("empty", _EMPTY)):
            yield name, f"((v{any_}){any_} => {body.format(any=any_)})({value})"
        yield "none", f"((v{any_}){any_} => null)({value})"
    elif language == "go":
        yield from _of_go(value, types)


def _of_go(value: str, types: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """By the types that the function says it gives: the first that can be changed."""
    parts = _split(value) if len(types) > 1 else [value]
    if len(parts) != len(types):
        return
    for at, (part, type_) in enumerate(zip(parts, types, strict=True)):
        for name, text in _mutate_typed(part.strip(), type_):
            yield name, ", ".join([*parts[:at], text, *parts[at + 1 :]])
        if type_ != "error":
            return


def _mutate_typed(value: str, type_: str) -> Iterator[tuple[str, str]]:
    if _NUMBERS.match(type_):
        yield "other", f"({value})*3 + 7"
        # Made of the value itself: Go compiles no function with a variable that nothing uses.
        yield "empty", f"({value}) * 0"
    elif type_ == "string" and not _TEXT.match(value):
        yield "other", f'"~" + ({value})'
        yield "empty", f'({value})[:0] + ""'
    elif type_ == "bool":
        yield "other", f"!({value})"
    elif type_.startswith("[]") and value != "nil":
        body = "if len(v) > 1 { return v[1:] }; return append(v, *new(" + type_[2:] + "))"
        yield "other", f"func(v {type_}) {type_} {{ {body} }}({value})"
        yield "none", "nil"
    elif _POINTER.match(type_) and value != "nil":
        yield "other", f"func({type_}) {type_} {{ return new({type_[1:]}) }}({value})"
        yield "none", "nil"
    elif _NILS.match(type_) and value != "nil":
        yield "none", "nil"


def _split(value: str) -> list[str]:
    """At commas outside of brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for at, letter in enumerate(value):
        if quote:
            quote = "" if letter == quote and value[at - 1] != "\\" else quote
        elif letter in "\"'`":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(value[start:at].strip())
            start = at + 1
    return [*parts, value[start:].strip()]
