"""Functions of a task that compute nothing: their answers stand in the tests written with them.

A mutant of such a function is noticed, since its constants are what the tests compare: so mutants
say nothing of it. Told are a function that gives one constant and never looks at what it is given,
one that knows nothing but what its tests ask it, one that recites pieces of what they give it, one
that gives up where it is given more than one value, and one that only says that it is not there. A
family of the registry; it runs no command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.base import INTEGRITY, Check, Proved, gravest
from runner.languages.registry import code_row, is_written_in
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.process.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.config.settings import Settings
    from runner.gates import disguised_answers, function_heads, test_answers
    from runner.gates.base import GateContext
    from runner.gates.coverage import lines as line_sets
    from runner.gates.function_heads import Head
    from runner.gates.mutation import mutants
    from runner.gates.test_answers import Answer
    from runner.model import Task
    from runner.text import literals
    from runner.text.literals import Source
else:
    disguised_answers = lazy_module("runner.gates.disguised_answers")
    function_heads = lazy_module("runner.gates.function_heads")
    test_answers = lazy_module("runner.gates.test_answers")
    line_sets = lazy_module("runner.gates.coverage.lines")
    mutants = lazy_module("runner.gates.mutation.mutants")
    literals = lazy_module("runner.text.literals")

CHECK = "hardcoded-answers"
_LARGEST = 400_000
_ENOUGH = 2
"""Answers of the tests that a function must hold before it is one that knows nothing else."""
_DATA = regex(r"\.(?:json|ya?ml|toml|csv|tsv|txt)\Z")
_LONGEST_CALL = 80
_NEAR = 5
"""Lines between what a test gives and what it expects."""
_PLAIN = frozenset({"", "0", "1", "-1", "true", "false", "none", "null", "nil", "undefined"})
_ASKS = _PLAIN | {"get", "has", "in", "or", "if", "else", "not", "is"}
"""Words that look something up, or choose between constants, and compute nothing."""
_COMPUTES = frozenset("+-*/%<>~^")
_STUB = regex(
    r"\A\s*\{?\s*(?:raise NotImplementedError\b|(?:throw new Error|panic|todo!|unimplemented!)\s*\("
    r"(?=[\"'`][^\n]*not\W*(?:yet\W*)?implemented|\)))[^\n;]*;?\s*\}?\s*\Z",
    re.IGNORECASE,
)
"""The whole body of a function that nobody has written yet."""
_REFUSAL = regex(r"^(?:if [^\n]*:\n[ ]{4}raise [^\n]*|assert [^\n]*)\n", re.MULTILINE)
"""What a Python function does before its work: it refuses."""
# Of Go alone: of 1,377 real commits the one finding in a script was false (`acquire = () =>
# Promise.reject(error)`).
_ALWAYS_FAILS = regex(
    r"(?:(?:nil|null|undefined|-?\d+|\"\"|''|``|false|[\w.\[\]*]*\{\})\s*,\s*)*"
    r"(?:errors\.New|fmt\.Errorf)\("
)
"""What Go gives in place of a value. A script may go on behind such a `return`."""
_PROMISED = regex(
    r"not\W*(?:yet\W*)?(?:implemented|supported|offered)|(?:always|only) (?:an |fails|errors)",
    re.IGNORECASE,
)
_OF_ONE = regex(r"\b(?:one|only|single|sole|first|last)\b", re.IGNORECASE)
_EXAMPLE = regex(r"`[^`\n]*\([^`\n]*`")
_MOST = 5


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """One look at the functions of a task that has tests; none where nobody asks for mutants."""
    if settings.mutation == "off" or not (task.writes_anything and task.test_contracts):
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each such function: a question, since such code is no work; nothing of a person's own."""
    tests = [
        _source(one.path, one.content)
        for one in bench.changes
        if one.content is not None and code_row(one.path) and bench.is_test(one.path)
    ]
    if bench.by_person or not tests:
        return Proved(None)
    found = [
        Finding(
            check=CHECK,
            message=said,
            path=path,
            line=line,
            severity=Severity.QUESTION if sure else Severity.WARNING,
            hint="have the code find the answer, for what no test gives too",
        )
        for path, line, said, sure in _told(bench, tests)
    ]
    return Proved(None, gravest(found, _MOST))


def _source(path: str, content: bytes | None) -> Source:
    text = (content or b"")[:_LARGEST].decode("utf-8", "replace")
    return literals.Source(text, hashes=is_written_in(path, "python"))


