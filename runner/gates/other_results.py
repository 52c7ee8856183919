"""Results that the plan rules out and that tests may not tell from the right ones.

Where the plan wants values sorted, the function runs with each value where it was given: tests
whose inputs are in order already pass. Where it keeps a spelling, with texts in one case alone.
Told only where the opposite is noticed, so where tests do look at what comes out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.mutation.brace_functions import functions
from runner.gates.mutation.mutants import Mutant
from runner.gates.mutation.run_mutants import Ends
from runner.languages.c_like_lexer import line_of, mask_literals
from runner.languages.registry import is_written_in, read_code
from runner.lazy_pattern import regex
from runner.text.prose import names_in_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.gates.function_heads import Head
    from runner.gates.mutation.brace_functions import Function
    from runner.gates.mutation.run_mutants import MutantRunner

_MOST = r"(?:newest|oldest|latest|earliest|largest|smallest|biggest|longest|shortest|highest|lowest"
_MOST += r"|greatest|cheapest|fewest|nearest|most \w+|least \w+)"
_SORTS = regex(
    r"\bsort(?:s|ed|ing)?\b(?! of\b)"
    r"|\b(?:ascending|descending|alphabetical|lexicographic|chronological)\w*"
    rf"|\border(?:s|ed|ing)? by\b|\b{_MOST}\b(?:\W+[\w`]+){{0,4}}?\W+(?:first|last)\b"
    rf"|\b(?:first|last)\b(?:\W+[\w`]+){{0,3}}?\W+{_MOST}\b",
    re.IGNORECASE,
)
_SORTED_BEFORE = regex(
    r"\b(?:already|assum\w*|un|not|never|without)[ -]*(?:be(?:ing)? |is |are )?(?:sort|order)\w*"
    r"|\b(?:of|from|in|into|two|takes?|given|expects?|over|merges?|an?)\s+(?:(?:an?|the|two)\s+)?"
    r"(?:sorted|ordered)\s+(?!lists? of|copy|copies|list that)\w+"
    r"|\b(?:input|given|arguments?)\b[^.;\n]{0,24}\b(?:sorted|ordered)\b",
    re.IGNORECASE,
)
"""What says of what is given, and not of what comes out, that it is in order."""

_CASE = r"(?:spellings?|(?<!in )(?<!th[ia][st] )(?<!test )case(?![-\w])|capitali[sz]ation|casing)"
_KEPT = r"(?:kept|keeps?|preserv\w+|retain\w*|stays?|remains?|unchanged)"
_SPELLING = regex(
    rf"\b{_CASE}\b[^.;\n]{{0,40}}\b{_KEPT}\b|\b{_KEPT}\b[^.;\n]{{0,30}}\b{_CASE}\b"
    r"|\bcase[- ]preserving\b",
    re.IGNORECASE,
)
_WAITS = regex(r"\b(?:await|yield)\b")
_GO_PARAMETER = regex(r"(?P<name>\w+)\s+(?P<type>\[\][\w.*\[\]]+)\s*(?=,|\Z)")

_ORDERING = """def __ordered(f):
    import functools
    def kind(x):
        if isinstance(x, dict):
            return "dict", *sorted(map(repr, x))
        own = getattr(x, "__dict__", None)
        return (type(x).__name__, *sorted(own)) if own else isinstance(x, (int, float)) or type(x)
    def place(x, given):
        same = (at for at, y in enumerate(given) if y is x or type(y) is type(x) and y == x)
        return next(same, -1)
    def filled(given, result):
        at = [place(x, given) for x in result]
        if len(at) < 2 or -1 in at:
            return None
        found, kinds = list(result), list(map(kind, result))
        for one in [each for n, each in enumerate(kinds) if each not in kinds[:n]]:
            places = [n for n, each in enumerate(kinds) if each == one]
            for to, n in zip(places, sorted(places, key=at.__getitem__, reverse=REVERSED)):
                found[to] = result[n]
        return found
    @functools.wraps(f)
    def asked(*a, **k):
        lists = [one for one in (*a, *k.values()) if isinstance(one, (list, tuple))]
        given = [(one, list(one)) for one in lists]
        result = f(*a, **k)
        for one, before in given:
            if isinstance(result, (list, tuple)) and result is not one:
                found = filled(before, list(result))
                if found is not None:
                    return found if isinstance(result, list) else tuple(found)
            elif (result is None or result is one) and isinstance(one, list):
                one[:] = filled(before, list(one)) or one
        return result
    return asked
