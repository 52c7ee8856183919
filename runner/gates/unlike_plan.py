"""Code that is not of the kind that the plan names, whatever its tests give it.

A function that is given `now` and asks the clock beside it is right while the tests' clock stands;
one that the plan calls lazy and that does all of its work at once gives the same list; and where
the plan speaks of letters of any script, tests in ASCII tell bytes from letters nowhere. An
attribute that the plan gives a meaning and the code never names is one that a mock has all the
same. How it is used has a module of its own.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from typing import TYPE_CHECKING

from runner.gates import function_heads
from runner.gates.coverage.lines import own_lines
from runner.gates.named_errors import definitions_in
from runner.gates.planned_use import find_uses
from runner.gates.test_awareness import find_tests
from runner.languages.registry import is_written_in, read_code
from runner.lazy_pattern import regex
from runner.text.prose import CODE_SPAN, IDENTIFIER, SENTENCE_END, names_in_code
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.gates.base import GateContext
    from runner.gates.function_heads import Head

_NONE = regex(r"\b(?:not|never|without|unlike|except|only|instead)\b", re.IGNORECASE)

_ATTRIBUTE = regex(r"\b(?:attribute|property|field|header)\s+`(?P<of>[A-Za-z_]\w+)`")
_AS_BEFORE = regex(
    r"\b(?:no|not|never|without|gone|left|instead|any|remov\w*|renam\w*|drop\w*|delet\w*|deprecat\w*"
    r"|keeps?|kept|unchanged|ignor\w*|other|before|today)\b",
    re.IGNORECASE,
)
"""A sentence that may be about what is there, or goes away."""

_CLOCK = regex(
    r"\bDate\.now\(\)|\bnew Date\(\)|\bperformance\.now\(\)|\btime\.(?:time|monotonic)\(\)"
    r"|\bdatetime\.(?:now|utcnow|today)\([^()]*\)|\bdate\.today\(\)"
    r"|\btime\.(?:Now\(\)|Since\(|Until\()"
)
_MOMENT = regex(r"now|today|clock|current_?(?:time|date)|at|when|moment|as_?of", re.IGNORECASE)
"""Parameters that say which time it is."""

_OPENS = regex(r"\bif\b.*[:{]\s*\Z")
"""A condition whose block begins in the next line."""

_LAZY = regex(
    r"\blazy\b|\blazily\b|\bon demand\b"
    r"|\b(?:is|are|be|gives?|returns?|as) an? (?:generator|iterator)\b"
    r"|\bnot (?:\w+ )?(?:read|loaded|computed|consumed|run) (?:before|until)\b",
    re.IGNORECASE,
)
_EAGER = regex(r"\A(?:iter\()?(?:\[|\(\[|list\(|sorted\(|tuple\(|Array\.from\()")

_WIDE = regex(
    r"\bany script\b|\bunicode\b|\bnon-ascii\b|\baccent(?:s|ed)?\b|\bumlauts?\b|\bdiacritic\w*"
    r"|\bemojis?\b|\bmulti-?byte\b|\bcode points?\b|\brunes?\b|\bsurrogate\w*",
    re.IGNORECASE,
)
_ESCAPED = regex(r"\\(?:u\{?[0-9A-Fa-f]|U[0-9A-Fa-f]|x[89A-Fa-f]|N\{)|\bchr\(|fromC(?:ode|har)")
_MADE = regex(r"\b(?:hypothesis|fast-?check|quick\.Check|f\.Fuzz|testdata|fixtures?)\b|\breadFile")

_Said = tuple[str, int, str, str]


def find_unlike(bench: GateContext, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Each such function of the change that the plan names: where, and what to say of it."""
    plan = "\n".join((bench.task.title, *bench.task.acceptance, bench.task.prose))
    named = names_in_code(plan)
    own = own_lines(bench)
    yield from _without_attributes(plan, named, written)
    yield from find_uses(bench, written)
    for path, content in sorted(written.items()):
        lines = own.get(path, frozenset())
        for head in function_heads.heads(path, content):
            if head.name not in named or not lines & frozenset(range(head.line, head.last + 1)):
                continue
            if found := find_clock(head):
                given, asked = found
                said = f"{head.name} is given `{given}`, and asks the clock beside it: `{asked}`"
                yield path, head.line, said, "have it go by what it is given alone"
            if is_lazy(plan) and is_eager(path, head):
                said = f"the plan wants {head.name} lazy, and it does all of its work at once"
                yield path, head.line, said, "have it be a generator, and a test that looks when"
            if is_wide(plan) and _is_narrow(bench, head.name):
                said = f"the plan speaks of letters beyond ASCII: no test gives {head.name} one"
                yield path, head.line, said, "have a test give some, with what must come out"