def _told(bench: GateContext, tests: Sequence[Source]) -> Iterator[tuple[str, int, str, bool]]:
    plan = "\n".join((bench.task.title, *bench.task.acceptance, bench.task.prose))
    for path, lines in sorted(line_sets.own_lines(bench).items()):
        content = bench.after(path)
        if content is None or bench.is_test(path) or mutants.is_left_out(path, content):
            continue
        source = _source(path, content)
        answers = test_answers.answers_in(source)
        for head in function_heads.heads(path, content):
            span = frozenset(range(head.line, head.last + 1))
            asked = [one for one in tests if head.name in one.words]
            if said := "" if _is_promised(bench.task) else tell_unwritten(head):
                yield path, head.line, said, True
            # At least half of it must be this task's: else it answers as it did before.
            if asked and head.parameters and head.gives and 2 * len(lines & span) >= len(span):
                own = [one for one in answers if _is_of(one, head, source)]
                # A table of three levels that its plan lists is meant; such a good one was told
                # once, since its tests ask for all of it.
                listed = _is_listed(own, bench.task)
                said = tell_constant(head, asked) or tell_single(head, bench.task)
                if not (said or listed):
                    said = tell_known(head, own, asked) or tell_recited(head, asked)
                    said = said or _tell_kept(bench, head, source, asked)
                if said:
                    yield path, head.line, said, True
        for one in disguised_answers.find_disguised(path, content, tests, plan):
            if one.line in lines:
                yield path, one.line, one.message, one.sure or bench.settings.mutation == "strict"


def _is_promised(task: Task) -> bool:
    """Whether the plan's own text asks for what is not there."""
    return bool(_PROMISED.search("\n".join((task.title, *task.acceptance, task.prose))))


def _is_listed(answers: Sequence[Answer], task: Task) -> bool:
    """Whether the plan itself says what is answered to what, and not as examples of a call."""
    text = "\n".join((task.title, *task.acceptance, task.prose))
    words = frozenset(re.findall(r"[\w.+-]*\w", _EXAMPLE.sub(" ", text)))
    parts = [form for one in answers for form in (*one.given, *one.answers)]
    shown = all(re.search(r"\w", form) for one in answers for form in one.given)
    return bool(parts and shown) and all(
        word in words for form in parts for word in re.findall(r"[\w.+-]*\w", form)
    )


def _is_of(answer: Answer, head: Head, source: Source) -> bool:
    """Whether an answer stands in the function, or in a table that the function asks."""
    if head.line <= answer.line <= head.last:
        return True
    return answer.table >= 0 and bool(_names_of(answer.table, source) & head.used)


def _names_of(table: int, source: Source) -> frozenset[str]:
    """The words of the line before the place where a table opens."""
    line, words = source.tokens[table].line, set()
    for at in range(table - 1, -1, -1):
        if source.tokens[at].line != line:
            break
        words.add(source.word_at(at))
    return frozenset(words)


# --- what is not there ----------------------------------------------------------------------


def tell_unwritten(head: Head) -> str:
    """What to say of a function that only refuses; a method may be another class's to write."""
    if not head.is_alone:
        return ""
    if _STUB.search(_REFUSAL.sub("", head.body)):
        return f"{head.name} is not written: all that it does is to say so"
    if head.gives and all(_ALWAYS_FAILS.match(one) for one in head.gives):
        return f"{head.name} is not written: all that it gives are errors"
    return ""


def tell_single(head: Head, task: Task) -> str:
    """What to say of a function that is given several values, and looks at one, if it is alone."""
    if _OF_ONE.search("\n".join((head.name, task.title, *task.acceptance, task.prose))):
        return ""
    for name in sorted(head.parameters):
        word = rf"(?<![\w.$]){re.escape(name)}"
        size = rf"(?:\blen\({re.escape(name)}\)|{word}\.length\b)"
        item = rf"{word}\[-?\d+\]"
        left = re.sub(rf"{size}|{item}", "", head.body)
        guarded = re.search(rf"{size}\s*(?:[!=]==?|[<>]=?)\s*[12]\b", head.body)
        several = len(set(re.findall(item, head.body))) > 1
        if (
            guarded
            and re.search(item, head.body)
            and not (several or re.search(rf"{word}\b", left))
        ):
            return f"{head.name} gives up where {name} has more than one value: it looks at one"
    return ""


# --- a constant -----------------------------------------------------------------------------


def tell_constant(head: Head, tests: Sequence[Source]) -> str:
    """What to say of a function that looks at nothing it is given.

    Of a method, whose shape others may decide, only where it gives what a test expects.
    """
    forms = {_form(one) for one in head.gives}
    said = forms - {None}
    plain = len(said) == len(forms) and all(one.casefold() in _PLAIN for one in said if one)
    if plain or head.parameters & head.used:
        return ""
    idle = ", ".join(sorted(head.parameters))
    form = said.pop() if len(said) == 1 == len(forms) else None
    if form and any(form in one.places for one in tests):
        return f"{head.name} gives {form[:40]!r} whatever it is given, which its tests expect"
    return f"{head.name} gives the same whatever {idle} is" if head.is_alone else ""


def _form(expression: str) -> str | None:
    """The plain form of an expression that is a constant; else None."""
    source = literals.Source(expression, hashes=False)
    if not source.tokens:
        return None
    if len(source.tokens) == 1 and source.tokens[0].said.casefold() in _PLAIN:
        return source.tokens[0].said.casefold()
    form, end = source.value_at(0)
    return form if end == len(source.tokens) else None


# --- nothing but what tests ask -------------------------------------------------------------


