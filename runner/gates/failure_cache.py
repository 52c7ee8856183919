"""Failures that are kept for ever, where the plan wants what failed asked again.

A cache that keeps a rejected promise, a failed future or an error answers with it from then on; a
test of the failure that asks once sees nothing of it. So the tests run once more with the functions
that the plan names keeping their first failure for the same arguments, also those that they give.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.coverage.lines import own_lines
from runner.gates.mutation.brace_functions import functions
from runner.gates.mutation.mutants import Mutant, is_left_out
from runner.gates.mutation.run_mutants import Ends, Executions, MutantRunner
from runner.gates.mutation.survivors import find_seconds
from runner.languages.c_like_lexer import find_closing, line_of, mask_literals
from runner.languages.registry import is_written_in, read_code
from runner.lazy_pattern import regex
from runner.model import Finding
from runner.text.prose import names_in_code
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from runner.gates.base import GateContext
    from runner.model import Severity

_SENTENCE = regex(r"(?<=[.!?])\s+|\n")
_FAILS = r"(?:fail\w*|errors?|exceptions?|reject\w*|rais\w+|throw\w*)"
_ANEW = (
    r"(?:again|anew|forgotten|forgets?|dropped|evicted"
    r"|(?:not|never|no|n't)\b[^.;\n]{0,20}\b(?:kept|keeps?|cache[sd]?|remember\w*|stored?|memoi[sz]ed))"
)
_FORGETS = regex(
    rf"\b{_FAILS}\b[^.\n]{{0,80}}\b{_ANEW}\b|\b{_ANEW}\b[^.\n]{{0,60}}\b{_FAILS}\b", re.IGNORECASE
)
_KEEPS = regex(
    r"\b(?:cach\w*|memo\w*|remember\w*|once|share[sd]?|kept|keeps?|stored?|reus\w*)\b",
    re.IGNORECASE,
)
_RETRIES = regex(r"\b(?:attempts?|tries|retries|retry(?:ing)?|back-?off)\b", re.IGNORECASE)
"""Of what calls again by itself, within one call."""
_WAITS = regex(r"\byield\b")
_CLASS = regex(r"\bclass\s+(?P<name>[\w$]+)[^{}]*(?=\{)")
_ARROW = regex(
    r"(?:async\s+)?(?:\((?P<list>[^()]*)\)|(?P<one>[\w$]+))\s*(?::\s*[^=;{}\n]+)?=>\s*\Z"
)
_PARAMETER = regex(r"\A\s*(?:\.\.\.)?(?P<name>[A-Za-z_$][\w$]*)")

_PYTHON = """


def __runner_failing(f):
    import functools
    import inspect

    def key_of(a, k):
        plain = (str, bytes, int, float, bool, type(None))
        every = (*a, *sorted(k), *(k[one] for one in sorted(k)))
        return tuple((type(x).__name__, x) if isinstance(x, plain) else id(x) for x in every)

    def always():
        if ALWAYS:
            raise AssertionError("nothing is given any more")

    async def wait_for(result, keep):
        try:
            return await result
        except Exception as error:
            keep(error, True)
            raise

    async def fail(error):
        raise error

    def watched(g, failed):
        @functools.wraps(g)
        def asked(*a, **k):
            key = key_of(a, k)

            def keep(error, waited):
                failed[key] = error, waited, a, k

            if key in failed:
                error, waited = failed[key][:2]
                if waited:
                    return fail(error)
                raise error
            try:
                result = g(*a, **k)
            except Exception as error:
                keep(error, False)
                raise
            if inspect.isfunction(result) or type(result).__name__ == "_lru_cache_wrapper":
                return watched(result, {})
            always()
            if inspect.iscoroutine(result):
                return wait_for(result, keep)
            if hasattr(result, "add_done_callback"):
                def look(done):
                    if not done.cancelled() and done.exception() is not None:
                        keep(done.exception(), True)
                result.add_done_callback(look)
            return result
        if inspect.iscoroutinefunction(g):
            @functools.wraps(g)
            async def waits(*a, **k):
                return await asked(*a, **k)
            return waits
        return asked
    return watched(f, {})


