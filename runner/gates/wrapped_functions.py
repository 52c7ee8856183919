"""Functions wrapped whole: what they are given is looked at afterwards, or their number is another.

What the plan says and no small mutant shows: that a function changes nothing of what it is given
(`argument_changes`), which any test shows that gives it something to change; in which unit it
answers, which no test tells that only knows of nothing; an answer that the plan shows, which bounds
and patterns do not tell from one near it; and which errors it refuses with (`refusals`). The tests
that ran a function run once more with each of these in its place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.argument_changes import keeping, keeping_sentences, names_to_keep
from runner.gates.coverage.lines import own_lines
from runner.gates.function_heads import heads
from runner.gates.mutation.mutants import is_left_out
from runner.gates.mutation.run_mutants import Ends, Executions, MutantRunner
from runner.gates.mutation.survivors import find_seconds
from runner.gates.named_errors import errors_of
from runner.gates.other_results import (
    above,
    around,
    find_case,
    find_order,
    sorting_sentences,
    spelling_sentences,
)
from runner.gates.refusals import another_error, erring_methods, refusing_all
from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex
from runner.model import Finding
from runner.text.prose import IDENTIFIER, SENTENCE_END, names_in_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.gates.base import GateContext
    from runner.gates.function_heads import Head
    from runner.gates.mutation.mutants import Mutant
    from runner.gates.named_errors import NamedError
    from runner.model import Severity

_REFUSES = regex(
    r"\b(?:errors?|exceptions?|rais\w+|throw\w*|refus\w+|invalid)\b|\w(?:Error|Exception)\b"
)
_UNITS = tuple(
    regex(rf"\b(?:{one})\b", re.IGNORECASE)
    for one in (
        r"(?P<a>milliseconds?|ms)|(?P<b>seconds?)|(?P<c>minutes?)|(?P<d>hours?)|(?P<e>days?)",
        r"(?P<a>bits?)|(?P<b>bytes?)|(?P<c>kilobytes?|kb|kib)|(?P<d>megabytes?|mb|mib)",
        r"(?P<a>cents?)|(?P<b>dollars?|euros?|pounds?)",
        r"(?P<a>degrees?)|(?P<b>radians?)",
        r"(?P<a>millimet\w+|mm)|(?P<b>centimet\w+|cm)|(?P<c>met(?:er|re)s?)|(?P<d>kilomet\w+|km)",
    )
)
_EXACT = regex(
    r"`(?:\d[^`\n]*|[^`\n]*[^`\n\w.][^`\n]*)`\s+(?:is|are|gives?|returns?|becomes?|means?|=|->|=>|\u2192)\s+(?:`[^`\n]+`|-?\d)"
)
"""An answer that a plan shows, of a call or of what is given: no default of a parameter."""
_MOST = 4

_OTHER_ANSWER = """def __another(f):
    import functools
    @functools.wraps(f)
    def asked(*a, **k):
        result = f(*a, **k)
        return ANSWER
    return asked