def tell_known(head: Head, answers: Sequence[Answer], tests: Sequence[Source]) -> str:
    """What to say of a function that only holds the answers of its tests, all of them."""
    telling = [one for one in answers if not one.is_plain]
    if not telling or not all(_only_asks(one, head) for one in head.gives):
        return ""
    forms = {_form(one) for one in head.gives} - {None}
    among = {form for one in telling for form in one.answers}
    others = {one for one in forms if one and one.casefold() not in _PLAIN} - among
    if len(telling) + len(others) < _ENOUGH:
        return ""
    if not all(any(_stands(one, test) for test in tests) for one in telling):
        return ""
    if not all(any(form in test.places for test in tests) for form in others):
        return ""
    many = len(telling) + len(others)
    return f"{head.name} computes nothing: it holds the {many} answers that its tests ask for"


def tell_recited(head: Head, tests: Sequence[Source]) -> str:
    """What to say of a function of constants that are pieces of what its tests give it."""
    forms = [_form(one) for one in head.gives]
    telling = {one for one in forms if one and one.casefold() not in _PLAIN}
    if None in forms or len(telling) < _ENOUGH:
        return ""
    if not all(any(one in test.places for test in tests) for one in telling):
        return ""
    pieces = [one for one in telling if any(_is_piece(one, head.name, test) for test in tests)]
    if not pieces:
        return ""
    return f"{head.name} computes nothing: its {len(telling)} answers stand in its tests"


def _tell_kept(bench: GateContext, head: Head, source: Source, tests: Sequence[Source]) -> str:
    """What to say of a function that looks answers up in a file of the change that holds them."""
    for one in bench.changes:
        name = one.path.rpartition("/")[2]
        if one.content is None or len(one.content) > _LARGEST or not _DATA.search(name):
            continue
        lines = {
            token.line for token in source.tokens if token.kind == "text" and name in token.said
        }
        words = {token.said for token in source.tokens if token.line in lines}
        named = any(head.line <= line <= head.last for line in lines) or words & head.used
        kept = test_answers.answers_in(_source(one.path, one.content)) if named else []
        if tell := tell_kept(kept, tests):
            return f"{head.name} computes nothing: {one.path} holds {tell}"
    return ""


def tell_kept(kept: Sequence[Answer], tests: Sequence[Source]) -> str:
    """What to say of a table of data whose every entry is what tests give and expect together."""
    apart = [one._replace(given=tuple(re.findall(r"[\w.]+", one.given[0]))) for one in kept]
    several = [one for one in apart if len(one.given) >= _ENOUGH and not one.is_plain]
    if len(several) < _ENOUGH or 2 * len(several) < len(apart):
        return ""
    known = all(any(_stands(one, test) for test in tests) for one in apart)
    return f"the {len(apart)} answers that its tests ask for" if known else ""


def _is_piece(form: str, name: str, test: Source) -> bool:
    """Whether several words of an answer all stand in what a test gives just before or after."""
    words = re.findall(r"\w+", form.casefold())
    lines = {test.tokens[at].line for at in test.places.get(form, ())}
    return len(words) >= _ENOUGH and any(
        all(word in given for word in words) and given != form.casefold()
        for line, given in _calls(name, test)
        if any(abs(one - line) <= _NEAR for one in lines)
    )


def _calls(name: str, test: Source) -> Iterator[tuple[int, str]]:
    """Each call of a function in a test: its line, and the texts that it gives."""
    for at, token in enumerate(test.tokens):
        if token.kind != "word" or token.said != name or test.word_at(at + 1) != "(":
            continue
        texts, depth = [], 0
        for one in test.tokens[at + 1 : at + _LONGEST_CALL]:
            depth += (one.kind == "mark") * ((one.said == "(") - (one.said == ")"))
            if depth == 0:
                break
            texts += [one.said.casefold()] * (one.kind == "text")
        yield token.line, " ".join(texts)


def _only_asks(expression: str, head: Head) -> bool:
    """Whether an expression is a constant, what was given, or a look into a table."""
    source = literals.Source(expression, hashes=False)
    for at, token in enumerate(source.tokens):
        if token.kind == "mark" and token.said in _COMPUTES:
            return False
        if token.kind == "word" and token.said.casefold() not in _ASKS:
            is_called = source.word_at(at + 1) == "("
            if is_called or not (token.said in head.parameters or token.said in head.used):
                return False
    return True


def _stands(answer: Answer, test: Source) -> bool:
    """Whether a test has the answer near what is given for it, or near the figures of a key."""
    given = answer.given
    if not all(one in test.places for one in given):
        given = tuple(re.findall(r"\d+", " ".join(given)))[:2]
    if not given:
        return False
    lines = [test.tokens[at].line for at in test.places.get(given[0], ())]
    wanted = (*given[1:], *answer.answers)
    return any(all(_is_near(form, line, test) for form in wanted) for line in lines)


def _is_near(form: str, line: int, test: Source) -> bool:
    places = test.places.get(form.casefold() if form.casefold() in _PLAIN - {""} else form, ())
    return any(abs(test.tokens[at].line - line) <= _NEAR for at in places)
