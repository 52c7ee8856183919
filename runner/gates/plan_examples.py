"""What the plan shows of a function and no test asks: an example, a parameter, an order.

Tests that pass say nothing of a line of the plan that none of them is about: half of the work may
be missing. Told where an acceptance calls a function of the change with values that no test gives,
where the plan names a parameter that the function never looks at, where it names an error that no
test waits for, and where it says in which order values come, which no test of the function
compares. A family of the registry; it runs no command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.base import INTEGRITY, Check, Proved, gravest
from runner.gates.test_awareness import find_tests
from runner.languages.registry import code_row, is_written_in
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.process.limits import Limits
from runner.text.prose import IDENTIFIER, names_in_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.config.settings import Settings
    from runner.gates import (
        example_search,
        function_heads,
        named_errors,
        plan_words,
        planned_values,
        unlike_plan,
    )
    from runner.gates.base import GateContext
    from runner.model import Task
    from runner.text import literals
    from runner.text.literals import Source
else:
    example_search = lazy_module("runner.gates.example_search")
    function_heads = lazy_module("runner.gates.function_heads")
    named_errors = lazy_module("runner.gates.named_errors")
    plan_words = lazy_module("runner.gates.plan_words")
    planned_values = lazy_module("runner.gates.planned_values")
    unlike_plan = lazy_module("runner.gates.unlike_plan")
    literals = lazy_module("runner.text.literals")

CHECK = "plan-examples"
_IN_ORDER = regex(
    r"\b(?:in (?:\w+ )?(?:order|sequence)|sorted|ordered"
    r"|(?:newest|oldest|largest|smallest) first)\b"
)
_ORDERLESS = frozenset(
    {"arrayContaining", "sorted", "set", "Set", "frozenset", "assertCountEqual", "Counter"}
    | {"ElementsMatch", "toContain", "toContainEqual", "members", "unordered"}
)
_RANDOM = regex(
    r"\b(?:make|generat|creat|draw|pick|choos|return|giv|yield|list of|shuffl)\w*"
    r"(?:\W+[\w`]+){0,4}?\W+random\b"
    r"|\bat random\b",
    re.IGNORECASE,
)
_CHANCE = regex(
    r"rand|(?-i:\buuid)|secret|shuffle|choice|sample|nanoid|crypto|entropy|seed|noise|chance|\brng|getrandbits"
    r"|strategies|faker",
    re.IGNORECASE,
)
_TITLED = frozenset({"it", "test", "describe", "Run", "Fatalf", "Errorf", "Logf"})
"""Calls with a text that is no value."""
_MOST_OPEN = 400
_SHOWN = 80
_MOST = 8


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
        *((shown, one) for one in example_search.find_untested(bench, written)),
        *((shown, one) for one in example_search.find_unanswered(bench, written)),
        *((shown, one) for one in _unwaited(bench, written)),
        *((shown, one) for one in _out_of_order(bench, written)),
        *((shown, one) for one in _without_chance(bench.task, written)),
        *((shown, one) for one in _unspoken(bench, written)),
        *((shown, one) for one in _ungiven(bench, written)),
        *((shown, one) for one in unlike_plan.find_unlike(bench, written)),
    )
    found = (
        Finding(check=CHECK, message=message, path=path, line=line, severity=severity, hint=hint)
        for severity, (path, line, message, hint) in said
    )
    return Proved(None, gravest(found, _MOST))


_Said = tuple[str, int, str, str]


def _unwaited(bench: GateContext, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Errors that the plan names, and no test of the functions that it is about waits for."""
    errors = named_errors.errors_of(bench.task)
    if not errors:
        return
    places = {
        name: (path, line)
        for path, content in sorted(written.items())
        for name, line in named_errors.definitions_in(content.decode("utf-8", "replace"))
    }
    text = "\n".join((bench.task.title, *bench.task.acceptance, bench.task.prose))
    spoken = names_in_code(text) & places.keys()
    tests = [*find_tests(bench)]
    told: set[str] = set()
    for one in (error for error in errors if error.kind not in told):
        names = one.words & places.keys() or spoken or frozenset(places)
        near = [
            (path, content) for path, content in tests if example_search.speaks_of(content, names)
        ]
        if near and not any(example_search.waits_for(bench, one, names, *test) for test in near):
            told.add(one.kind)
            path, line = min(places[name] for name in names)
            message = f"the plan names an error that no test waits for: {one.shown[:_SHOWN]}"
            yield path, line, message, "have a test that runs expect it, where the plan says"