"""
_SCRIPT = """
const __runnerFailures = new WeakMap();
const __runnerIds = new WeakMap();
let __runnerLast = 0;
function __runnerKey(given) {
  return given.map((x) => {
    if (x === null || !['object', 'function'].includes(typeof x)) return `${typeof x} ${String(x)}`;
    if (!__runnerIds.has(x)) __runnerIds.set(x, ++__runnerLast);
    return `#${__runnerIds.get(x)}`;
  }).join('\\n');
}
const __runnerAlone = {};
function __runnerFailing(name, self, given, call) {
  const of = self !== null && typeof self === 'object' ? self : __runnerAlone;
  if (!__runnerFailures.has(of)) __runnerFailures.set(of, new Map());
  return __runnerWatched(__runnerFailures.get(of), `${name}\\n${__runnerKey(given)}`, call);
}
function __runnerWatched(failed, key, call) {
  if (failed.has(key)) {
    const [waited, error] = failed.get(key);
    if (waited) return Promise.reject(error);
    throw error;
  }
  let result;
  try { result = call(); } catch (error) { failed.set(key, [false, error]); throw error; }
  const inside = (f) => new Proxy(f, { apply: (g, self, given) =>
    __runnerWatched(failed, `${key}\\n${__runnerKey([f, ...given])}`,
      () => Reflect.apply(g, self, given)) });
  if (typeof result === 'function') return inside(result);
  const own = result && typeof result === 'object' && typeof result.then !== 'function'
    && Object.getPrototypeOf(result) === Object.prototype ? Object.entries(result) : [];
  if (own.some(([, one]) => typeof one === 'function')) {
    for (const [name, one] of own) if (typeof one === 'function') result[name] = inside(one);
    return result;
  }
  if (ALWAYS) {
    const E = class AssertionError extends Error {}; E.prototype.name = 'AssertionError';
    throw Object.assign(new E('nothing is given any more'), { code: 'ERR_ASSERTION' });
  }
  if (result && typeof result.then === 'function') {
    result.then(undefined, (error) => failed.set(key, [true, error]));
  }
  return result;
}
"""


class _Place(NamedTuple):
    """What of a file keeps its failures: the names, as code has them, and where they stand."""

    name: str
    line: int
    lines: tuple[int, ...]
    """The own lines of all of them that a test ran."""


def find_unforgotten(check: str, bench: GateContext, severity: Severity) -> Iterator[Finding]:
    """A finding for each file of which no test asks again after a failure, as the plan wants."""
    plan = "\n".join((bench.task.title, *bench.task.acceptance, bench.task.prose))
    if not (sentence := forgetting_sentence(plan)):
        return
    strict = bench.settings.mutation == "strict"
    seconds = find_seconds(bench.proofs, 1, strict=strict)
    laboratory = MutantRunner(bench, Executions.of(bench), seconds)
    named = names_in_code(plan)
    for path, lines in sorted(own_lines(bench).items()):
        content = bench.after(path)
        if content is None or bench.is_test(path) or is_left_out(path, content):
            continue
        ran = lines & laboratory.executions.lines(path)
        kept, never = (failing(path, content, named, ran, always=one) for one in (False, True))
        if kept and never and _passes_alone(kept, never, laboratory):
            yield Finding(
                check=check,
                message="the plan wants what failed asked again, and no test asks again: with the"
                f" first failure of {kept.function} kept for ever every test passes",
                path=path,
                line=kept.line,
                severity=severity,
                hint="have a test in which a call fails, and the same call after it does not",
                detail=f"the plan: {sentence}",
            )


def _passes_alone(kept: Mutant, never: Mutant, laboratory: MutantRunner) -> bool:
    """Whether tests let the first pass, and notice where nothing is given at all."""
    if laboratory.is_over or laboratory.run(kept) is not Ends.SURVIVED or laboratory.is_over:
        return False
    return laboratory.run(never) is Ends.NOTICED


def forgetting_sentence(plan: str) -> str:
    """What of a plan of something that is kept says that failures are not; empty where none is."""
    if _RETRIES.search(plan) or not _KEEPS.search(plan):
        return ""
    found = next((one for one in _SENTENCE.split(plan) if _FORGETS.search(one)), "")
    return " ".join(found.split())


def failing(
    path: str, content: bytes, named: Collection[str], ran: Collection[int], *, always: bool
) -> Mutant | None:
    """The file with these functions and classes keeping their failures.

    With `always` they give nothing but failures, so that it is seen whether tests ask at all.
    """
    if is_written_in(path, "python"):
        return _in_python(path, content, named, ran, always=always)
    if is_written_in(path, "javascript"):
        return _in_script(path, content, named, ran, always=always)
    return None


# --- Python ---------------------------------------------------------------------------------


def _in_python(
    path: str, content: bytes, named: Collection[str], ran: Collection[int], *, always: bool
) -> Mutant | None:
    tree = python_tree(content)
    places: list[tuple[str, _Place]] = []
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in named:
            places.append((node.name, _place(node.name, node, ran)))
        elif isinstance(node, ast.ClassDef) and node.name in named:
            places += [
                (f"{node.name}.{one.name}", _place(node.name, one, ran))
                for one in node.body
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and _is_asked(one)
            ]
    places = [one for one in places if one[1].lines]
    if not places:
        return None
    text = _PYTHON.replace("ALWAYS", str(always))
    text += "".join(f"{name} = __runner_failing({name})\n" for name, _ in places)
    return _mutant(path, [one for _, one in places], len(content), len(content), text.encode())


def _is_asked(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return not node.decorator_list and (not node.name.startswith("_") or node.name == "__call__")


def _place(name: str, node: ast.stmt, ran: Collection[int]) -> _Place:
    inside = range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    return _Place(name, node.lineno, tuple(sorted({*inside} & {*ran})))


def _mutant(path: str, places: list[_Place], start: int, end: int, text: bytes) -> Mutant:
    lines = tuple(line for one in places for line in one.lines)
    names = ", ".join(dict.fromkeys(one.name for one in places))
    return Mutant(path, names, "wrapped", lines[0], start, end, text, lines=lines)


# --- scripts --------------------------------------------------------------------------------


def _in_script(
    path: str, content: bytes, named: Collection[str], ran: Collection[int], *, always: bool
) -> Mutant | None:
    text, literals = read_code(path, content) or ("", None)
    if literals is None:
        return None
    mask = mask_literals(text, literals)
    owners = [
        (match.end(), find_closing(mask, match.end()), match["name"])
        for match in _CLASS.finditer(mask)
        if match["name"] in named
    ]
    places: list[_Place] = []
    edits: list[tuple[int, int, str]] = []
    for one in sorted(functions(mask, "js"), key=lambda each: each.start):
        owner = next((name for start, end, name in owners if start < one.start < end), "")
        if not (one.name in named or owner) or one.name == "constructor":
            continue
        first, last = line_of(text, one.start), line_of(text, max(one.start, one.end - 1))
        lines = tuple(line for line in range(first, last + 1) if line in ran)
        end = one.end if one.is_expression else one.end + 1
        given = _given(mask[: one.start])
        inside = any(low <= one.start < high for low, high, _ in edits)
        if not lines or inside or given is None or _WAITS.search(mask[one.start : end]):
            continue
        places.append(_Place(owner or one.name, first, lines))
        edits.append((one.start, end, _frame(mask, one.start, text[one.start : end], given)))
    if not places:
        return None
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    whole = f"{text}\n{_SCRIPT.replace('ALWAYS', str(always).lower())}"
    if path.lower().endswith(("ts", "tsx")):
        whole = f"// @ts-nocheck\n{whole}"
    return _mutant(path, places, 0, len(content), whole.encode())


def _given(before: str) -> str | None:
    """How the body behind this text says what it is given; None where it takes it apart."""
    arrow = _ARROW.search(before)
    if arrow is None:
        return "[...arguments]"
    listed = arrow["list"] if arrow["one"] is None else arrow["one"]
    if "{" in listed or "[" in listed:
        return None
    names = [match["name"] for part in listed.split(",") if (match := _PARAMETER.match(part))]
    return f"[{', '.join(names)}]"


def _frame(mask: str, start: int, body: str, given: str) -> str:
    line = mask.rfind("\n", 0, start) + 1
    word = "async " if re.search(r"\basync\b[^;{}]*\Z", mask[line:start]) else ""
    of = "this" if given == "[...arguments]" else "null"
    if body.startswith("{"):
        return f"{{ return __runnerFailing('{start}', {of}, {given}, {word}() => {body}); }}"
    return f"__runnerFailing('{start}', {of}, {given}, {word}() => ({body.rstrip()}))"