@__another
"""
_SCRIPT_ANSWER = "{ const result = (() => BODY)(); return ANSWER; }"
_ANSWER = "(NUMBER) if type(result) in (int, float) else (TEXT) if type(result) is str else result"
_SCRIPT_ONE = "typeof result === 'number' ? NUMBER : typeof result === 'string' ? TEXT : result"


def find_wrapped(check: str, bench: GateContext, severity: Severity) -> Iterator[Finding]:
    """A finding for each function that is not as the plan says, or of which no test shows it."""
    strict = bench.settings.mutation == "strict"
    executions, own = Executions.of(bench), own_lines(bench)
    laboratory = MutantRunner(bench, executions, find_seconds(bench.proofs, _MOST, strict=strict))
    plan = "\n".join((bench.task.title, *bench.task.acceptance, bench.task.prose))
    sentences = SENTENCE_END.split(plan)
    kept = keeping_sentences(sentences)
    sorts, spells = sorting_sentences(sentences), spelling_sentences(sentences)
    units = any(len({one.lastgroup for one in kind.finditer(plan)}) > 1 for kind in _UNITS)
    named = names_in_code(plan)
    errors = errors_of(bench.task)
    refuses = bool(_REFUSES.search(plan))
    exact = [one for one in sentences if _EXACT.search(one)]
    wanted = kept or units or errors or refuses or exact or sorts or spells
    places = [*_places(bench, executions, own, named)][:_MOST] if wanted else []
    for place in places:
        head = place.head
        for message in _find_untold_forms(place, places, (sorts, spells), laboratory):
            yield _finding(check, place, severity, message)
        if not head.gives:
            continue
        names = names_to_keep(head, kept)
        if names and not laboratory.is_over:
            mutant = keeping(place.path, place.content, head, names, place.line)
            if mutant and laboratory.run(mutant) is Ends.NOTICED:
                yield _finding(check, place, severity, _changed(head, names))
        shown = any(len(places) == 1 or head.name in IDENTIFIER.findall(one) for one in exact)
        if message := _untold(place, laboratory, units=units, shown=shown):
            yield _finding(check, place, severity, message)
        waited = [one for one in errors if head.name in one.words or len(places) == 1]
        message = _refuses_all(place, laboratory) if refuses else ""
        if message := message or _refused(place, waited, laboratory):
            yield _finding(check, place, severity, message)
    lines = {path: executions.lines(path) & own[path] for path in own} if errors else {}
    for mutant, message in _refused_by_classes(bench, lines, named, errors):
        if not laboratory.is_over and laboratory.run(mutant) is Ends.SURVIVED:
            yield _at(check, mutant.path, mutant.line, severity, message)


def _find_untold_forms(
    place: _Place,
    places: list[_Place],
    said: tuple[list[str], list[str]],
    laboratory: MutantRunner,
) -> Iterator[str]:
    """What to say where no test tells an order, or a spelling, that sentences of the plan want."""
    (sorts, spells), head = said, place.head
    about = place.path, place.content, head, place.line, laboratory
    if _is_about(head, sorts, places) and (message := find_order(*about)):
        yield message
    if head.gives and _is_about(head, spells, places) and (message := find_case(*about, spells)):
        yield message


def _is_about(head: Head, sentences: list[str], places: list[_Place]) -> bool:
    """Whether a sentence is about a function: it names it, or no other that the plan names."""
    others = {one.head.name for one in places} - {head.name}
    said = [frozenset(IDENTIFIER.findall(one)) for one in sentences]
    return any(head.name in one or not others & one for one in said)


class _Place(NamedTuple):
    """A function that the plan names."""

    path: str
    content: bytes
    head: Head
    line: int
    """One of its lines that is the task's own, and that a test ran."""
    ran: frozenset[int]


def _places(
    bench: GateContext,
    executions: Executions,
    own: Mapping[str, frozenset[int]],
    named: frozenset[str],
) -> Iterator[_Place]:
    for path, lines in sorted(own.items()):
        content = bench.after(path)
        if content is None or bench.is_test(path) or is_left_out(path, content):
            continue
        ran = executions.lines(path)
        for head in heads(path, content):
            inside = sorted(ran & lines & frozenset(range(head.line + 1, head.last + 1)))
            if inside and head.name in named and head.is_alone:
                yield _Place(path, content, head, inside[0], ran)


def _refuses_all(place: _Place, laboratory: MutantRunner) -> str:
    """What to say where tests are content with a refusal of everything."""
    for mutant in refusing_all(place.path, place.content, place.head):
        if mutant.line not in place.ran or laboratory.is_over:
            continue
        if laboratory.run(mutant) is Ends.SURVIVED:
            return f"no test notices that {place.head.name} refuses whatever it is given"
    return ""


def _refused(place: _Place, errors: list[NamedError], laboratory: MutantRunner) -> str:
    """What to say where tests are content with another error than the plan names."""
    path, content, head = place.path, place.content, place.head
    for kind in dict.fromkeys(one.kind.rpartition(".")[2] for one in errors if one.kind):
        other = another_error(path, content, head, place.line, kind)
        if other is None or laboratory.is_over:
            continue
        if laboratory.run(other) is Ends.SURVIVED:
            return f"no test notices the {kind} of {head.name}: another error passes them all"
    return ""