def _unread(task: Task, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Parameters that the plan names, as code, and that their function never looks at."""
    named = names_in_code("\n".join((task.title, *task.acceptance, task.prose)))
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
    named = names_in_code(text)
    for path, content in sorted(written.items()):
        for head in function_heads.heads(path, content):
            if head.name not in named or not head.gives:
                continue
            tests = [*example_search.tests_of(bench, {head.name})]
            if any(map(_takes_order_away, tests)) and not any(
                _compares_order(head.name, test) for test in tests
            ):
                yield (
                    path,
                    head.line,
                    f"the plan says in which order {head.name} gives values: no test looks at it",
                    "have a test compare several values as they come",
                )


def _without_chance(task: Task, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Functions of which the plan wants what is random, and whose code comes to no chance."""
    text = "\n".join((task.title, *task.acceptance, task.prose))
    if not _RANDOM.search(text):
        return
    named = names_in_code(text)
    for path, content in sorted(written.items()):
        every = {head.name: head for head in function_heads.heads(path, content)}
        brought = _brought(content.decode("utf-8", "replace"))
        for head in every.values():
            if head.name not in named or not head.gives:
                continue
            reached = _reached(head.name, every)
            if not (brought & {*IDENTIFIER.findall(reached)} or _CHANCE.search(reached)):
                said = f"the plan wants what is random of {head.name}, and its code knows no chance"
                yield path, head.line, said, "draw it, and have a test give it a source of its own"


def _reached(name: str, every: Mapping[str, function_heads.Head]) -> str:
    """The bodies of a function and of those of its file that it may come to."""
    found: dict[str, str] = {}
    left = [name]
    while left:
        one = left.pop()
        if one in every and one not in found:
            found[one] = every[one].body
            left += IDENTIFIER.findall(every[one].body)
    return "\n".join(found.values())


def _brought(text: str) -> frozenset[str]:
    """The names that a file has from others, any of which may hold what is random."""
    lines = re.findall(
        r"^[ \t]*(?:from\s+\.?[\w.]*\s+)?(?:import\b[^\n]*(?:\n[^\n)}]*)*?[)}\n])"
        r"|\brequire\([^\n]*",
        text,
        re.MULTILINE,
    )
    pure = re.compile(r"\b(?:math|typing|string|re|itertools|functools|collections|dataclasses)\b")
    return frozenset(
        word for line in lines if not pure.search(line) for word in IDENTIFIER.findall(line)
    )


def _unspoken(bench: GateContext, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Characters that the plan lists and no test gives, and a default of None that none gives."""
    plan = "\n".join((bench.task.title, *bench.task.acceptance, bench.task.prose))
    named = names_in_code(plan)
    for path, content in sorted(written.items()):
        text = content.decode("utf-8", "replace")
        of = {name: line for name, line in named_errors.definitions_in(text) if name in named}
        tests = [*example_search.tests_of(bench, {*of})] if of else []
        line = min(of.values(), default=0)
        for one in plan_words.find_unseen(plan, tests) if tests else ():
            shown = ", ".join(one.names)
            said = f"the plan names characters that no test gives: {shown}"
            yield path, line, said, "have a test give each of them, with what must come out"
        if not is_written_in(path, "python"):
            continue
        for default in plan_words.find_defaults(text, plan):
            name, given = default.function, default.parameter
            near = [each.decode("utf-8", "replace") for _, each in find_tests(bench)]
            near = [each for each in near if re.search(rf"\b{name}\b", each)]
            if near and not any(plan_words.gives_none(name, given, each) for each in near):
                said = f"no test gives {name} a {given} of None: it counts as none"
                hint = "have a test say what None is, or take it for a value"
                yield path, default.line, said, hint


_TYPES = regex(r"\b(?:class|type|interface|struct|enum)\s+(\w+)")


def _ungiven(bench: GateContext, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Values and uses that the plan speaks of, and no test of the functions has."""
    plan = "\n".join((bench.task.title, *bench.task.acceptance, bench.task.prose))
    named = names_in_code(plan)
    told: set[str] = set()
    for path, content in sorted(written.items()):
        text = content.decode("utf-8", "replace")
        of = {name: line for name, line in named_errors.definitions_in(text) if name in named}
        tests = [
            planned_values.Test(where, said, source)
            for where, said, source in (example_search.texts_of(bench, {*of}) if of else ())
        ]
        heads = function_heads.heads(path, content) if tests else ()
        called = {*of, *(head.name.rpartition(".")[2] for head in heads)} & named
        called -= {*_TYPES.findall(text)}
        for one in planned_values.find_ungiven(plan, frozenset(called), tests) if tests else ():
            if one.message not in told:
                told.add(one.message)
                yield path, min(of.values()), one.message, one.hint


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