@__ordered
"""
_SCRIPT_ORDERING = (
    "{ const __given = [NAMES].map((x) => Array.isArray(x) ? [x, [...x]] : null);"
    " const __result = (() => BODY)();"
    " const __kind = (x) => x !== null && typeof x === 'object'"
    " ? Object.keys(x).sort().join() : typeof x;"
    " for (const __one of __given) { if (!__one) continue;"
    " if (__result !== undefined && !Array.isArray(__result)) continue;"
    " const __list = __result ?? __one[0];"
    " const __at = __list.map((x) => __one[1].indexOf(x));"
    " if (__list.length < 2 || __at.some((n) => n < 0)) continue;"
    " const __found = [...__list];"
    " for (const __k of new Set(__list.map(__kind))) {"
    " const __to = __list.map((_, n) => n).filter((n) => __kind(__list[n]) === __k);"
    " [...__to].sort((a, b) => __at[a] - __at[b])REVERSED"
    ".forEach((from, n) => { __found[__to[n]] = __list[from]; }); }"
    " if (__list === __one[0]) __list.splice(0, __list.length, ...__found);"
    " else return __found; }"
    " return __result; }"
)
_GO_ORDERING = (
    "{ rGiven := append(TYPE(nil), NAME...); rResult := func() TYPE BODY();"
    " if len(rResult) != len(rGiven) { return rResult };REVERSED return rGiven }"
)
_GO_IN_PLACE = "{ rGiven := append(TYPE(nil), NAME...); func() BODY();REVERSED copy(NAME, rGiven) }"
_GO_REVERSED = (
    " for i, j := 0, len(rGiven)-1; i < j; i, j = i+1, j-1"
    " { rGiven[i], rGiven[j] = rGiven[j], rGiven[i] };"
)

_CASING = """def __cased(f):
    import functools
    def other(x, deep=5):
        if type(x) is str:
            return x.WAY()
        if type(x) in (list, tuple, set, frozenset) and deep:
            return type(x)([other(one, deep - 1) for one in x])
        if type(x) is dict and deep:
            return {other(k, deep - 1): other(v, deep - 1) for k, v in x.items()}
        return x
    @functools.wraps(f)
    def asked(*a, **k):
        import inspect
        result = f(*a, **k)
        if MODE:
            try:
                named = inspect.signature(f).bind(*a, **k)
            except TypeError:
                return result
            if not named.arguments.get(MODE):
                return result
        return other(result)
    return asked
