"""What the plan shows of a function and no test asks: an example, a parameter, an order.

Tests that pass say nothing of a line of the plan that none of them is about: half of the work may
be missing. Told where an acceptance calls a function of the change with values that no test gives,
where the plan names a parameter that the function never looks at, and where it says in which order
values come, which no test of the function compares. A family of the registry; it runs no command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.base import INTEGRITY, Check, Proved
from runner.gates.test_awareness import find_tests
from runner.languages.registry import code_row, is_written_in
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.process.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.config.settings import Settings
    from runner.gates import function_heads
    from runner.gates.base import GateContext
    from runner.gates.mutation import written_again
    from runner.model import Task
    from runner.text import literals
    from runner.text.literals import Source
else:
    function_heads = lazy_module("runner.gates.function_heads")
    written_again = lazy_module("runner.gates.mutation.written_again")
    literals = lazy_module("runner.text.literals")

CHECK = "plan-examples"
_CODE = regex(r"`([^`\n]+)`")
_CALL = regex(r"(?:\A|[\s.!({\[])(?P<name>[A-Za-z_$][\w$]*)\((?P<given>.*)\)")
_COUNTING = frozenset({"range", "enumerate", "forEach", "entries", "map", "each", "for"})
"""Words of loops, which may give a number that stands nowhere."""
_SMALL = regex(r"\d{1,2}")
_IN_ORDER = regex(
    r"\b(?:in (?:\w+ )?(?:order|sequence)|sorted|ordered"
    r"|(?:newest|oldest|largest|smallest) first)\b"
)
_ORDERLESS = frozenset(
    {"arrayContaining", "sorted", "set", "Set", "frozenset", "assertCountEqual", "Counter"}
    | {"ElementsMatch", "toContain", "toContainEqual", "members", "unordered"}
)
_TITLED = frozenset({"it", "test", "describe", "Run", "Fatalf", "Errorf", "Logf"})
"""Calls with a text that is no value."""
_MOST_OPEN = 400
_SHOWN = 80
_MOST = 8


class _Example(NamedTuple):
    name: str
    shown: str
    values: frozenset[str]
    """The constants that it gives, in their plain form."""


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """One look at a task that writes and has tests; none where nobody asks what they notice."""
    if settings.mutation == "off" or not (task.writes_anything and task.test_contracts):
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each such line: a question, none of a person's own.

    That no test gives an example, or looks at an order, is asked about with `strict` alone: a test
    may give it in a way that its text does not show.
    """
    if bench.by_person:
        return Proved(None)
    written = {
        one.path: one.content
        for one in bench.changes
        if one.content is not None and code_row(one.path) and not bench.is_test(one.path)
    }
    strict = bench.settings.mutation == "strict"
    shown = Severity.QUESTION if strict else Severity.WARNING
    said = (
        *((Severity.QUESTION, one) for one in _unread(bench.task, written)),
        *((shown, one) for one in _untested(bench, written)),
        *((shown, one) for one in _out_of_order(bench, written)),
    )
    found = (
        Finding(check=CHECK, message=message, path=path, line=line, severity=severity, hint=hint)
        for severity, (path, line, message, hint) in said
    )
    return Proved(None, tuple(found)[:_MOST])


_Said = tuple[str, int, str, str]


def _untested(bench: GateContext, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Examples of the acceptance whose values stand in no test that names their function."""
    places = {
        one.name: (path, one.line)
        for path, content in written.items()
        for one in written_again.functions_in(path, content)
    }
    asked = [one for line in bench.task.acceptance for one in examples(line) if one.name in places]
    tests = [*_tests(bench, {one.name for one in asked})] if asked else []
    for one in asked:
        near = [test for test in tests if one.name in test.words]
        if near and not any(_gives(one, test) for test in near):
            path, line = places[one.name]
            yield (
                path,
                line,
                f"no test gives what the acceptance names: `{one.shown[:_SHOWN]}`",
                "have a test ask just this, or change the example in the plan",
            )


def _gives(example: _Example, test: Source) -> bool:
    """Whether a test has the values, or may count up to them."""
    if example.values <= test.places.keys():
        return True
    return bool(_COUNTING & test.words) and all(map(_SMALL.fullmatch, example.values))


def examples(line: str) -> Iterator[_Example]:
    """The calls with constants that a line of the plan shows as code."""
    for code in _CODE.findall(line):
        match = _CALL.search(code)
        values = _constants(match["given"]) if match else frozenset()
        if match and values:
            yield _Example(match["name"], code, values)


def _constants(given: str) -> frozenset[str]:
    source = literals.Source(given, hashes=False)
    return frozenset(
        one.said.casefold() if one.kind == "word" else one.said
        for one in source.tokens
        if one.kind in ("text", "number") or one.said in literals.WORDS_OF_VALUES
    )


def _tests(bench: GateContext, names: set[str]) -> Iterator[Source]:
    """The tests of the proposal that name one of these functions."""
    wanted = [one.encode() for one in names]
    for path, content in find_tests(bench):
        if any(one in content for one in wanted):
            text = content.decode("utf-8", "replace")
            yield literals.Source(text, hashes=is_written_in(path, "python"))


def _unread(task: Task, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Parameters that the plan names, as code, and that their function never looks at."""
    code = " ".join(_CODE.findall("\n".join((task.title, *task.acceptance, task.prose))))
    named = frozenset(re.findall(r"[A-Za-z_$][\w$]*", code))
    for path, content in sorted(written.items()):
        for head in function_heads.heads(path, content) if named else ():
            idle = sorted((head.parameters & named) - head.used - head.refused)
            if idle and head.name in named and head.gives:
                yield (
                    path,
                    head.line,
                    f"the plan names {', '.join(idle)}, and {head.name} never looks at it",
                    "have what it gives hang on it, and a test that says how",
                )


def _out_of_order(bench: GateContext, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """New functions whose values the plan wants in order, and whose tests all take it away."""
    task = bench.task
    text = "\n".join((task.title, *task.acceptance, task.prose))
    if not _IN_ORDER.search(text):
        return
    named = frozenset(re.findall(r"[A-Za-z_$][\w$]*", " ".join(_CODE.findall(text))))
    for path, content in sorted(written.items()):
        for head in function_heads.heads(path, content):
            if head.name not in named or not head.gives:
                continue
            tests = [*_tests(bench, {head.name})]
            if any(map(_takes_order_away, tests)) and not any(
                _compares_order(head.name, test) for test in tests
            ):
                yield (
                    path,
                    head.line,
                    f"the plan says in which order {head.name} gives values: no test looks at it",
                    "have a test compare several values as they come",
                )


def _takes_order_away(test: Source) -> bool:
    return bool(_ORDERLESS & test.words)


def _compares_order(name: str, test: Source) -> bool:
    """Whether several values stand in a test, neither given to it nor taken out of order."""
    return any(
        not ({name, *_ORDERLESS, *_TITLED} & _around(test, at))
        for form, places in test.places.items()
        if "," in form or " " in form.strip()
        for at in places
        if test.value_at(at)[0] is not None  # else it is what a call is given
    )


def _around(test: Source, at: int) -> set[str]:
    """The names of the calls that a place stands in, as far as a block around it."""
    found, depth = set(), 0
    for here in range(at - 1, max(at - _MOST_OPEN, -1), -1):
        token = test.tokens[here]
        if token.kind != "mark":
            continue
        depth += (token.said in literals.CLOSING) - (token.said in literals.OPENING)
        if depth < 0:
            if token.said == "{":
                break
            found.add(test.word_at(here - 1))
            depth = 0
    return found
