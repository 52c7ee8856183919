"""Functions that change what they are given, where the plan says that it stays as it is.

The function runs in the tests with a look at its arguments before and after each call: in Python
and in scripts by a wrapper, in Go by a deferred call at the beginning of its body.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.mutation.brace_functions import functions
from runner.gates.mutation.mutants import Mutant
from runner.gates.other_results import above, around
from runner.languages.c_like_lexer import find_closing, line_of, mask_literals
from runner.languages.registry import is_written_in, read_code
from runner.lazy_pattern import regex
from runner.text.prose import IDENTIFIER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.gates.function_heads import Head

_CHANGES = r"(?:chang|modif|mutat|alter|touch|edit|emptie)\w*"
_KEPT = regex(
    rf"\b(?:not|never|neither|nor|without|no)\b[^.\n]{{0,60}}\b{_CHANGES}"
    rf"|\b{_CHANGES}\b[^.\n]{{0,40}}\b(?:neither|nothing|none|no)\b"
    r"|\b(?:unchanged|unmodified|untouched)\b|\bas (?:it|they) (?:is|are|was|were)\b"
    r"|\bleaves?\b[^.\n]{0,40}\balone\b|\b(?:is|are|be) only (?:read|looked at)\b|\bonly reads?\b"
    r"|\b(?:given|passed|input|argument|caller's)\b[^.\n]{0,30}\bkeeps? (?:its|their)\b",
    re.IGNORECASE,
)
"""Of what a function is given that it stays as it was."""

_PYTHON = """def __keeping(f):
    import functools
    def plain(x, deep=6):
        if isinstance(x, dict) and deep:
            return [dict, [(plain(k, deep - 1), plain(v, deep - 1)) for k, v in x.items()]]
        if isinstance(x, (list, tuple, set, frozenset, bytearray)) and deep:
            return [type(x), [plain(v, deep - 1) for v in x]]
        if isinstance(x, (str, bytes, int, float, bool, type(None))):
            return x
        own = {} if isinstance(x, type) or callable(x) else getattr(x, "__dict__", {})
        kept = [name for name in own if not any(w in name.lower() for w in ("cache", "lock"))]
        listed = list(x) if type(x).__name__ == "deque" else []
        seen = [(name, plain(own[name], deep - 1)) for name in sorted(kept)] if deep else []
        return [id(x), seen, plain(listed, deep - 1) if deep else 0]
    @functools.wraps(f)
    def asked(*a, **k):
        import inspect
        try:
            named = inspect.signature(f).bind(*a, **k).arguments
        except TypeError:
            return f(*a, **k)
        looked = {name: named[name] for name in (NAMES) if name in named}
        before = repr(plain(looked))
        result = f(*a, **k)
        if repr(plain(looked)) != before:
            raise AssertionError("what it was given was changed")
        return result
    return asked
@__keeping
"""
_SCRIPT = (
    "{ const __seen = () => { try { return JSON.stringify([NAMES],"
    " (_, x) => x instanceof Map || x instanceof Set ? [...x] : x); } catch { return ''; } };"
    " const __before = __seen(); const __result = (() => BODY)();"
    " if (__seen() !== __before) {"
    " const E = class AssertionError extends Error {}; E.prototype.name = 'AssertionError';"
    " throw Object.assign(new E('what it was given was changed'), { code: 'ERR_ASSERTION' }); }"
    " return __result; }"
)
_GO = """

var runnerOwn = runnerRegexp.MustCompile("(?i)cache|lock|mutex|memo|once")

func runnerKept(given ...interface{}) func() {
	before := runnerShape(given)
	return func() {
		if runnerShape(given) != before {
			panic("\\nAssertionError: what it was given was changed")
		}
	}
}

func runnerShape(given []interface{}) (shape string) {
	left := 20000
	return runnerPlain(runnerReflect.ValueOf(given), 12, &left)
}

