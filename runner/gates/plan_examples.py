"""What the plan shows of a function and no test asks: an example of the acceptance, a parameter.

Tests that pass say nothing of a line of the plan that none of them is about: half of the work may
be missing. Told where an acceptance calls a function of the change with values that no test gives,
and where the plan names a parameter that the function never looks at. A family of the registry; it
runs no command.
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
    """Each such line and parameter: a warning, with `strict` a question; none of a person's own."""
    if bench.by_person:
        return Proved(None)
    written = {
        one.path: one.content
        for one in bench.changes
        if one.content is not None and code_row(one.path) and not bench.is_test(one.path)
    }
    said = (*_untested(bench, written), *_unread(bench.task, written))
    asks = bench.settings.mutation == "strict"
    found = (
        Finding(
            check=CHECK,
            message=message,
            path=path,
            line=line,
            severity=Severity.QUESTION if asks else Severity.WARNING,
            hint=hint,
        )
        for path, line, message, hint in said
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
        if near and not any(one.values <= test.places.keys() for test in near):
            path, line = places[one.name]
            yield (
                path,
                line,
                f"no test gives what the acceptance names: `{one.shown[:_SHOWN]}`",
                "have a test ask just this, or change the example in the plan",
            )


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