# --- an attribute that is never read --------------------------------------------------------


def _without_attributes(
    plan: str, named: frozenset[str], written: Mapping[str, bytes]
) -> Iterator[_Said]:
    """Attributes that the plan gives a meaning, where no code of the change has their name.

    A mock has every attribute, so that tests pass with whichever the code asks for.
    """
    words = [
        match["of"]
        for sentence in SENTENCE_END.split(plan)
        if not _AS_BEFORE.search(sentence)
        for match in _ATTRIBUTE.finditer(sentence)
    ]
    code = "\n".join(_spoken(*one) for one in written.items()) if words else ""
    defined = [
        (path, line, name)
        for path, content in sorted(written.items())
        for name, line in definitions_in(content.decode("utf-8", "replace"))
        if name in named
    ]
    own = {name for _, _, name in defined} - {*words}
    places = [(path, line) for path, line, _ in defined]
    # What the plan itself calls a function says nothing of what that one reads.
    code = IDENTIFIER.sub(lambda one: "" if one[0] in own else one[0].lower(), code)
    for word in dict.fromkeys(words) if places else ():
        if word.lower() not in code:
            said = f"the plan gives `{word}` a meaning, and no code of the change has that name"
            yield *places[0], said, "have the code go by it, and a test with an object of its own"


def _spoken(path: str, content: bytes) -> str:
    """A file of code without what documents it."""
    text, literals = read_code(path, content) or ("", None)
    if literals is not None:
        return literals.sub(lambda one: "" if one[0].startswith(("//", "/*")) else one[0], text)
    tree = python_tree(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
    return ast.unparse(tree) if tree else text


# --- a clock beside the one that is given ---------------------------------------------------


def find_clock(head: Head) -> tuple[str, str] | None:
    """What a function is given as the time, and the clock that it asks all the same.

    Not where what is given stands in the same statement, or in the condition before it: then the
    clock is what stands in for it.
    """
    moments = sorted(one for one in head.parameters if _MOMENT.fullmatch(one))
    lines = head.body.split("\n")
    for number, line in enumerate(lines):
        for asked in _CLOCK.finditer(line):
            before = lines[number - 1] if number else ""
            near = _CLOCK.sub("", line) + (before if _OPENS.search(before) else "")
            if moments and not any(re.search(rf"\b{one}\b", near) for one in moments):
                return moments[0], asked[0]
    return None


# --- what is lazy ---------------------------------------------------------------------------


def is_lazy(plan: str) -> bool:
    """Whether the plan wants work done when it is asked for."""
    return any(
        _LAZY.search(one) and not re.search(r"\b(?:not|never) (?:be )?(?:lazy|lazily)\b", one)
        for one in SENTENCE_END.split(plan)
    )


def is_eager(path: str, head: Head) -> bool:
    """Whether every end of a function gives what is whole, and nothing of it is yielded."""
    if not head.gives or re.search(r"\byield\b", head.body):
        return False
    if is_written_in(path, "python"):
        return all(map(_is_whole, head.gives))
    return is_written_in(path, "javascript") and all(map(_EAGER.match, head.gives))


def _is_whole(expression: str) -> bool:
    try:
        node = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return False
    match node:
        case ast.Call(func=ast.Name(id="iter"), args=[given]):
            return isinstance(given, ast.List | ast.ListComp | ast.Tuple)
        case ast.Call(func=ast.Name(id="list" | "sorted" | "tuple")):
            return True
    return isinstance(node, ast.List | ast.ListComp | ast.Tuple)


# --- letters beyond ASCII -------------------------------------------------------------------


def is_wide(plan: str) -> bool:
    """Whether the plan speaks of letters of more than one byte, or shows some as code."""
    if any(_has_letter(one) for one in CODE_SPAN.findall(plan)):
        return True
    return any(_WIDE.search(one) and not _NONE.search(one) for one in SENTENCE_END.split(plan))


def _has_letter(text: str) -> bool:
    return any(not one.isascii() and unicodedata.category(one)[0] in "LMS" for one in text)


def _is_narrow(bench: GateContext, name: str) -> bool:
    """Whether tests name the function, and nothing in them is more than ASCII."""
    near = [
        text
        for _, content in find_tests(bench)
        if name in (text := content.decode("utf-8", "replace"))
    ]
    return bool(near) and not any(
        _has_letter(one) or _ESCAPED.search(one) or _MADE.search(one) for one in near
    )