def _refused_by_classes(
    bench: GateContext,
    lines: Mapping[str, frozenset[int]],
    named: frozenset[str],
    errors: tuple[NamedError, ...],
) -> Iterator[tuple[Mutant, str]]:
    """Methods with another error than the plan names of their class, and what to say of each."""
    found = [
        (error, owner, mutant)
        for path, own in sorted(lines.items())
        if (content := bench.after(path)) is not None and not bench.is_test(path)
        for error in errors
        if error.kind
        for owner, mutant in erring_methods(
            path, content, named, own, error.kind.rpartition(".")[2]
        )
    ]
    told: set[tuple[str, str]] = set()
    for error, owner, mutant in found:
        about = owner in error.words or len({one for _, one, _ in found}) == 1
        if about and (mutant.function, error.kind) not in told:
            told.add((mutant.function, error.kind))
            yield (
                mutant,
                f"no test notices the {error.kind} of {owner}: another error passes them all",
            )


def _changed(head: Head, names: tuple[str, ...]) -> str:
    what = f"`{names[0]}`" if len(names) == 1 else "what it is given"
    return f"{head.name} changes {what}, and the plan says that it does not"


def _untold(place: _Place, laboratory: MutantRunner, *, units: bool, shown: bool) -> str:
    """What to say where tests are content with another answer."""
    name = place.head.name
    if units and not laboratory.is_over and _is_untold(place, laboratory):
        said = f"no test tells in which unit {name} answers: a thousand times its number passes"
        return f"{said} them all"
    if shown and not laboratory.is_over and _is_vague(place, laboratory):
        said = f"no test tells the answer of {name}, as the plan shows it, from one near it: a"
        return f"{said} twentieth more, or a text that goes on, passes them all"
    return ""


def _is_untold(place: _Place, laboratory: MutantRunner) -> bool:
    """Whether tests notice that a number is none, and not that it is another one."""
    about = place.path, place.content, place.head, place.line
    none, more = another(*about, nothing=True), another(*about, nothing=False)
    if none is None or more is None or laboratory.run(more) is not Ends.SURVIVED:
        return False
    return laboratory.run(none) is Ends.NOTICED


def _is_vague(place: _Place, laboratory: MutantRunner) -> bool:
    """Whether tests notice that an answer is none, and not that it is another one near it."""
    about = place.path, place.content, place.head, place.line
    none, other = another(*about, nothing=True, text="''"), near(*about)
    if none is None or other is None or laboratory.run(other) is not Ends.SURVIVED:
        return False
    return laboratory.run(none) is Ends.NOTICED


def _finding(check: str, place: _Place, severity: Severity, message: str) -> Finding:
    return _at(check, place.path, place.head.line, severity, message)


def _at(check: str, path: str, line: int, severity: Severity, message: str) -> Finding:
    return Finding(
        check=check,
        message=message,
        path=path,
        line=line,
        severity=severity,
        hint="the plan speaks of it: have the code do it, and a test that would fail otherwise",
    )


def another(
    path: str, content: bytes, head: Head, line: int, *, nothing: bool, text: str = "result"
) -> Mutant | None:
    """The function with a thousand times the number that it gives, or with none."""
    number = "result * 1000"
    if nothing:
        number = "float('nan')" if is_written_in(path, "python") else "NaN"
    return _answering(path, content, head, line, (number, text))


def near(path: str, content: bytes, head: Head, line: int) -> Mutant | None:
    """The function with a number a twentieth greater than it gives, or a text that goes on."""
    return _answering(path, content, head, line, ("result * 1.05", "result + '~'"))


def _answering(
    path: str, content: bytes, head: Head, line: int, answers: tuple[str, str]
) -> Mutant | None:
    number, text = answers
    if is_written_in(path, "python"):
        answer = _ANSWER.replace("NUMBER", number).replace("TEXT", text)
        return above(path, content, head, line, _OTHER_ANSWER.replace("ANSWER", answer))
    answer = _SCRIPT_ONE.replace("NUMBER", number).replace("TEXT", text)
    return around(path, content, head, line, _SCRIPT_ANSWER.replace("ANSWER", answer))