@__cased
"""
_SCRIPT_CASING = (
    "{ const __other = (x) => typeof x === 'string' ? x.WAY"
    " : Array.isArray(x) ? x.map(__other) : x; const __result = (() => BODY)();"
    " return MODE ? __other(__result) : __result; }"
)
_SCRIPT_WAYS = {
    "lower": "toLowerCase()",
    "upper": "toUpperCase()",
    "swapcase": "replace(/./gs, (c) => c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())",
}
_GO_CASING = (
    "{ rResult := func() TYPE BODY(); rOther := func(s string) string { b := []byte(s);"
    " for i, c := range b { if c >= 'A' && c <= 'Z' { WAY } else if c >= 'a' && c <= 'z' { YAW } };"
    " return string(b) }; if MODE { CHANGE }; return rResult }"
)
_GO_WAYS = {
    "lower": ("b[i] = c + 32", "b[i] = c"),
    "upper": ("b[i] = c", "b[i] = c - 32"),
    "swapcase": ("b[i] = c + 32", "b[i] = c - 32"),
}
_GO_CHANGES = {
    "string": "rResult = rOther(rResult)",
    "[]string": "for i, s := range rResult { rResult[i] = rOther(s) }",
}


def find_order(path: str, content: bytes, head: Head, line: int, run: MutantRunner) -> str:
    """What to say where tests only give what is in order already; nothing where they do not."""
    given, turned = (in_order(path, content, head, line, turned=turned) for turned in (False, True))
    if given is None or turned is None or not _passes_alone(given, turned, run):
        return ""
    return (
        f"the plan wants what {head.name} gives sorted, and no test gives it what is out of order:"
        " with its values as they were given every test passes"
    )


def find_case(
    path: str, content: bytes, head: Head, line: int, run: MutantRunner, sentences: Sequence[str]
) -> str:
    """What to say where tests only give texts in one case; nothing where they do not.

    Where the plan speaks of a parameter beside the spelling, only calls that set it count.
    """
    said = frozenset().union(*map(names_in_code, sentences))
    for mode in sorted(head.parameters & said) or [""]:
        turned = in_case(path, content, head, line, "swapcase", mode)
        for way in ("lower", "upper"):
            other = in_case(path, content, head, line, way, mode)
            if other is None or turned is None or not _passes_alone(other, turned, run):
                continue
            when = f" with `{mode}`" if mode else ""
            return (
                f"the plan keeps a spelling, and no test of {head.name} tells it: with all letters"
                f" in {way} case{when} every test passes"
            )
    return ""


def _passes_alone(other: Mutant, opposite: Mutant, run: MutantRunner) -> bool:
    """Whether tests let one of two pass, and notice that the other one is wrong."""
    if run.is_over or run.run(other) is not Ends.SURVIVED or run.is_over:
        return False
    return run.run(opposite) is Ends.NOTICED


def sorting_sentences(sentences: Sequence[str]) -> list[str]:
    """Those that want what comes out sorted."""
    return [one for one in sentences if _SORTS.search(one) and not _SORTED_BEFORE.search(one)]


def spelling_sentences(sentences: Sequence[str]) -> list[str]:
    """Those that keep how a text is spelled."""
    return [one for one in sentences if _SPELLING.search(one)]


def in_order(path: str, content: bytes, head: Head, line: int, *, turned: bool) -> Mutant | None:
    """The function, with what it sorts as it was given, or the other way round.

    Values change places with those alike alone: texts, numbers, objects with the same keys.
    """
    if is_written_in(path, "python"):
        return above(path, content, head, line, _ORDERING.replace("REVERSED", str(turned)))
    if is_written_in(path, "javascript"):
        frame = _SCRIPT_ORDERING.replace("NAMES", ", ".join(sorted(head.parameters)))
        return around(path, content, head, line, frame.replace("REVERSED", ".reverse()" * turned))
    return _in_go_order(path, content, head, line, turned=turned)


def _in_go_order(
    path: str, content: bytes, head: Head, line: int, *, turned: bool
) -> Mutant | None:
    for one, listed, result in _of_go(path, content, head):
        for match in _GO_PARAMETER.finditer(listed):
            if result not in ("", match["type"]):
                continue
            frame = _GO_ORDERING if result else _GO_IN_PLACE
            frame = frame.replace("TYPE", match["type"]).replace("NAME", match["name"])
            frame = frame.replace("REVERSED", _GO_REVERSED * turned)
            return _framed(path, content, head.name, line, one, frame)
    return None


def in_case(path: str, content: bytes, head: Head, line: int, way: str, mode: str) -> Mutant | None:
    """The function, with texts in another case, in calls alone that set a parameter."""
    if is_written_in(path, "python"):
        text = _CASING.replace("WAY", way).replace("MODE", repr(mode))
        return above(path, content, head, line, text)
    if is_written_in(path, "javascript"):
        frame = _SCRIPT_CASING.replace("WAY", _SCRIPT_WAYS[way]).replace("MODE", mode or "true")
        return around(path, content, head, line, frame)
    for one, listed, result in _of_go(path, content, head):
        if result in _GO_CHANGES and (not mode or re.search(rf"\b{mode}\b[^,]*\bbool\b", listed)):
            upper, lower = _GO_WAYS[way]
            frame = _GO_CASING.replace("TYPE", result).replace("MODE", mode or "true")
            frame = frame.replace("WAY", upper).replace("YAW", lower)
            frame = frame.replace("CHANGE", _GO_CHANGES[result])
            return _framed(path, content, head.name, line, one, frame)
    return None


def _of_go(path: str, content: bytes, head: Head) -> Iterator[tuple[Function, str, str]]:
    """The function with that head, what its parameters are, and the type that it gives."""
    text, literals = read_code(path, content) or ("", None)
    if literals is None or not is_written_in(path, "go"):
        return
    mask = mask_literals(text, literals)
    for one in functions(mask, "go"):
        listed = re.compile(rf"\bfunc\s+{re.escape(head.name)}\(([^()]*)\)\s*([^(){{}}]*)\Z")
        match = listed.search(mask[: one.start])
        if match and line_of(text, one.start) >= head.line:
            yield one, match[1], match[2].strip()


# --- wrapping -------------------------------------------------------------------------------


def above(path: str, content: bytes, head: Head, line: int, text: str) -> Mutant:
    """The function of Python with a decorator above it."""
    lines = content.split(b"\n")
    start = sum(len(one) + 1 for one in lines[: head.line - 1])
    return Mutant(path, head.name, "wrapped", line, start, start, text.encode())


def around(path: str, content: bytes, head: Head, line: int, frame: str) -> Mutant | None:
    """The function of a script with its body inside of the frame, in the lines that it had."""
    text, literals = read_code(path, content) or ("", None)
    if literals is None or not is_written_in(path, "javascript"):
        return None
    mask = mask_literals(text, literals)
    for one in functions(mask, "js"):
        last = line_of(text, max(one.start, one.end - 1))
        if one.name != head.name or last != head.last:
            continue
        if _WAITS.search(mask[one.start : one.end]):
            return None
        return _framed(path, content, head.name, line, one, frame)
    return None


def _framed(
    path: str, content: bytes, name: str, line: int, one: Function, frame: str
) -> Mutant | None:
    if one.is_expression:
        return None
    text = content.decode("utf-8", "replace")
    body = text[one.start : one.end + 1]
    start = len(text[: one.start].encode())
    end = start + len(body.encode())
    return Mutant(path, name, "wrapped", line, start, end, frame.replace("BODY", body).encode())
