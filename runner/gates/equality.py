"""Product code whose equality is looser than what it compares: a test's comparison says nothing.

A family of the registry; it runs no command. Told where a change adds an equality that uses
nothing of its own object, one that is true for what is only near (an order, a tolerance, a length,
rounded or folded values, and no plain comparison beside it), or takes a field out of one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.base import INTEGRITY, Check, Proved
from runner.languages.c_like_lexer import find_closing, line_of, mask_literals
from runner.languages.python.comparisons import BLIND, NEAR, PART, Loose, loose_equalities
from runner.languages.registry import code_language, is_written_in
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.process.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.model import Task

CHECK = "equality"
_LARGEST = 1_000_000
_METHOD = regex(
    r"(?<!\.)\b(?P<name>asymmetricMatch|equals|isEqual|Equals?|eq)\s*(?=\()(?:\([^(){}]*\))[^(){};=]*(?=\{)"
)
_ALWAYS = regex(r"\{\s*(?:return\s+)?true\s*;?\s*\}")
_NEAR = regex(
    r"[\w)\]]\s*(?:<=?|>=?)\s*[\w(.]|\b(?:abs|Abs|round|Round|floor|Floor|trunc|toFixed|len|length|"
    r"toLowerCase|toUpperCase|EqualFold|ToLower|ToUpper|to_lowercase|startsWith|HasPrefix)\b"
    r"|\b(?:trim|TrimSpace|keys|Keys|slice|replace|includes)\s*\("
)
_EXACT = regex(r"\b(?:equals|DeepEqual|Equal|isDeepStrictEqual)\(")
_SIDES = regex(r"(?<![=!<>])(?:===?|!==?)(?!=)")
_BORDER = regex(r"&&|\|\||=>|[;,{}?]|\breturn\b|\bif\b")
_SAYS_NOTHING = regex(
    r"\A\s*(?:null|nil|undefined|true|false|None|\d+|['\"`][^'\"`]*['\"`])?\s*\Z"
    r"|\btypeof\b|\.constructor\b|\breflect\.TypeOf\b"
)
"""A side of a comparison that is a constant or a type: of what an object holds it says nothing."""
_MEANT = regex(
    r"\b(?:equals?|equality|equivalen\w+|compar\w+|toleran\w+|approx\w*|insensitiv\w+|__eq__)\b",
    re.IGNORECASE,
)
"""Words of a plan that is about what counts as equal."""


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at what a task that may write adds."""
    if not task.writes_anything:
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each equality that the change makes looser than what it compares: a question or warning."""
    if _is_meant(bench.task):
        return Proved(None, ())
    found = []
    for change in bench.changes:
        content = change.content
        if content is None or len(content) > _LARGEST or bench.is_test(change.path):
            continue
        before = bench.before(change.path) or b""
        known = {(one.name, one.how) for one in loose(change.path, before)}
        found += [
            _finding(change.path, one, bench)
            for one in loose(change.path, content)
            if (one.name, one.how) not in known and not _is_new_field(one, before)
        ]
    return Proved(None, tuple(found))


def _is_meant(task: Task) -> bool:
    """Whether the plan's own text is about what equals what."""
    return bool(_MEANT.search("\n".join((task.title, *task.acceptance, task.prose))))


def _is_new_field(one: Loose, before: bytes) -> bool:
    """Whether a field was left out when it came: a cache, most often; no old test compares it."""
    name = one.name.rpartition(".")[2].encode()
    return one.how == PART and not re.search(rb"\b" + re.escape(name) + rb"\s*[:=]", before)


def _finding(path: str, one: Loose, bench: GateContext) -> Finding:
    return Finding(
        check=INTEGRITY,
        message=f"{one.name} is equal {one.how}: tests that compare it hold",
        path=path,
        line=one.line,
        severity=Severity.WARNING if bench.by_person else Severity.QUESTION,
        hint="compare all that both hold, or have the plan say what counts as equal",
    )


def loose(path: str, content: bytes) -> Iterator[Loose]:
    """Each equality of a file that holds for what differs."""
    language = code_language(path)
    text = content.decode("utf-8", "replace")
    if is_written_in(path, "python"):
        yield from loose_equalities(text)
    elif language is not None and language.literals is not None:
        mask = mask_literals(text, language.literals)
        for match in _METHOD.finditer(mask):
            body = mask[match.end() : find_closing(mask, match.end()) + 1]
            if how := _how_loose(body):
                yield Loose(match["name"], line_of(text, match.start()), how)


def _how_loose(body: str) -> str:
    if _ALWAYS.fullmatch(body):
        return BLIND
    if not _NEAR.search(body) or _EXACT.search(body):
        return ""
    return "" if any(map(_is_exact, _SIDES.finditer(body))) else NEAR


def _is_exact(operator: re.Match[str]) -> bool:
    """Whether it compares two values as they are, neither a constant nor what a call left."""
    body = operator.string
    left = _border(body[: operator.start()][::-1], ")]", "([")
    right = _border(body[operator.end() :], "([", ")]")
    sides = _last(left[::-1]), _first(right)
    return not any(_SAYS_NOTHING.search(one) or _NEAR.search(one) for one in sides)


def _border(text: str, opening: str, closing: str) -> str:
    """The text up to where a bracket around it closes."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character in opening) - (character in closing)
        if depth < 0:
            return text[:at]
    return text


def _last(text: str) -> str:
    ends = [one.end() for one in _BORDER.finditer(text)]
    return text[ends[-1] :] if ends else text


def _first(text: str) -> str:
    found = _BORDER.search(text)
    return text[: found.start()] if found else text
