"""Probes in a JavaScript or TypeScript test file: which of its assertions are come to.

What an assertion begins with (`expect`, `assert`, `t`) goes through a function that gives it back
and writes down a key, so that statements, arrows and chains stay what they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.languages.base import ELSEWHERE, PROBE_LOADED, PROBE_OUT, Probe, Probed
from runner.languages.c_like_lexer import (
    find_closing,
    line_of,
    mask_literals,
    squeeze_code,
    statement_end,
)
from runner.languages.javascript import LITERALS, TYPED
from runner.languages.javascript.assertions import MakingCall, test_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLAIM = re.compile(
    r"(?<![\w.$])(?P<head>expect|assert|chai|t)"
    r"(?P<way>(?:\.\w+)*)\s*\("
)
_OF_T = re.compile(
    r"\.(?:assert\.)?(?:not|notE|e)?(?:[eE]qual|is|is[A-Z]\w*|deepEqual|\w*[eE]quals?\w*|same|not|ok|notOk"
    r"|true|false|truthy|falsy|like|match|\w*[mM]atch|throws\w*|rejects|snapshot|regex|assert)\Z"
)
_NO_CLAIM = re.compile(
    r"\.(?:fail|unreachable|assertions|hasAssertions|extend|any|anything|addSnapshotSerializer"
    r"|(?:object|array|string)\w*|close\w*|not|getState|setState|expect|config|use|ifError)\Z"
)
_DEFINED = re.compile(r"(?:\bfunction\b\s*\*?|\bimport\b[^;\n]*|\bnew)\s*\Z")
_LITERAL = re.compile(r"\s*(?:true|false|null|undefined|\d[\d.]*|)\s*\Z")
_MODULE = re.compile(r"^[ \t]*(?:import\b(?!\s*[(.])|export\b)", re.MULTILINE)
_FUNCTION = re.compile(r"\bfunction\b\s*\*?\s*[\w$]*\s*(?:<[^()]*>)?\s*(?=\()")
_ARROW = re.compile(r"=>\s*")
_METHOD = re.compile(
    r"(?:^|[;{},\n])[ \t]*(?:async\s+)?\*?[\w$]+\s*(?=\([^()]*\)\s*(?::[^{};=\n]*)?\{)"
)
_BODY = re.compile(r"\s*(?::[^{;=]*)?(?=\{)")
_BRANCH = re.compile(r"\b(?:if|else|catch|switch|case|finally)\b")
_IF = re.compile(r"\bif\s*(?=\()")
_NO_METHODS = re.compile(r"\b(?:if|for|while|switch|catch|with|return|function)\s*\Z")
_SKIPS = re.compile(r"(?<![\w$])(?:\w+\.(?:skip|todo)|this\.skip|pending)\s*\(")

# A function and a `var`: both are there before the first line runs (ECMAScript, hoisted
# declarations), so the helper can stand at the end and no line moves.
_HELPER = """
function __runner_probe({given}){any} {{
  try {{
    __runner_seen = __runner_seen || {{ keys: new Set(), file: {open}(process.env.{out}, "a") }};
    if (!__runner_seen.keys.has(key)) {{
      __runner_seen.keys.add(key);
      {write}(__runner_seen.file, key + "\\n");
    }}
  }} catch {{ /* it is not the test's own trouble */ }}
  return value;
}}
var __runner_seen{any};
__runner_probe("{loaded}", 0);
"""


_LONGEST = 400
"""Letters of an assertion that are kept."""


class _Place(NamedTuple):
    start: int
    end: int


def put_probes(path: str, source: str, number: str) -> Probed | None:
    """The file with a probe at each assertion that can fail; None where it has none."""
    mask = mask_literals(source, LITERALS)
    calls, places = test_calls(source, mask), [*_functions(mask)]
    found: list[Probe] = []
    parts: list[str] = []
    last = 0
    for match in _claims(source, mask):
        around = [one for one in calls if one.start < match.start() < one.end]
        probe = _probe(source, mask, around, places, match, f"{number}.{len(found)}")
        if probe is None:
            continue
        head, at = match["head"], match.start("head")
        parts += [source[last:at], f'__runner_probe("{probe.key}", {head})']
        last = at + len(head)
        found.append(probe)
    if not found:
        return None
    text = "".join([*parts, source[last:]])
    return Probed(f"{text}\n{_helper(path, mask, number)}", tuple(found))


def _claims(source: str, mask: str) -> Iterator[re.Match[str]]:
    for match in _CLAIM.finditer(mask):
        way = match["way"]
        if _NO_CLAIM.search(way) or _DEFINED.search(
            mask, max(0, match.start() - 200), match.start()
        ):
            continue
        if match["head"] == "chai" and not way.startswith((".expect", ".assert")):
            continue
        if match["head"] == "t" and not _OF_T.search(way):
            continue
        closing = find_closing(mask, match.end() - 1)
        if not _LITERAL.match(source[match.end() : closing]):
            yield match


def _probe(
    source: str,
    mask: str,
    around: list[MakingCall],
    places: list[_Place],
    match: re.Match[str],
    key: str,
) -> Probe | None:
    """The probe of an assertion; None where it is meant not to run, or not to run here."""
    at = match.start()
    tests = [one for one in around if not one.is_group]
    if any(one.held for one in around) or _is_elsewhere(source, mask, at):
        return None
    if tests and _SKIPS.search(mask, tests[-1].start + 1, tests[-1].end):
        return None
    function = max((one.start for one in places if one.start <= at < one.end), default=0)
    end = min(statement_end(mask, at), at + _LONGEST)
    name = " > ".join(one.name for one in around if one.name) if tests else ""
    return Probe(
        key=key,
        line=line_of(source, at),
        code=squeeze_code(source[at:end], LITERALS),
        test=name,
        function=(f"{tests[-1].start if tests else 0}", function),
        nested=_is_nested(mask, function, at),
    )


def _functions(mask: str) -> Iterator[_Place]:
    """Bodies of functions, arrows and methods."""
    for match in _FUNCTION.finditer(mask):
        body = _BODY.match(mask, find_closing(mask, match.end()) + 1)
        if body:
            yield _Place(body.end(), find_closing(mask, body.end()))
    for match in _ARROW.finditer(mask):
        start = match.end()
        braced = mask[start : start + 1] == "{"
        yield _Place(start, find_closing(mask, start) if braced else statement_end(mask, start))
    for match in _METHOD.finditer(mask):
        if _NO_METHODS.search(match[0]):
            continue
        body = _BODY.match(mask, find_closing(mask, match.end()) + 1)
        if body:
            yield _Place(body.end(), find_closing(mask, body.end()))


def _is_nested(mask: str, start: int, at: int) -> bool:
    """Whether a branch that opens in the function is still open, or a `?` or `&&` stands before."""
    for match in _BRANCH.finditer(mask, start, at):
        opening = mask.find("{", match.end())
        if match[0] == "case" or (0 <= opening < at < find_closing(mask, opening)):
            return True
    line = mask[max(start, mask.rfind("\n", 0, at)) : at]
    return bool(re.search(r"\?(?![.?])|&&|\|\||\b(?:if|else)\b", line))


def _is_elsewhere(source: str, mask: str, at: int) -> bool:
    for match in _IF.finditer(mask, 0, at):
        closing = find_closing(mask, match.end())
        opening = mask.find("{", closing)
        inside = 0 <= opening < at < find_closing(mask, opening)
        if inside and ELSEWHERE.search(source[match.end() : closing]):
            return True
    return False


def _helper(path: str, mask: str, number: str) -> str:
    """What the probes call, at the end of the file; lines before it stay where they are."""
    name = path.lower()
    any_ = ": any" if name.endswith(TYPED) else ""
    module = name.endswith((".mjs", ".mts")) or bool(_MODULE.search(mask))
    head, start, write = "", 'require("fs").openSync', 'require("fs").writeSync'
    if module and not name.endswith((".cjs", ".cts")):
        start, write = "__runner_open", "__runner_write"
        # An import may stand anywhere at a module's top: all are resolved before it runs
        # (ECMAScript, Modules).
        head = f'import {{ openSync as {start}, writeSync as {write} }} from "fs";'
    return head + _HELPER.format(
        given=f"key{any_}, value{any_}",
        any=any_,
        open=start,
        write=write,
        out=PROBE_OUT,
        loaded=f"{number}.{PROBE_LOADED}",
    )