func runnerPlain(v runnerReflect.Value, deep int, left *int) string {
	*left--
	if deep == 0 || *left < 0 || !v.IsValid() {
		return "?"
	}
	if from := v.Type().PkgPath(); from == "sync" || from == "sync/atomic" {
		return "?"
	}
	parts := []string{}
	switch v.Kind() {
	case runnerReflect.Interface, runnerReflect.Ptr:
		if v.IsNil() {
			return "nil"
		}
		return v.Elem().Type().String() + ":" + runnerPlain(v.Elem(), deep-1, left)
	case runnerReflect.Slice, runnerReflect.Array:
		for n := 0; n < v.Len() && *left > 0; n++ {
			parts = append(parts, runnerPlain(v.Index(n), deep-1, left))
		}
	case runnerReflect.Map:
		for _, key := range v.MapKeys() {
			value := runnerPlain(v.MapIndex(key), deep-1, left)
			parts = append(parts, runnerPlain(key, deep-1, left)+"="+value)
		}
		runnerSort.Strings(parts)
	case runnerReflect.Struct:
		for n := 0; n < v.NumField(); n++ {
			if runnerOwn.MatchString(v.Type().Field(n).Name) {
				continue
			}
			parts = append(parts, runnerPlain(v.Field(n), deep-1, left))
		}
	case runnerReflect.Func, runnerReflect.Chan, runnerReflect.UnsafePointer:
		return "?"
	default:
		return runnerFmt.Sprintf("%v", v)
	}
	return runnerFmt.Sprintf("%q", parts)
}
"""
_GO_IMPORTS = (
    '; import runnerReflect "reflect"; import runnerSort "sort"'
    '; import runnerFmt "fmt"; import runnerRegexp "regexp"'
)
_PACKAGE = regex(r"^package[ \t]+\w+", re.MULTILINE)
_MOVES = regex(
    r"\A(?:\.\.\.)?(?:func\b|chan\b|<-|\*?(?:io|context|testing|sync|bufio|http|net|rand|iter)\."
    r"|\*?bytes\.(?:Buffer|Reader)|\*?strings\.(?:Builder|Reader))"
)
"""Types of Go that any use changes, or that nobody can look into."""


class _Parameter(NamedTuple):
    name: str
    type: str


def keeping_sentences(sentences: Sequence[str]) -> list[str]:
    """Those that say of what is given that it stays as it was."""
    return [one for one in sentences if _KEPT.search(one)]


def names_to_keep(head: Head, kept: Sequence[str]) -> tuple[str, ...]:
    """The parameters that the plan keeps as they are: those that it names, else all."""
    if not kept:
        return ()
    said = {word for one in kept for word in IDENTIFIER.findall(one)}
    return tuple(sorted(head.parameters & said or head.parameters))


def keeping(
    path: str, content: bytes, head: Head, names: tuple[str, ...], line: int
) -> Mutant | None:
    """The function, failing where it changed what it was given by these names."""
    if is_written_in(path, "python"):
        listed = ", ".join(repr(one) for one in names)
        return above(path, content, head, line, _PYTHON.replace("(NAMES)", f"({listed},)"))
    if is_written_in(path, "go"):
        return _in_go(path, content, head, names, line)
    return around(path, content, head, line, _SCRIPT.replace("NAMES", ", ".join(names)))


def _in_go(
    path: str, content: bytes, head: Head, names: tuple[str, ...], line: int
) -> Mutant | None:
    text, literals = read_code(path, content) or ("", None)
    mask = mask_literals(text, literals) if literals else ""
    package = _PACKAGE.search(mask)
    for one in functions(mask, "go") if package else ():
        listed = re.compile(rf"\bfunc\s+{re.escape(head.name)}\s*(?:\[[^()]*\])?\s*(?=\()")
        found = [match.end() for match in listed.finditer(mask, 0, one.start)]
        last = line_of(text, max(one.start, one.end - 1))
        if package is None or one.name != head.name or last != head.last or not found:
            continue
        of = _parameters(mask[found[-1] + 1 : find_closing(mask, found[-1])])
        looked = [each.name for each in of if each.name in names and not _MOVES.match(each.type)]
        if not looked:
            return None
        start = one.start + 1
        head_text = f"{text[: package.end()]}{_GO_IMPORTS}{text[package.end() : start]}"
        new = f"{head_text} defer runnerKept({', '.join(looked)})();{text[start:]}{_GO}"
        return Mutant(path, head.name, "wrapped", line, 0, len(content), new.encode())
    return None


def _parameters(listed: str) -> Iterator[_Parameter]:
    """The parameters of a function of Go; of `a, b Set` both have the type that stands behind."""
    parts, depth, at = [], 0, 0
    for place, letter in enumerate(f"{listed},"):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(" ".join(listed[at:place].split()))
            at = place + 1
    known = ""
    for part in reversed([one for one in parts if one]):
        name, _, type_ = part.partition(" ")
        known = type_ or known
        yield _Parameter(name, known)
