"""Whether tests have the examples of a plan: what a call is given, and what must come of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.gates import example_texts, named_errors, plain_examples, run_examples
from runner.gates.mutation import written_again
from runner.gates.silent_assertions import lines_run
from runner.gates.test_awareness import find_tests
from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex
from runner.text import literals
from runner.text.prose import CODE_SPAN, names_in_code

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from runner.gates.base import GateContext
    from runner.gates.named_errors import NamedError
    from runner.model import Task
    from runner.text.literals import Source

_WORD = regex(rb"[A-Za-z_$][\w$]*")
_CALL = regex(r"(?:\A|[\s.!({\[])(?P<name>[A-Za-z_$][\w$]*)\((?P<given>.*)\)")
# `part(0)`, which a test gave by the index of a loop, was told as missing: a false finding.
_COUNTING = frozenset({"range", "enumerate", "forEach", "entries", "map", "each", "for"})
"""Words of loops, which may give a number that stands nowhere."""
_SMALL = regex(r"\d{1,2}")
_SHOWN = 80
_Said = tuple[str, int, str, str]


class _Example(NamedTuple):
    name: str
    shown: str
    values: frozenset[str]
    """The constants that it gives, in their plain form."""
    lacks: str = "gives what the acceptance names"


def find_untested(bench: GateContext, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Examples of the acceptance whose values stand in no test that names their function."""
    places = {
        one.name: (path, one.line)
        for path, content in written.items()
        for one in written_again.functions_in(path, content)
    }
    asked = [
        one
        for line in bench.task.acceptance
        for one in examples(line)
        if one.name in places and not _is_waited_for_anew(bench, line, one.name)
    ]
    asked += _loose(bench.task, places.keys())
    asked += _answered(bench.task, places)
    tests = [*tests_of(bench, {one.name for one in asked})] if asked else []
    for one in asked:
        near = [test for test in tests if one.name in test.words]
        if near and not any(_gives(one, test) for test in near):
            path, line = places[one.name]
            yield (
                path,
                line,
                f"no test {one.lacks}: `{one.shown[:_SHOWN]}`",
                "have a test ask just this, or change the example in the plan",
            )


def _loose(task: Task, written: Collection[str]) -> Iterator[_Example]:
    """Examples without a call, where the plan names a single function that the task wrote."""
    text = "\n".join((task.title, *task.acceptance, task.prose))
    names = names_in_code(text) & frozenset(written)
    for line in task.acceptance if len(names) == 1 else ():
        for shown, values in example_texts.loose_examples(line):
            yield _Example(min(names), shown, values)


def _answered(task: Task, places: Mapping[str, tuple[str, int]]) -> Iterator[_Example]:
    """Examples of a call and what it gives, of a language whose code is not run for them."""
    for one in example_texts.examples_of(task):
        path = places[one.name][0] if one.name in places else ""
        if path and not one.raises and not run_examples.is_called(path):
            shown = f"{one.call}` is `{one.wanted}"
            values = _constants(one.call) | _constants(
                one.wanted if not one.text else f"{one.wanted!r}"
            )
            yield _Example(one.name, shown, values, "has what the plan shows")


def find_unanswered(bench: GateContext, written: Mapping[str, bytes]) -> Iterator[_Said]:
    """Examples in the plan's own words whose answer no test of the change has."""
    task = bench.task
    text = "\n\n".join((task.title, *task.acceptance, task.prose))
    examples = () if task.type in ("bugfix", "refactor") else [*plain_examples.plain_examples(text)]
    named = names_in_code(text)
    places = [
        (path, one.line, one.name)
        for path, content in sorted(written.items() if examples else ())
        for one in written_again.functions_in(path, content)
        if one.name in named
    ]
    tests = [*tests_of(bench, {name for _, _, name in places})] if places else []
    for one in examples if tests else ():
        if not plain_examples.is_in(one, tests):
            path, line, name = places[0]
            said = f"no test of {name} has what the plan shows: `{one.shown[:_SHOWN]}`"
            yield path, line, said, f"have a test that gives just this and expects {one.wanted}"


def _is_waited_for_anew(bench: GateContext, line: str, name: str) -> bool:
    """Whether a line names an error of a function, and tests of the change wait for it.

    Other values may be refused for the same reason.
    """
    error = named_errors.error_in(line)
    return error is not None and any(
        waits_for(bench, error, frozenset({name}), one.path, one.content)
        for one in bench.changes
        if one.content and bench.is_test(one.path) and speaks_of(one.content, frozenset({name}))
    )


def tests_of(bench: GateContext, names: set[str]) -> Iterator[Source]:
    """The tests of the proposal that name one of these functions."""
    return (source for _, _, source in texts_of(bench, names))


def texts_of(bench: GateContext, names: set[str]) -> Iterator[tuple[str, str, Source]]:
    """Their paths and texts, and what they are as tokens."""
    wanted = [one.encode() for one in names]
    for path, content in find_tests(bench):
        if any(one in content for one in wanted):
            text = content.decode("utf-8", "replace")
            yield path, text, literals.Source(text, hashes=is_written_in(path, "python"))


def speaks_of(content: bytes, names: frozenset[str]) -> bool:
    """Whether code has one of these names."""
    words = {*_WORD.findall(content)}
    return any(name.encode() in words for name in names)


def waits_for(
    bench: GateContext, error: NamedError, names: frozenset[str], path: str, content: bytes
) -> bool:
    """Whether tests of a file that ran wait for an error of these functions."""
    ran = lines_run(path, bench)
    text = content.decode("utf-8", "replace")
    return named_errors.is_waited_for(error, names, path, text, ran)


def _gives(example: _Example, test: Source) -> bool:
    """Whether a test has the values, or may count up to them."""
    if example.values <= example_texts.spell_out(test.places):
        return True
    return bool(_COUNTING & test.words) and all(map(_SMALL.fullmatch, example.values))


def examples(line: str) -> Iterator[_Example]:
    """The calls with constants that a line of the plan shows as code."""
    for code in CODE_SPAN.findall(line):
        match = _CALL.search(code)
        if match and _goes_on(match["given"]):
            continue  # what is asked is made of it, and a test may make that in its own way
        values = _constants(match["given"]) if match else frozenset()
        if match and values:
            yield _Example(match["name"], code, values)


def _goes_on(given: str) -> bool:
    """Whether the call ends early, and its result is asked for something: `f('x').part(`."""
    tokens = literals.Source(given, hashes=False).tokens
    depth = 0
    for at, token in enumerate(tokens):
        if token.kind == "mark":
            depth += (token.said in literals.OPENING) - (token.said in literals.CLOSING)
        if depth < 0:
            return at + 1 < len(tokens) and tokens[at + 1].said == "."
    return False


def _constants(given: str) -> frozenset[str]:
    source = literals.Source(given, hashes=False)
    return frozenset(
        one.said.casefold() if one.kind == "word" else one.said
        for one in source.tokens
        if one.kind in ("text", "number") or one.said in literals.WORDS_OF_VALUES
    )
